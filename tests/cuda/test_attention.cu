// SPDX-License-Identifier: Apache-2.0
// Attention on a GPU: captured in a graph, with the same bits at every replay, and materialized by
// cuBLAS. The operator tests compare its results with oracles.
#include "backend/device.hpp"
#include "backend/graph.hpp"
#include "backend/share.hpp"

#include "support/inputs.hpp"

#include <slicesort/policies/cublas.cuh>
#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

using namespace support;

namespace {

namespace ss = slicesort;

constexpr ss::extents4 q_shape{2, 3, 130, 64}, k_shape{2, 3, 150, 64};

// Inputs, outputs, state and workspace of a call on the device.
template <class T, class Algorithm>
struct attention_on_device {
  using op_type = ss::softmax_attention<ss::mask::causal, Algorithm>;
  using state_type = typename ss::detail::attention_traits<Algorithm>::template state<T>;

  op_type op;
  device_stream const& stream;
  ss::exec::cuda exec;
  ss::extents4 state_shape;
  device_bytes inputs, outputs, state, scratch;

  attention_on_device(op_type attention, device_stream const& exec_stream)
      : op(attention),
        stream(exec_stream),
        exec{exec_stream.get()},
        state_shape(op.saved_extents(q_shape, k_shape)),
        inputs(elements(6) * sizeof(T)),
        outputs(elements(4) * sizeof(T)),
        state(static_cast<std::size_t>(state_shape.size()) * sizeof(state_type)),
        scratch(op.template workspace_bytes<T>(exec, q_shape, k_shape), 0x11) {
    std::vector<T> numbers(elements(6));
    random_stream random(3);
    for (T& number : numbers) number = static_cast<T>(static_cast<float>(random.normal()));
    inputs.upload(numbers.data());
  }

  void forward_and_backward() const {
    ss::tensor4<state_type> const saved(static_cast<state_type*>(state.data()), state_shape);
    ss::attention_inputs<T> const in{from(0, q_shape), from(1, k_shape), from(2, k_shape)};
    ss::workspace const work{scratch.data(), scratch.size()};
    op.forward(exec, in, to(0, q_shape), {saved}, work);
    op.backward(exec, from(3, q_shape), in, to(0, q_shape), {ss::tensor4<state_type const>(saved)},
                {to(1, q_shape), to(2, k_shape), to(3, k_shape)}, work);
  }
  // The bits of the outputs; values() returns them as numbers.
  std::vector<unsigned char> results() const {
    stream.wait();
    CHECK(outputs.red_zones_intact());
    CHECK(state.red_zones_intact());
    CHECK(scratch.red_zones_intact());
    return outputs.download();
  }
  std::vector<float> values() const {
    auto const bytes = results();
    std::vector<T> written(bytes.size() / sizeof(T));
    std::memcpy(static_cast<void*>(written.data()), bytes.data(), bytes.size());
    std::vector<float> numbers;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < used(i); ++j)
        numbers.push_back(static_cast<float>(written[i * elements(1) + j]));
    return numbers;
  }

 private:
  static constexpr std::size_t elements(std::size_t tensors) {
    return tensors * static_cast<std::size_t>(k_shape.size());
  }
  static constexpr std::size_t used(std::size_t output) {
    return static_cast<std::size_t>(output < 2 ? q_shape.size() : k_shape.size());
  }
  ss::tensor4<T const> from(std::size_t i, ss::extents4 e) const {
    return {static_cast<T const*>(inputs.data()) + i * elements(1), e};
  }
  ss::tensor4<T> to(std::size_t i, ss::extents4 e) const {
    return {static_cast<T*>(outputs.data()) + i * elements(1), e};
  }
};

// Checks that replays of a captured call give the bits of the call. Returns the types of its nodes.
template <class Call>
std::vector<cudaGraphNodeType> check_replays(Call& call) {
  call.forward_and_backward();
  auto const expected = call.results();
  cudaGraph_t const graph = captured(call.stream, [&] { call.forward_and_backward(); });
  std::vector<cudaGraphNodeType> types;
  for (cudaGraphNode_t node : nodes_of(graph)) {
    types.emplace_back();
    SLICESORT_TEST_CUDA_CALL(cudaGraphNodeGetType(node, &types.back()));
  }
  cudaGraphExec_t runnable = nullptr;
  SLICESORT_TEST_CUDA_CALL(cudaGraphInstantiate(&runnable, graph, 0));
  for (int i = 0; i < share_of(20); ++i) {
    call.outputs.set(0xcb);
    SLICESORT_TEST_CUDA_CALL(cudaGraphLaunch(runnable, call.stream.get()));
    CHECK(call.results() == expected);
  }
  SLICESORT_TEST_CUDA_CALL(cudaGraphExecDestroy(runnable));
  SLICESORT_TEST_CUDA_CALL(cudaGraphDestroy(graph));
  return types;
}

TEST_CASE("attention in a graph: only kernels, and the same bits at every replay") {
  device_stream const stream;
  attention_on_device<ss::bfloat16, ss::streaming> call(ss::softmax_attention<ss::mask::causal>{},
                                                        stream);
  for (cudaGraphNodeType type : check_replays(call)) CHECK(type == cudaGraphNodeTypeKernel);
}

using by_cublas = ss::materialized<ss::cublas>;

TEST_CASE("attention by cuBLAS in a graph: no allocation if the handle has a workspace") {
  device_stream const stream;
  device_bytes const workspace(std::size_t{32} << 20);
  cublasHandle_t handle = nullptr;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS ||
      cublasSetStream(handle, stream.get()) != CUBLAS_STATUS_SUCCESS ||
      cublasSetWorkspace(handle, workspace.data(), workspace.size()) != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS cannot be started");
  attention_on_device<ss::bfloat16, by_cublas> call(
      ss::softmax_attention<ss::mask::causal, by_cublas>{by_cublas{{handle}}}, stream);
  for (cudaGraphNodeType type : check_replays(call)) {
    CHECK(type != cudaGraphNodeTypeMemAlloc);
    CHECK(type != cudaGraphNodeTypeMemFree);
  }
  CHECK(workspace.red_zones_intact());
  (void)cublasDestroy(handle);
}

TEST_CASE("attention by cuBLAS agrees with streaming attention") {
  device_stream const stream;
  cublasHandle_t handle = nullptr;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasCreate");
  attention_on_device<ss::bfloat16, by_cublas> by_blas(
      ss::softmax_attention<ss::mask::causal, by_cublas>{by_cublas{{handle}}}, stream);
  attention_on_device<ss::bfloat16, ss::streaming> other(ss::softmax_attention<ss::mask::causal>{},
                                                         stream);
  by_blas.forward_and_backward();
  other.forward_and_backward();
  auto const a = by_blas.values(), b = other.values();
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, static_cast<double>(std::abs(a[i] - b[i])));
    size = std::max(size, static_cast<double>(std::abs(b[i])));
  }
  // Both round the weights and the gradients of scores to eight bits, and round again each sum of
  // a few hundred products.
  CHECK(worst <= size / 64);
  CHECK(worst > 0);  // the two algorithms differ
  (void)cublasDestroy(handle);
}

}  // namespace
