// SPDX-License-Identifier: Apache-2.0
// Stream captures, and launches of the resulting graphs.
#include "kernels.cuh"

#include <doctest/doctest.h>

#include <cstddef>
#include <thread>
#include <vector>

namespace {

struct captured_stream {
  cudaStream_t get = nullptr;
  explicit captured_stream(cudaStreamCaptureMode mode, unsigned flags = cudaStreamNonBlocking) {
    CHECK(cudaStreamCreateWithFlags(&get, flags) == cudaSuccess);
    CHECK(cudaStreamBeginCapture(get, mode) == cudaSuccess);
  }
  ~captured_stream() { CHECK(cudaStreamDestroy(get) == cudaSuccess); }

  cudaStreamCaptureStatus status() const {
    cudaStreamCaptureStatus result{};
    CHECK(cudaStreamIsCapturing(get, &result) == cudaSuccess);
    return result;
  }
  // Checks that there is no graph. Returns the error code.
  cudaError_t end_invalid_capture() const {
    auto graph = reinterpret_cast<cudaGraph_t>(1);
    cudaError_t const code = cudaStreamEndCapture(get, &graph);
    CHECK(graph == nullptr);
    CHECK(status() == cudaStreamCaptureStatusNone);
    return code;
  }
};

void CUDART_CB do_nothing(void*) {}

std::vector<cudaGraphNodeType> types_of(cudaGraph_t graph) {
  std::size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count) == cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  CHECK(cudaGraphGetNodes(graph, nodes.data(), &count) == cudaSuccess);
  std::vector<cudaGraphNodeType> types(count);
  for (std::size_t i = 0; i < count; ++i)
    CHECK(cudaGraphNodeGetType(nodes[i], &types[i]) == cudaSuccess);
  return types;
}

}  // namespace

TEST_CASE("captured work runs only when the graph is launched") {
  device_int const counter(0), copy(0);
  captured_stream const stream(cudaStreamCaptureModeGlobal);
  CHECK(stream.status() == cudaStreamCaptureStatusActive);
  CHECK(cudaMemsetAsync(counter.data(), 0, sizeof(int), stream.get) == cudaSuccess);
  add_one<<<1, 1, 0, stream.get>>>(counter.data());
  add_one<<<1, 1, 0, stream.get>>>(counter.data());
  CHECK(cudaMemcpyAsync(copy.data(), counter.data(), sizeof(int), cudaMemcpyDeviceToDevice,
                        stream.get) == cudaSuccess);
  CHECK(cudaLaunchHostFunc(stream.get, do_nothing, nullptr) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream.get, &graph) == cudaSuccess);
  CHECK(types_of(graph) == std::vector{cudaGraphNodeTypeMemset, cudaGraphNodeTypeKernel,
                                       cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,
                                       cudaGraphNodeTypeHost});
  CHECK(copy.value() == 0);
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, stream.get) == cudaSuccess);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);  // while it may still run
  CHECK(cudaStreamSynchronize(stream.get) == cudaSuccess);
  CHECK(counter.value() == 2);
  CHECK(copy.value() == 2);
}

TEST_CASE("a wait, a query or an allocation during a capture fails and invalidates it") {
  void* data = nullptr;
  device_int const counter(0);
  int host_value = 0;
  cudaStream_t other = nullptr;
  CHECK(cudaStreamCreate(&other) == cudaSuccess);
  using forbidden = cudaError_t (*)(void**, device_int const&, int*, cudaStream_t);
  constexpr forbidden calls[] = {
      [](void** p, device_int const&, int*, cudaStream_t) { return cudaMalloc(p, 1); },
      [](void** p, device_int const&, int*, cudaStream_t) { return cudaMallocHost(p, 1); },
      [](void** p, device_int const&, int*, cudaStream_t) { return cudaFree(*p); },
      [](void**, device_int const&, int*, cudaStream_t) { return cudaDeviceSynchronize(); },
      [](void**, device_int const&, int*, cudaStream_t s) { return cudaStreamSynchronize(s); },
      [](void**, device_int const&, int*, cudaStream_t s) { return cudaStreamQuery(s); },
      [](void**, device_int const& d, int*, cudaStream_t) {
        return cudaMemset(d.data(), 0, sizeof(int));
      },
      [](void**, device_int const& d, int* n, cudaStream_t) {
        return cudaMemcpy(n, d.data(), sizeof(int), cudaMemcpyDeviceToHost);
      }};
  for (forbidden const& call : calls) {
    captured_stream const stream(cudaStreamCaptureModeGlobal);
    CHECK(call(&data, counter, &host_value, other) == cudaErrorStreamCaptureUnsupported);
    CHECK(stream.status() == cudaStreamCaptureStatusInvalidated);
    CHECK(cudaMemsetAsync(counter.data(), 0, sizeof(int), stream.get) ==
          cudaErrorStreamCaptureInvalidated);
    CHECK(stream.end_invalid_capture() == cudaErrorStreamCaptureInvalidated);
  }
  CHECK(cudaStreamDestroy(other) == cudaSuccess);
}

TEST_CASE("asking for the device of a captured stream invalidates any capture") {
  int device = -1;
  for (auto const mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                          cudaStreamCaptureModeRelaxed}) {
    captured_stream const stream(mode);
    cudaStream_t other = nullptr;
    CHECK(cudaStreamCreate(&other) == cudaSuccess);
    CHECK(cudaStreamGetDevice(other, &device) == cudaSuccess);
    CHECK(stream.status() == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamGetDevice(stream.get, &device) == cudaErrorStreamCaptureUnsupported);
    CHECK(stream.status() == cudaStreamCaptureStatusInvalidated);
    CHECK(stream.end_invalid_capture() == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamDestroy(other) == cudaSuccess);
  }
}

TEST_CASE("a relaxed capture forbids nothing; a thread-local one does not affect other threads") {
  void* data = nullptr;
  cudaGraph_t graph = nullptr;
  {
    captured_stream const stream(cudaStreamCaptureModeRelaxed);
    CHECK(cudaMalloc(&data, 1) == cudaSuccess);
    CHECK(cudaFree(data) == cudaSuccess);
    CHECK(cudaStreamEndCapture(stream.get, &graph) == cudaSuccess);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  }
  captured_stream const stream(cudaStreamCaptureModeThreadLocal);
  cudaError_t allocated{}, freed{}, ended{};
  std::thread([&] {
    allocated = cudaMalloc(&data, 1);
    freed = cudaFree(data);
    ended = cudaStreamEndCapture(stream.get, &graph);
  }).join();
  CHECK(allocated == cudaSuccess);
  CHECK(freed == cudaSuccess);
  CHECK(ended == cudaErrorStreamCaptureWrongThread);
  CHECK(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported);
  CHECK(stream.end_invalid_capture() == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("the legacy default stream cannot be captured, nor wait for a captured stream") {
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) ==
        cudaErrorStreamCaptureUnsupported);
  device_int const counter(0);
  captured_stream const stream(cudaStreamCaptureModeGlobal, cudaStreamDefault);
  CHECK(cudaMemsetAsync(counter.data(), 0, sizeof(int), nullptr) == cudaErrorStreamCaptureImplicit);
  CHECK(stream.end_invalid_capture() == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("captures begin once, and end once") {
  captured_stream const stream(cudaStreamCaptureModeGlobal);
  CHECK(cudaStreamBeginCapture(stream.get, cudaStreamCaptureModeGlobal) == cudaErrorIllegalState);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream.get, &graph) == cudaSuccess);
  CHECK(types_of(graph).empty());
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamEndCapture(stream.get, &graph) == cudaErrorIllegalState);
}
