// SPDX-License-Identifier: Apache-2.0
// Streams, and what CUDA orders between them: work in the legacy default stream comes after all
// work given to blocking streams before it, and before all that is given to them after it.
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

// One thing that a stream does, now or when a graph is launched.
struct node {
  cudaGraphNodeType type;
  std::function<void()> work;
};
// What was captured from one stream, in its order.
using graph_nodes = std::vector<node>;

struct capture {
  cudaStreamCaptureMode mode;
  std::thread::id by;
  graph_nodes nodes{};
  bool spoiled = false;  // by a call that a capture does not allow
};

enum class ordering { legacy, blocking, independent };

class stream {
 public:
  explicit stream(ordering kind);
  ~stream();  // what was submitted is still done
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;

  ordering kind() const { return kind_; }
  task_queue& queue() const { return *queue_; }
  std::unique_ptr<capture> capturing;  // for streams.cpp, under its lock

 private:
  ordering kind_;
  std::shared_ptr<task_queue> queue_;
};
using stream_ptr = std::shared_ptr<stream>;

cudaStream_t add_stream(ordering kind);
bool remove_stream(cudaStream_t handle);
// Null when there is no such stream.
stream_ptr find_stream(cudaStream_t handle);

// Has the stream do the work, or its capture take it as a node. `done` is the task.
cudaError_t submit(stream const& to, node what, task_ptr* done = nullptr);
cudaError_t submit(cudaStream_t to, node what, task_ptr* done = nullptr);
// Has the stream wait for `before`.
cudaError_t submit_wait(stream const& to, task_ptr before);

bool is_idle(stream const& s);
void wait_for_stream(stream const& s);
void wait_for_device();

cudaError_t begin_capture(stream& s, cudaStreamCaptureMode mode);
cudaError_t end_capture(stream& s, graph_nodes& nodes);
cudaStreamCaptureStatus capture_status(stream const& s);
// Ends the process when the stream is being captured: its graphs do not know `what`.
void must_not_capture(stream const& s, char const* what);

// Whether a capture is under way that forbids this thread to wait, to ask, or to allocate; such a
// capture is spoiled by the attempt. CUDA C++ Programming Guide, "Prohibited and Unhandled
// Operations".
bool spoil_captures();

// An entry point that is forbidden during a capture.
template <class F>
cudaError_t call_outside_capture(F const& body) {
  return call([&] { return spoil_captures() ? cudaErrorStreamCaptureUnsupported : body(); });
}

}  // namespace ptx::runtime
