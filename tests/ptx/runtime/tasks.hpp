// SPDX-License-Identifier: Apache-2.0
// Work that is done later, in order, by a thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace ptx::runtime {

struct task {
  std::function<void()> work;
  std::vector<std::shared_ptr<task const>> after;  // of other queues
  bool done = false;                               // see is_done
};
using task_ptr = std::shared_ptr<task const>;

// Null counts as done.
bool is_done(task_ptr const& t);
void wait_for(task_ptr const& t);

// Does its tasks one after the other, each when those are done that it comes after. The thread is
// started by the first task, and ends when the queue was closed and is empty.
class task_queue : public std::enable_shared_from_this<task_queue> {
 public:
  task_ptr put(std::function<void()> work, std::vector<task_ptr> after = {});
  void close();
  // The last task put here; null if there was none.
  task_ptr last() const;

 private:
  void run();

  std::deque<std::shared_ptr<task>> waiting_;
  task_ptr last_;
  bool started_ = false, closed_ = false;
};

}  // namespace ptx::runtime
