// SPDX-License-Identifier: Apache-2.0
// Pointwise attention: MEGA's Laplace function with a relative bias, its gradients, the squared
// ReLU, and a user-defined function.
#include <slicesort/pointwise_attention.hpp>
#include <slicesort/view.hpp>
#include <slicesort/workspace.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<double> const& values) {
  std::printf("%-14s", name);
  for (double v : values) std::printf(" %8.4f", v);
  std::printf("\n");
}

// [snippet custom]
struct exponential {  // softmax without its divisor
  template <class A>
  A value(A score) const {
    return std::exp(score);
  }
  template <class A>
  A slope(A score) const {
    return std::exp(score);
  }
};
// [/snippet custom]

}  // namespace

int main() {
  // One sample and head, four rows of two channels: [batch, heads, length, channels].
  ss::extents4 const shape{1, 1, 4, 2};
  std::vector<double> const q_data = {1, 0, 0, 1, 1, 1, -1, 2}, k_data = {1, 1, 0, 2, -1, 1, 2, 0},
                            v_data = {1, 0, 0, 1, 2, -1, 1, 3}, dy_data = {1, 2, 0, 1, -1, 1, 2, 0},
                            bias_data = {0.3, -0.2, 0.1, 0.4, 0.2, -0.1, 0};
  std::vector<double> y_data(8), dq_data(8), dk_data(8), dv_data(8), dbias_data(7);
  auto const q = ss::view(q_data, shape), k = ss::view(k_data, shape), v = ss::view(v_data, shape),
             dy = ss::view(dy_data, shape);
  auto const y = ss::view(y_data, shape), dq = ss::view(dq_data, shape),
             dk = ss::view(dk_data, shape), dv = ss::view(dv_data, shape);

  // [snippet]
  ss::pointwise_attention const op{ss::per_key{}};      // scale 1 / keys, MEGA's Laplace function
  auto const bias = ss::view(bias_data, {1, 1, 1, 7});  // per distance j - i + 3
  auto const dbias = ss::view(dbias_data, {1, 1, 1, 7});
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, {q, k, v, bias}, y, memory);
  op.backward(exec, dy, {q, k, v, bias}, {dq, dk, dv, dbias}, memory);
  // [/snippet]
  print("y", y_data);
  print("dq", dq_data);
  print("dbias", dbias_data);

  // [snippet policies]
  // A causal mask, a scale, and the squared ReLU, in any order.
  ss::pointwise_attention const relu{ss::mask::causal{}, ss::score_function::squared_relu{}, 0.25};
  relu.forward(exec, {q, k, v, bias}, y, memory);
  // [/snippet policies]
  print("squared ReLU", y_data);

  // [snippet custom_call]
  ss::pointwise_attention const custom{exponential{}};  // scale 1 / sqrt(channels)
  custom.forward(exec, {q, k, v}, y, memory);
  // [/snippet custom_call]
  print("custom", y_data);
}

// output:
// y                0.6514   0.7303   0.4670   0.5782   0.8407   1.6838   1.6784  -0.0584
// dq               4.1268   0.6274   0.2688   0.3263   1.8754  -0.0533  -0.6148   1.8495
// dbias            2.4221  -0.4992   6.2916   0.2064   2.4561   0.0708   7.5608
// squared ReLU     0.4225   0.0000   0.1225   0.8100   0.4100   0.2000   1.7475  -0.0825
// custom           7.1275  12.8467   7.0843   5.0851  10.2265  15.4530  18.9555   9.3060
