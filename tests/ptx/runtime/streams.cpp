// SPDX-License-Identifier: Apache-2.0
#include "streams.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace ptx::runtime {

namespace {

struct ordered_queue {
  std::shared_ptr<task_queue> queue;
  ordering kind;
};

// Never destroyed: a stream's thread may outlive main.
struct all_streams {
  std::recursive_mutex lock;
  std::map<cudaStream_t, stream_ptr> by_handle;
  // Of destroyed streams too, until their work is done.
  std::vector<ordered_queue> queues;
  stream_ptr legacy;
};
all_streams& all() {
  static all_streams& there = *new all_streams;
  return there;
}
using guard = std::lock_guard<std::recursive_mutex>;

stream_ptr legacy_stream() {
  guard const hold(all().lock);
  if (all().legacy == nullptr) all().legacy = std::make_shared<stream>(ordering::legacy);
  return all().legacy;
}

// The last tasks of the streams of these kinds.
template <class Wanted>
std::vector<task_ptr> last_tasks(Wanted const& wanted) {
  guard const hold(all().lock);
  auto& queues = all().queues;
  // Neither a stream nor a thread has it any more.
  queues.erase(std::remove_if(queues.begin(), queues.end(),
                              [](ordered_queue const& q) { return q.queue.use_count() == 1; }),
               queues.end());
  std::vector<task_ptr> found;
  for (ordered_queue const& q : queues)
    if (wanted(q.kind)) found.push_back(q.queue->last());
  return found;
}

// What CUDA orders before anything that is given to `s` now, beside the stream's own work.
std::vector<task_ptr> implicit_order(stream const& s) {
  switch (s.kind()) {
    case ordering::legacy:
      return last_tasks([](ordering kind) { return kind == ordering::blocking; });
    case ordering::blocking:
      return last_tasks([](ordering kind) { return kind == ordering::legacy; });
    default:
      return {};
  }
}

// Whether the legacy stream would have to wait for a stream that is being captured.
bool spoil_by_implicit_order(stream const& s) {
  if (s.kind() != ordering::legacy) return false;
  bool found = false;
  for (auto const& [handle, other] : all().by_handle)
    if (other->kind() == ordering::blocking && other->capturing != nullptr)
      found = other->capturing->spoiled = true;
  return found;
}

}  // namespace

stream::stream(ordering kind) : kind_(kind), queue_(std::make_shared<task_queue>()) {
  guard const hold(all().lock);
  all().queues.push_back({queue_, kind});
}
stream::~stream() { queue_->close(); }

cudaStream_t add_stream(ordering kind) {
  auto const added = std::make_shared<stream>(kind);
  auto const handle = reinterpret_cast<cudaStream_t>(added.get());
  guard const hold(all().lock);
  all().by_handle[handle] = added;
  return handle;
}
bool remove_stream(cudaStream_t handle) {
  guard const hold(all().lock);
  return all().by_handle.erase(handle) != 0;
}
stream_ptr find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return legacy_stream();
  if (handle == cudaStreamPerThread) {
    thread_local stream_ptr const own = std::make_shared<stream>(ordering::blocking);
    return own;
  }
  guard const hold(all().lock);
  auto const found = all().by_handle.find(handle);
  return found == all().by_handle.end() ? nullptr : found->second;
}

cudaError_t submit(stream const& to, node what, task_ptr* done) {
  guard const hold(all().lock);
  if (to.capturing != nullptr) {
    if (to.capturing->spoiled) return cudaErrorStreamCaptureInvalidated;
    to.capturing->nodes.push_back(std::move(what));
    return cudaSuccess;
  }
  if (spoil_by_implicit_order(to)) return cudaErrorStreamCaptureImplicit;
  auto work = [does = std::move(what.work)] {
    if (lost() == cudaSuccess) does();
  };
  task_ptr const added = to.queue().put(std::move(work), implicit_order(to));
  if (done != nullptr) *done = added;
  return cudaSuccess;
}
cudaError_t submit(cudaStream_t to, node what, task_ptr* done) {
  stream_ptr const s = find_stream(to);
  return s == nullptr ? cudaErrorInvalidResourceHandle : submit(*s, std::move(what), done);
}
cudaError_t submit_wait(stream const& to, task_ptr before) {
  guard const hold(all().lock);
  std::vector<task_ptr> after = implicit_order(to);
  after.push_back(std::move(before));
  to.queue().put([] {}, std::move(after));
  return cudaSuccess;
}

bool is_idle(stream const& s) {
  std::vector<task_ptr> const order = implicit_order(s);
  return is_done(s.queue().last()) && std::all_of(order.begin(), order.end(), is_done);
}
void wait_for_stream(stream const& s) {
  for (task_ptr const& before : implicit_order(s)) wait_for(before);
  wait_for(s.queue().last());
}
void wait_for_device() {
  for (task_ptr const& last : last_tasks([](ordering) { return true; })) wait_for(last);
}

cudaError_t begin_capture(stream& s, cudaStreamCaptureMode mode) {
  guard const hold(all().lock);
  if (s.kind() == ordering::legacy) return cudaErrorStreamCaptureUnsupported;
  if (s.capturing != nullptr) return cudaErrorIllegalState;
  s.capturing = std::make_unique<capture>(capture{mode, std::this_thread::get_id()});
  return cudaSuccess;
}
cudaError_t end_capture(stream& s, graph_nodes& nodes) {
  guard const hold(all().lock);
  if (s.capturing == nullptr) return cudaErrorIllegalState;
  if (s.capturing->mode != cudaStreamCaptureModeRelaxed &&
      s.capturing->by != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  auto const ended = std::move(s.capturing);
  if (ended->spoiled) return cudaErrorStreamCaptureInvalidated;
  nodes = std::move(ended->nodes);
  return cudaSuccess;
}
cudaStreamCaptureStatus capture_status(stream const& s) {
  guard const hold(all().lock);
  if (s.capturing == nullptr) return cudaStreamCaptureStatusNone;
  return s.capturing->spoiled ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}
void must_not_capture(stream const& s, char const* what) {
  if (capture_status(s) != cudaStreamCaptureStatusNone)
    give_up(std::string(what) + " in a stream that is being captured is not known here");
}

bool spoil_captures() {
  guard const hold(all().lock);
  bool found = false;
  for (auto const& [handle, s] : all().by_handle) {
    if (s->capturing == nullptr || s->capturing->mode == cudaStreamCaptureModeRelaxed) continue;
    if (s->capturing->mode == cudaStreamCaptureModeThreadLocal &&
        s->capturing->by != std::this_thread::get_id())
      continue;
    found = s->capturing->spoiled = true;
  }
  return found;
}

}  // namespace ptx::runtime
