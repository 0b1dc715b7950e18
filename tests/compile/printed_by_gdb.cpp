// SPDX-License-Identifier: Apache-2.0
// Variables that check_gdb.py prints, with the expected output.
// prints dense: float [2, 3, 2]|[[[0 0.5]|  [1 1.5]|  [2 2.5]]| [[3 3.5]|  [4 4.5]|  [5 5.5]]]
// prints gaps: const float [1, 7, 1] strides [0, 2, 1]|[[[0]|  [1]|  [2]|  ...|  [4]|  [5]|  [6]]]
// prints heads: float [1, 1, 2, 2]|[[[[0 0.5]|   [1 1.5]]]]
// prints stack: float [1, 1, 2, 2]|[[[[0 0.5]|   [1 1.5]]]]
// prints vector: slicesort::v0::float16 [2]|[-1.5 65504]
// prints index: u16 [1, 3, 1]|[[[2]|  [0]|  [1]]]
// prints empty: float [0, 0, 0]|[]
// prints far: float [1, 1, 1]|at 0x10, which gdb cannot read
// prints shape: [2, 3, 2]
// prints strides: [4, 4, 2, 1]
// prints half: 0.5
#include <slicesort/dtype.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

namespace ss = slicesort;

namespace {

__attribute__((noinline)) void stop_here() {}

}  // namespace

int main() {
  float values[200];
  for (int i = 0; i < 200; ++i) values[i] = static_cast<float>(i) / 2;
  std::uint16_t indices[3] = {2, 0, 1};
  ss::float16 halves[2] = {ss::float16(-1.5f), ss::float16(65504.0f)};

  ss::tensor3<float> dense(values, {2, 3, 2});
  ss::tensor3<float const> gaps(values, {1, 7, 1}, {0, 2, 1});
  ss::tensor4<float> heads(values, {1, 1, 2, 2});
  ss::tensor_stack<float> stack(values, {1, 1, 2, 2});
  ss::tensor1<ss::float16> vector(halves, 2);
  ss::index_tensor3 index = ss::tensor3<std::uint16_t>(indices, {1, 3, 1});
  ss::tensor3<float> empty, far(reinterpret_cast<float*>(std::uintptr_t{16}), {1, 1, 1});
  ss::extents3 shape = dense.extents();
  ss::stack_strides strides = stack.strides();
  ss::bfloat16 half(0.5f);
  stop_here();
}
