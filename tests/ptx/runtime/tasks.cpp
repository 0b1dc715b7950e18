// SPDX-License-Identifier: Apache-2.0
#include "tasks.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace ptx::runtime {

namespace {

// Shared by all queues. Never destroyed, since the thread of a queue may outlive main.
struct {
  std::mutex& mutex = *new std::mutex;
  std::condition_variable& changed = *new std::condition_variable;
} queues;

bool is_ready(task const& t) {
  return std::all_of(t.dependencies.begin(), t.dependencies.end(),
                     [](task_ptr const& dependency) { return dependency->done; });
}

}  // namespace

bool is_done(task_ptr const& t) {
  std::lock_guard<std::mutex> const lock(queues.mutex);
  return t == nullptr || t->done;
}
void wait_for(task_ptr const& t) {
  std::unique_lock<std::mutex> lock(queues.mutex);
  queues.changed.wait(lock, [&] { return t == nullptr || t->done; });
}

task_ptr task_queue::push(std::function<void()> work, std::vector<task_ptr> dependencies) {
  auto const added = std::make_shared<task>();
  added->work = std::move(work);
  for (task_ptr& dependency : dependencies)
    if (dependency != nullptr) added->dependencies.push_back(std::move(dependency));
  std::lock_guard<std::mutex> const lock(queues.mutex);
  waiting_.push_back(added);
  last_ = added;
  if (!started_) std::thread([queue = shared_from_this()] { queue->run(); }).detach();
  started_ = true;
  queues.changed.notify_all();
  return added;
}

void task_queue::close() {
  std::lock_guard<std::mutex> const lock(queues.mutex);
  closed_ = true;
  queues.changed.notify_all();
}

task_ptr task_queue::last() const {
  std::lock_guard<std::mutex> const lock(queues.mutex);
  return last_;
}

void task_queue::run() {
  std::unique_lock<std::mutex> lock(queues.mutex);
  for (;;) {
    queues.changed.wait(lock,
                        [&] { return waiting_.empty() ? closed_ : is_ready(*waiting_.front()); });
    if (waiting_.empty()) return;
    std::shared_ptr<task> const current = waiting_.front();
    waiting_.pop_front();
    current->dependencies.clear();
    lock.unlock();
    current->work();
    current->work = nullptr;
    lock.lock();
    current->done = true;
    queues.changed.notify_all();
  }
}

}  // namespace ptx::runtime
