// SPDX-License-Identifier: Apache-2.0
#include "tasks.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace ptx::runtime {

namespace {

// Never destroyed, since a queue's thread may outlive main.
struct {
  std::mutex& lock = *new std::mutex;
  std::condition_variable& changed = *new std::condition_variable;
} shared;

bool ready(task const& t) {
  return std::all_of(t.after.begin(), t.after.end(),
                     [](task_ptr const& before) { return before->done; });
}

}  // namespace

bool is_done(task_ptr const& t) {
  std::lock_guard<std::mutex> const hold(shared.lock);
  return t == nullptr || t->done;
}
void wait_for(task_ptr const& t) {
  std::unique_lock<std::mutex> hold(shared.lock);
  shared.changed.wait(hold, [&] { return t == nullptr || t->done; });
}

task_ptr task_queue::put(std::function<void()> work, std::vector<task_ptr> after) {
  auto const added = std::make_shared<task>();
  added->work = std::move(work);
  for (task_ptr& before : after)
    if (before != nullptr) added->after.push_back(std::move(before));
  std::lock_guard<std::mutex> const hold(shared.lock);
  waiting_.push_back(added);
  last_ = added;
  if (!started_) std::thread([self = shared_from_this()] { self->run(); }).detach();
  started_ = true;
  shared.changed.notify_all();
  return added;
}

void task_queue::close() {
  std::lock_guard<std::mutex> const hold(shared.lock);
  closed_ = true;
  shared.changed.notify_all();
}

task_ptr task_queue::last() const {
  std::lock_guard<std::mutex> const hold(shared.lock);
  return last_;
}

void task_queue::run() {
  std::unique_lock<std::mutex> hold(shared.lock);
  for (;;) {
    shared.changed.wait(hold,
                        [&] { return waiting_.empty() ? closed_ : ready(*waiting_.front()); });
    if (waiting_.empty()) return;
    std::shared_ptr<task> const current = waiting_.front();
    waiting_.pop_front();
    current->after.clear();
    hold.unlock();
    current->work();
    current->work = nullptr;
    hold.lock();
    current->done = true;
    shared.changed.notify_all();
  }
}

}  // namespace ptx::runtime
