// SPDX-License-Identifier: Apache-2.0
// Softmax attention: heads of a packed tensor, forward and backward, a bias with its gradient, the
// materialized map, lengths, and native bfloat16 products. attention_masks.cpp shows masks.
#include <slicesort/softmax_attention.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

std::vector<float> elements(ss::index_t size, float value = 0) {
  return std::vector<float>(static_cast<std::size_t>(size), value);
}
// Test values in [-0.9, 1.1].
std::vector<float> test_values(ss::index_t size, int seed) {
  auto values = elements(size);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.25f * static_cast<float>(
                            static_cast<int>((i * 7 + static_cast<std::size_t>(seed)) % 9) - 4) +
                0.1f;
  return values;
}
void print(char const* name, std::vector<float> const& values, std::size_t count) {
  std::printf("%-22s", name);
  for (std::size_t i = 0; i < count; ++i) std::printf(" %7.4f", static_cast<double>(values[i]));
  std::printf("\n");
}

void train() {
  // Two heads of three channels in a projection's output, [batch, length, heads * channels].
  ss::extents3 const shape{1, 5, 6};
  auto const q_data = test_values(shape.size(), 1), k_data = test_values(shape.size(), 2),
             v_data = test_values(shape.size(), 5), dy_data = test_values(shape.size(), 7);
  auto y_data = elements(shape.size()), dq_data = y_data, dk_data = y_data, dv_data = y_data;
  // [snippet heads]
  auto const heads = [&](auto& data) { return ss::split_heads(ss::view(data, shape), 2); };
  auto const q = heads(q_data), k = heads(k_data), v = heads(v_data), dy = heads(dy_data);
  auto const y = heads(y_data), dq = heads(dq_data), dk = heads(dk_data), dv = heads(dv_data);
  // [/snippet heads]
  auto state_data = elements(2 * 5 * 2);

  // [snippet]
  ss::softmax_attention<ss::mask::causal> const op;  // streaming; the scale is 1 / sqrt(channels)
  auto const state = ss::view(state_data, {1, 2, 5, 2});  // [batch, heads, queries, 2]
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, {q, k, v}, y, state, memory);
  op.backward(exec, dy, {q, k, v}, y, state, {dq, dk, dv}, memory);
  // [/snippet]
  std::puts("                       head 0                  head 1");
  print("y, query 0", y_data, 6);  // attends to one key
  print("y, query 1", {y_data.begin() + 6, y_data.end()}, 6);
  print("dq, query 1", {dq_data.begin() + 6, dq_data.end()}, 6);
  print("dk, key 0", dk_data, 6);
  print("dv, key 0", dv_data, 6);

  // [snippet bias]
  // A bias that all heads share, and its gradient per head. The other gradients are not computed.
  auto const bias_data = test_values(5 * 5, 3);
  auto dbias_data = elements(2 * 5 * 5);
  ss::tensor4<float const> const bias(bias_data.data(), {1, 1, 5, 5});
  auto const dbias = ss::view(dbias_data, {1, 2, 5, 5});
  op.forward(exec, {q, k, v, bias}, y, state, memory);
  op.backward(exec, dy, {q, k, v, bias}, y, state, ss::grad_bias(dbias), memory);
  // [/snippet bias]
  std::puts("head 0, query 2        key 0   key 1   key 2   key 3   key 4");
  print("dbias", {dbias_data.begin() + 10, dbias_data.end()}, 5);

  // [snippet whole]
  // Stores the whole map. The library computes the matrix products; ss::materialized<ss::cblas>
  // uses a BLAS.
  ss::softmax_attention<ss::mask::causal, ss::materialized<>> const materialized;
  ss::extents4 const pairs = materialized.saved_extents(q.extents(), v.extents());  // [1, 2, 5, 5]
  auto map_data = elements(pairs.size());
  materialized.forward(exec, {q, k, v}, y, ss::view(map_data, pairs), memory);
  // [/snippet whole]
  print("weights", {map_data.begin() + 10, map_data.end()}, 5);

  // [snippet lengths]
  // Three keys and four queries of this sample are valid; nothing is saved for backward.
  ss::index_t const keys = 3, queries = 4;
  op.forward(exec, {q, k, v}, y, ss::no_saved, memory, ss::lengths(keys, queries));
  // [/snippet lengths]
  std::puts("3 keys, 4 queries      head 0                  head 1");
  print("y, query 3", {y_data.begin() + 18, y_data.end()}, 6);
  print("y, query 4", {y_data.begin() + 24, y_data.end()}, 6);
}

void infer() {
  ss::extents4 const shape{1, 1, 5, 6};
  std::vector<ss::bfloat16> data, y_data(30);
  for (float value : test_values(shape.size(), 1)) data.emplace_back(value);
  ss::tensor4<ss::bfloat16 const> const q(data.data(), shape), k = q, v = q;
  auto const y = ss::view(y_data, shape);
  ss::exec::host const exec;
  // [snippet native]
  // Uses the processor's bfloat16 instruction where it has one: faster, but rounded differently.
  ss::softmax_attention<ss::mask::causal> const native{ss::products::native};
  ss::scratch memory;
  native.forward(exec, {q, k, v}, y, ss::no_saved, memory);
  // [/snippet native]
  std::vector<float> first;  // output of query 0, which copies its only value without rounding
  for (std::size_t c = 0; c < 6; ++c) first.push_back(static_cast<float>(y_data[c]));
  print("bfloat16: y, query 0", first, 6);
}

}  // namespace

int main() {
  train();
  infer();
}
// output:
//                        head 0                  head 1
// y, query 0              0.3500 -0.1500 -0.6500  1.1000  0.6000  0.1000
// y, query 1             -0.2133 -0.7133  0.4766  0.6646  0.1646 -0.3354
// dq, query 1            -0.1822 -0.1822  0.0911  0.0830  0.0830 -0.1661
// dk, key 0               0.1200  0.1204  0.0588 -0.1231  0.1884  0.0830
// dv, key 0               0.9447  0.5722 -0.3554 -0.3357  1.5258  0.4154
// head 0, query 2        key 0   key 1   key 2   key 3   key 4
// dbias                  -0.0442 -0.0304  0.0746  0.0000  0.0000
// weights                 0.2467  0.2809  0.4724  0.0000  0.0000
// 3 keys, 4 queries      head 0                  head 1
// y, query 3              0.2410 -0.2590  0.1364  0.4936 -0.0064  0.1257
// y, query 4              0.0000  0.0000  0.0000  0.0000  0.0000  0.0000
// bfloat16: y, query 0   -0.6484  1.1016  0.6016  0.1001 -0.4004 -0.8984
