// SPDX-License-Identifier: Apache-2.0
// Captures of one stream, and the resulting graphs.
#include "../streams.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

using namespace ptx::runtime;

namespace {

// Shared with unfinished launches, which outlive the graph.
struct graph {
  std::shared_ptr<graph_nodes const> nodes;
};

graph* graph_of(void* handle) { return static_cast<graph*>(handle); }

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return call([&] {
    stream_ptr const s = find_stream(handle);
    return s == nullptr ? cudaErrorInvalidResourceHandle : begin_capture(*s, mode);
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* created) {
  return call([&] {
    *created = nullptr;
    stream_ptr const s = find_stream(handle);
    if (s == nullptr) return cudaErrorInvalidResourceHandle;
    graph_nodes nodes;
    cudaError_t const code = end_capture(*s, nodes);
    if (code == cudaSuccess)
      *created = reinterpret_cast<cudaGraph_t>(
          new graph{std::make_shared<graph_nodes const>(std::move(nodes))});
    return code;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return call([&] {
    stream_ptr const s = find_stream(handle);
    if (s == nullptr) return cudaErrorInvalidResourceHandle;
    *status = capture_status(*s);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  return call([&] {
    graph_nodes const& stored_nodes = *graph_of(handle)->nodes;
    if (nodes != nullptr)
      for (std::size_t i = 0; i < std::min(*count, stored_nodes.size()); ++i)
        nodes[i] = reinterpret_cast<cudaGraphNode_t>(const_cast<node*>(&stored_nodes[i]));
    *count = stored_nodes.size();
    return cudaSuccess;
  });
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return call([&] {
    *type = reinterpret_cast<node const*>(handle)->type;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* created, cudaGraph_t handle, unsigned long long) {
  return call([&] {
    *created = reinterpret_cast<cudaGraphExec_t>(new graph(*graph_of(handle)));
    return cudaSuccess;
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  return call([&] {
    stream_ptr const s = find_stream(stream);
    if (s == nullptr) return cudaErrorInvalidResourceHandle;
    require_no_capture(*s, "a graph launched");
    auto const nodes = graph_of(handle)->nodes;
    return submit(*s, {cudaGraphNodeTypeGraph, [nodes] {
                         for (node const& n : *nodes)
                           if (device_error() == cudaSuccess) n.work();
                       }});
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return call([&] {
    delete graph_of(handle);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return call([&] {
    delete graph_of(handle);
    return cudaSuccess;
  });
}

}  // extern "C"
