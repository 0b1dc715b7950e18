// SPDX-License-Identifier: Apache-2.0
// Attention on a GPU, captured in a graph with the same bits at every replay, and materialized by
// cuBLAS. The operator tests compare its results with reference implementations.
#include "backend/device.hpp"
#include "backend/graph.hpp"
#include "backend/share.hpp"

#include "support/inputs.hpp"
#include "support/numbers.hpp"

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
enum class input_tensor { q, k, v, dy };
enum class output_tensor { y, dq, dk, dv };

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
        inputs(element_count(6) * sizeof(T)),
        outputs(element_count(4) * sizeof(T)),
        state(static_cast<std::size_t>(state_shape.size()) * sizeof(state_type)),
        scratch(op.template workspace_bytes<T>(exec, q_shape, k_shape), 0x11) {
    std::vector<T> values(element_count(6));
    random_stream random(3);
    for (T& value : values) value = static_cast<T>(static_cast<float>(random.normal()));
    inputs.upload(values.data());
  }

  void forward_and_backward() const {
    ss::tensor4<state_type> const saved(static_cast<state_type*>(state.data()), state_shape);
    ss::attention_inputs<T> const in{input(input_tensor::q, q_shape),
                                     input(input_tensor::k, k_shape),
                                     input(input_tensor::v, k_shape)};
    ss::workspace const workspace{scratch.data(), scratch.size()};
    op.forward(exec, in, output(output_tensor::y, q_shape), {saved}, workspace);
    op.backward(exec, input(input_tensor::dy, q_shape), in, output(output_tensor::y, q_shape),
                {ss::tensor4<state_type const>(saved)},
                {output(output_tensor::dq, q_shape), output(output_tensor::dk, k_shape),
                 output(output_tensor::dv, k_shape)},
                workspace);
  }
  // Waits, and returns the bytes of the outputs.
  std::vector<unsigned char> output_bytes() const {
    stream.wait();
    CHECK(outputs.red_zones_intact());
    CHECK(state.red_zones_intact());
    CHECK(scratch.red_zones_intact());
    return outputs.download();
  }
  std::vector<float> output_values() const {
    auto const bytes = output_bytes();
    std::vector<T> elements(bytes.size() / sizeof(T));
    std::memcpy(static_cast<void*>(elements.data()), bytes.data(), bytes.size());
    std::vector<float> values;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < output_size(i); ++j)
        values.push_back(static_cast<float>(elements[i * element_count(1) + j]));
    return values;
  }

 private:
  static constexpr std::size_t element_count(std::size_t tensors) {
    return tensors * static_cast<std::size_t>(k_shape.size());
  }
  static constexpr std::size_t output_size(std::size_t output) {
    return static_cast<std::size_t>(output < 2 ? q_shape.size() : k_shape.size());
  }
  ss::tensor4<T const> input(input_tensor tensor, ss::extents4 e) const {
    return {static_cast<T const*>(inputs.data()) + element_count(static_cast<std::size_t>(tensor)),
            e};
  }
  ss::tensor4<T> output(output_tensor tensor, ss::extents4 e) const {
    return {static_cast<T*>(outputs.data()) + element_count(static_cast<std::size_t>(tensor)), e};
  }
};

// Checks that replays of a captured call give the bits of the call. Returns the types of its nodes.
template <class Call>
std::vector<cudaGraphNodeType> check_replays(Call& call) {
  call.forward_and_backward();
  auto const expected = call.output_bytes();
  cudaGraph_t const graph = capture_graph(call.stream, [&] { call.forward_and_backward(); });
  std::vector<cudaGraphNodeType> types;
  for (cudaGraphNode_t node : nodes_of(graph)) {
    types.emplace_back();
    SLICESORT_TEST_CUDA_CALL(cudaGraphNodeGetType(node, &types.back()));
  }
  cudaGraphExec_t executable_graph = nullptr;
  SLICESORT_TEST_CUDA_CALL(cudaGraphInstantiate(&executable_graph, graph, 0));
  for (int i = 0; i < share_of(20); ++i) {
    call.outputs.set(0xcb);
    SLICESORT_TEST_CUDA_CALL(cudaGraphLaunch(executable_graph, call.stream.get()));
    CHECK(call.output_bytes() == expected);
  }
  SLICESORT_TEST_CUDA_CALL(cudaGraphExecDestroy(executable_graph));
  SLICESORT_TEST_CUDA_CALL(cudaGraphDestroy(graph));
  return types;
}

TEST_CASE("attention in a graph: only kernels, and the same bits at every replay") {
  device_stream const stream;
  attention_on_device<ss::bfloat16, ss::streaming> call(ss::softmax_attention<ss::mask::causal>{},
                                                        stream);
  for (cudaGraphNodeType type : check_replays(call)) CHECK(type == cudaGraphNodeTypeKernel);
}

using cublas_algorithm = ss::materialized<ss::cublas>;

TEST_CASE("attention by cuBLAS in a graph: no allocation if the handle has a workspace") {
  device_stream const stream;
  device_bytes const workspace(std::size_t{32} << 20);
  cublasHandle_t handle = nullptr;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS ||
      cublasSetStream(handle, stream.get()) != CUBLAS_STATUS_SUCCESS ||
      cublasSetWorkspace(handle, workspace.data(), workspace.size()) != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS cannot be started");
  attention_on_device<ss::bfloat16, cublas_algorithm> call(
      ss::softmax_attention<ss::mask::causal, cublas_algorithm>{cublas_algorithm{{handle}}},
      stream);
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
  attention_on_device<ss::bfloat16, cublas_algorithm> with_cublas(
      ss::softmax_attention<ss::mask::causal, cublas_algorithm>{cublas_algorithm{{handle}}},
      stream);
  attention_on_device<ss::bfloat16, ss::streaming> streaming(
      ss::softmax_attention<ss::mask::causal>{}, stream);
  with_cublas.forward_and_backward();
  streaming.forward_and_backward();
  auto const a = with_cublas.output_values(), b = streaming.output_values();
  double max_difference = 0, max_value = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    max_difference = max_or_nan(max_difference, static_cast<double>(std::abs(a[i] - b[i])));
    max_value = max_or_nan(max_value, static_cast<double>(std::abs(b[i])));
  }
  // Both round the weights and the gradients of scores to eight bits, and round again each sum of
  // a few hundred products.
  CHECK(max_difference <= max_value / 64);
  CHECK(max_difference > 0);  // the two algorithms differ
  (void)cublasDestroy(handle);
}

}  // namespace
