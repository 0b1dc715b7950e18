// SPDX-License-Identifier: Apache-2.0
// Calls captured in CUDA graphs: they consist of kernels only, replay with the same bits, and read
// the inputs at the time of the replay.
#include "backend/graph.hpp"
#include "backend/share.hpp"
#include "calls/calls.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace support;

namespace {

template <class T>
void check_replays(extents3 e, named_call<T> const& call, int replays) {
  call_memory<T> first(e, 5, true), second(e, 1234, true);
  device_stream const stream;
  stream_exec const exec{stream.get()};
  device_bytes scratch(first.workspace_bytes(call, exec), 0x11);
  cudaGraph_t const graph = capture_graph(stream, [&] {
    first.run(call, exec, {scratch.data(), scratch.size()});
  });
  CAPTURE(call.label);
  CAPTURE(e.length);
  CHECK(first.outputs().download() ==
        std::vector<unsigned char>(first.outputs().size(), first.untouched_byte));
  auto const nodes = nodes_of(graph);
  CHECK(!nodes.empty());
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    SLICESORT_TEST_CUDA_CALL(cudaGraphNodeGetType(node, &type));
    CHECK(type == cudaGraphNodeTypeKernel);
  }
  cudaGraphExec_t executable_graph = nullptr;
  SLICESORT_TEST_CUDA_CALL(cudaGraphInstantiate(&executable_graph, graph, 0));
  int mismatches = 0;
  for (int i = 0; i < replays; ++i) {
    bool const uses_second_inputs = i % 10 == 9;  // different inputs at the same address
    if (uses_second_inputs) first.inputs().upload(second.host_inputs().data());
    first.reset();
    SLICESORT_TEST_CUDA_CALL(cudaGraphLaunch(executable_graph, stream.get()));
    stream.wait();
    mismatches +=
        first.outputs().download() != (uses_second_inputs ? second : first).expected(call);
    if (uses_second_inputs) first.inputs().upload(first.host_inputs().data());
  }
  CHECK(mismatches == 0);
  CHECK(scratch.red_zones_intact());
  SLICESORT_TEST_CUDA_CALL(cudaGraphExecDestroy(executable_graph));
  SLICESORT_TEST_CUDA_CALL(cudaGraphDestroy(graph));
}

}  // namespace

TEST_CASE_TEMPLATE("1000 replays", T, float, bfloat16) {
  for (auto const& call : call_memory<T>::calls())
    check_replays<T>({2, 300, 7}, call, share_of(1000));
}

TEST_CASE("every algorithm replays") {
  for (extents3 e : call_shapes())
    for (auto const& call : call_memory<float>::calls())
      if (select_next_case()) check_replays<float>(e, call, share_of(101));
}

TEST_CASE("a chain of calls in one graph") {
  call_memory<float> memory({2, 3000, 9}, 5, false);
  device_stream const stream;
  stream_exec const exec{stream.get()};
  std::size_t bytes = 0;
  for (auto const& call : memory.calls())
    bytes = std::max(bytes, memory.workspace_bytes(call, exec));
  device_bytes scratch(bytes, 0x11);  // shared by all calls
  auto const run_chain = [&] {
    for (char const* name : {"multi_permutation.forward", "slicing_sort.forward",
                             "slicing_sort.backward", "max_exchange.forward"})
      memory.run(memory.call(name), exec, {scratch.data(), scratch.size()});
  };
  cudaGraph_t const graph = capture_graph(stream, run_chain);
  cudaGraphExec_t executable_graph = nullptr;
  SLICESORT_TEST_CUDA_CALL(cudaGraphInstantiate(&executable_graph, graph, 0));
  memory.reset();
  run_chain();
  stream.wait();
  auto const eager = memory.outputs().download();
  for (int i = 0; i < share_of(1000); ++i) {
    memory.reset();
    SLICESORT_TEST_CUDA_CALL(cudaGraphLaunch(executable_graph, stream.get()));
    stream.wait();
    REQUIRE(memory.outputs().download() == eager);
  }
  SLICESORT_TEST_CUDA_CALL(cudaGraphExecDestroy(executable_graph));
  SLICESORT_TEST_CUDA_CALL(cudaGraphDestroy(graph));
}
