// SPDX-License-Identifier: Apache-2.0
// Streams and their implicit order: work in the legacy default stream runs after all earlier work
// in blocking streams, and before all later work in them.
#pragma once

#include "errors.hpp"
#include "tasks.hpp"

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace ptx::runtime {

// An operation of a stream or of a graph.
struct node {
  cudaGraphNodeType type;
  std::function<void()> work;
};
// The captured operations of one stream, in order.
using graph_nodes = std::vector<node>;

struct capture {
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  graph_nodes nodes{};
  bool invalidated = false;  // true after a call that is not allowed during capture
};

enum class ordering { legacy, blocking, independent };

class stream {
 public:
  explicit stream(ordering kind);
  ~stream();  // does not cancel submitted work
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;

  ordering kind() const { return kind_; }
  task_queue& queue() const { return *queue_; }
  std::unique_ptr<capture> capturing;  // guarded by the lock of streams.cpp

 private:
  ordering kind_;
  std::shared_ptr<task_queue> queue_;
};
using stream_ptr = std::shared_ptr<stream>;

cudaStream_t add_stream(ordering kind);
bool remove_stream(cudaStream_t handle);
// Returns null for an invalid handle.
stream_ptr find_stream(cudaStream_t handle);

// Submits work to the stream, or to its capture. Sets `done` to the task.
cudaError_t submit(stream const& target, node work, task_ptr* done = nullptr);
cudaError_t submit(cudaStream_t target, node work, task_ptr* done = nullptr);
// Makes the stream wait for `dependency`.
cudaError_t submit_wait(stream const& target, task_ptr dependency);

bool is_idle(stream const& s);
void wait_for_stream(stream const& s);
void wait_for_device();

cudaError_t begin_capture(stream& s, cudaStreamCaptureMode mode);
cudaError_t end_capture(stream& s, graph_nodes& nodes);
cudaStreamCaptureStatus capture_status(stream const& s);
// Invalidates the capture of the stream. Returns false if there is none.
bool invalidate_capture(stream const& s);
// Ends the process if the stream is being captured, since graphs do not support `action`.
void require_no_capture(stream const& s, char const* action);

// Invalidates the active captures that forbid this thread to wait, query or allocate. Returns true
// if any exist. CUDA C++ Programming Guide, "Prohibited and Unhandled Operations".
bool invalidate_captures();

// Runs an entry point that is not allowed during a capture.
template <class F>
cudaError_t call_outside_capture(F const& function) {
  return call(
      [&] { return invalidate_captures() ? cudaErrorStreamCaptureUnsupported : function(); });
}

}  // namespace ptx::runtime
