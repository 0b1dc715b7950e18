// SPDX-License-Identifier: Apache-2.0
// Captures calls in CUDA graphs, and lists the nodes of a graph.
#pragma once

#include "device.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace support {

// Captures a call in a graph. During the capture nothing may run, wait or allocate, not even on
// other streams: CUDA forbids it in this capture mode.
template <class F>
cudaGraph_t capture_graph(device_stream const& stream, F const& call) {
  cudaGraph_t graph = nullptr;
  SLICESORT_TEST_CUDA_CALL(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  call();
  SLICESORT_TEST_CUDA_CALL(cudaStreamEndCapture(stream.get(), &graph));
  return graph;
}

inline std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  SLICESORT_TEST_CUDA_CALL(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  SLICESORT_TEST_CUDA_CALL(cudaGraphGetNodes(graph, nodes.data(), &count));
  return nodes;
}

}  // namespace support
