// SPDX-License-Identifier: Apache-2.0
#include "streams.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace ptx::runtime {

namespace {

struct registered_queue {
  std::shared_ptr<task_queue> queue;
  ordering kind;
};

// Never destroyed, since a stream's thread may outlive main.
struct stream_registry {
  std::recursive_mutex mutex;
  std::map<cudaStream_t, stream_ptr> by_handle;
  // Includes queues of destroyed streams until their work is done.
  std::vector<registered_queue> queues;
  stream_ptr legacy;
};
stream_registry& registry() {
  static stream_registry& instance = *new stream_registry;
  return instance;
}
using guard = std::lock_guard<std::recursive_mutex>;

stream_ptr legacy_stream() {
  guard const lock(registry().mutex);
  if (registry().legacy == nullptr) registry().legacy = std::make_shared<stream>(ordering::legacy);
  return registry().legacy;
}

// Returns the last tasks of the streams whose kind matches.
template <class Predicate>
std::vector<task_ptr> last_tasks(Predicate const& matches) {
  guard const lock(registry().mutex);
  auto& queues = registry().queues;
  // Drops queues that no stream and no thread refers to.
  queues.erase(std::remove_if(queues.begin(), queues.end(),
                              [](registered_queue const& q) { return q.queue.use_count() == 1; }),
               queues.end());
  std::vector<task_ptr> tasks;
  for (registered_queue const& q : queues)
    if (matches(q.kind)) tasks.push_back(q.queue->last());
  return tasks;
}

// Returns the tasks of other streams that CUDA orders before new work in `s`.
std::vector<task_ptr> implicit_dependencies(stream const& s) {
  switch (s.kind()) {
    case ordering::legacy:
      return last_tasks([](ordering kind) { return kind == ordering::blocking; });
    case ordering::blocking:
      return last_tasks([](ordering kind) { return kind == ordering::legacy; });
    default:
      return {};
  }
}

// Invalidates captures that the legacy stream would have to wait for. Returns true if any exist.
bool invalidate_implicit_capture(stream const& s) {
  if (s.kind() != ordering::legacy) return false;
  bool invalidated = false;
  for (auto const& [handle, other] : registry().by_handle)
    if (other->kind() == ordering::blocking && other->capturing != nullptr)
      invalidated = other->capturing->invalidated = true;
  return invalidated;
}

}  // namespace

stream::stream(ordering kind) : kind_(kind), queue_(std::make_shared<task_queue>()) {
  guard const lock(registry().mutex);
  registry().queues.push_back({queue_, kind});
}
stream::~stream() { queue_->close(); }

cudaStream_t add_stream(ordering kind) {
  auto const added = std::make_shared<stream>(kind);
  auto const handle = reinterpret_cast<cudaStream_t>(added.get());
  guard const lock(registry().mutex);
  registry().by_handle[handle] = added;
  return handle;
}
bool remove_stream(cudaStream_t handle) {
  guard const lock(registry().mutex);
  return registry().by_handle.erase(handle) != 0;
}
stream_ptr find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return legacy_stream();
  if (handle == cudaStreamPerThread) {
    thread_local stream_ptr const per_thread = std::make_shared<stream>(ordering::blocking);
    return per_thread;
  }
  guard const lock(registry().mutex);
  auto const entry = registry().by_handle.find(handle);
  return entry == registry().by_handle.end() ? nullptr : entry->second;
}

cudaError_t submit(stream const& target, node operation, task_ptr* done) {
  guard const lock(registry().mutex);
  if (target.capturing != nullptr) {
    if (target.capturing->invalidated) return cudaErrorStreamCaptureInvalidated;
    target.capturing->nodes.push_back(std::move(operation));
    return cudaSuccess;
  }
  if (invalidate_implicit_capture(target)) return cudaErrorStreamCaptureImplicit;
  auto work = [function = std::move(operation.work)] {
    if (device_error() == cudaSuccess) function();
  };
  task_ptr const added = target.queue().push(std::move(work), implicit_dependencies(target));
  if (done != nullptr) *done = added;
  return cudaSuccess;
}
cudaError_t submit(cudaStream_t target, node operation, task_ptr* done) {
  stream_ptr const s = find_stream(target);
  return s == nullptr ? cudaErrorInvalidResourceHandle : submit(*s, std::move(operation), done);
}
cudaError_t submit_wait(stream const& target, task_ptr dependency) {
  guard const lock(registry().mutex);
  std::vector<task_ptr> dependencies = implicit_dependencies(target);
  dependencies.push_back(std::move(dependency));
  target.queue().push([] {}, std::move(dependencies));
  return cudaSuccess;
}

bool is_idle(stream const& s) {
  std::vector<task_ptr> const dependencies = implicit_dependencies(s);
  return is_done(s.queue().last()) &&
         std::all_of(dependencies.begin(), dependencies.end(), is_done);
}
void wait_for_stream(stream const& s) {
  for (task_ptr const& dependency : implicit_dependencies(s)) wait_for(dependency);
  wait_for(s.queue().last());
}
void wait_for_device() {
  for (task_ptr const& last : last_tasks([](ordering) { return true; })) wait_for(last);
}

cudaError_t begin_capture(stream& s, cudaStreamCaptureMode mode) {
  guard const lock(registry().mutex);
  if (s.kind() == ordering::legacy) return cudaErrorStreamCaptureUnsupported;
  if (s.capturing != nullptr) return cudaErrorIllegalState;
  s.capturing = std::make_unique<capture>(capture{mode, std::this_thread::get_id()});
  return cudaSuccess;
}
cudaError_t end_capture(stream& s, graph_nodes& nodes) {
  guard const lock(registry().mutex);
  if (s.capturing == nullptr) return cudaErrorIllegalState;
  if (s.capturing->mode != cudaStreamCaptureModeRelaxed &&
      s.capturing->thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  auto const ended = std::move(s.capturing);
  if (ended->invalidated) return cudaErrorStreamCaptureInvalidated;
  nodes = std::move(ended->nodes);
  return cudaSuccess;
}
cudaStreamCaptureStatus capture_status(stream const& s) {
  guard const lock(registry().mutex);
  if (s.capturing == nullptr) return cudaStreamCaptureStatusNone;
  return s.capturing->invalidated ? cudaStreamCaptureStatusInvalidated
                                  : cudaStreamCaptureStatusActive;
}
bool invalidate_capture(stream const& s) {
  guard const lock(registry().mutex);
  if (s.capturing == nullptr) return false;
  s.capturing->invalidated = true;
  return true;
}
void require_no_capture(stream const& s, char const* action) {
  if (capture_status(s) != cudaStreamCaptureStatusNone)
    abort_unsupported(std::string(action) + " in a stream that is being captured is not supported");
}

bool invalidate_captures() {
  guard const lock(registry().mutex);
  bool invalidated = false;
  for (auto const& [handle, s] : registry().by_handle) {
    if (s->capturing == nullptr || s->capturing->mode == cudaStreamCaptureModeRelaxed) continue;
    if (s->capturing->mode == cudaStreamCaptureModeThreadLocal &&
        s->capturing->thread != std::this_thread::get_id())
      continue;
    invalidated = s->capturing->invalidated = true;
  }
  return invalidated;
}

}  // namespace ptx::runtime
