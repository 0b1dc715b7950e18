// SPDX-License-Identifier: Apache-2.0
// Queues of tasks, each with a thread that runs them in order.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace ptx::runtime {

struct task {
  std::function<void()> work;
  std::vector<std::shared_ptr<task const>> dependencies;  // tasks of other queues to wait for
  bool done = false;                                      // read by is_done, under a lock
};
using task_ptr = std::shared_ptr<task const>;

// A null task is done.
bool is_done(task_ptr const& t);
void wait_for(task_ptr const& t);

// Runs tasks one after the other, each after its dependencies. The first task starts the thread,
// which ends when the queue is closed and empty.
class task_queue : public std::enable_shared_from_this<task_queue> {
 public:
  task_ptr push(std::function<void()> work, std::vector<task_ptr> dependencies = {});
  void close();
  // Returns the last pushed task; null if there was none.
  task_ptr last() const;

 private:
  void run();

  std::deque<std::shared_ptr<task>> waiting_;
  task_ptr last_;
  bool started_ = false, closed_ = false;
};

}  // namespace ptx::runtime
