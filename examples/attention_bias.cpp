// SPDX-License-Identifier: Apache-2.0
// Attention biases and their gradients: ALiBi and T5, which depend on the distance between key and
// query, and a bias map that all samples and heads share. Also shows dropout.
#include <slicesort/slicesort.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ss = slicesort;
using ss::index_t;

namespace {

// [snippet alibi]
// ALiBi: head h of H subtracts 2^(-8 (h + 1) / H) for each step between query and key.
std::vector<float> alibi(index_t heads, index_t queries, index_t keys) {
  std::vector<float> bias;
  for (index_t h = 0; h < heads; ++h)
    for (index_t distance = 1 - queries; distance < keys; ++distance)  // key - query
      bias.push_back(-std::exp2(-8.0f * static_cast<float>(h + 1) / static_cast<float>(heads)) *
                     static_cast<float>(std::abs(distance)));
  return bias;  // [1, heads, 1, queries + keys - 1]
}
// [/snippet alibi]

// [snippet t5]
// T5: a learned table of 32 biases per head, 16 of them for keys after the query. Each distance
// below 8 has its own bucket. Larger distances share buckets that grow geometrically up to 128.
index_t bucket(index_t distance) {
  index_t const first = distance > 0 ? 16 : 0, magnitude = std::abs(distance);
  if (magnitude < 8) return first + magnitude;
  double const log = std::log(static_cast<double>(magnitude) / 8) / std::log(128.0 / 8);
  return first + std::min<index_t>(8 + static_cast<index_t>(log * 8), 15);
}
std::vector<float> t5(std::vector<float> const& table, index_t heads, index_t queries,
                      index_t keys) {
  std::vector<float> bias;
  for (index_t h = 0; h < heads; ++h)
    for (index_t distance = 1 - queries; distance < keys; ++distance)
      bias.push_back(table[static_cast<std::size_t>(32 * h + bucket(distance))]);
  return bias;
}
// Computes the table gradient from the bias gradient, which already sums all pairs at a distance.
std::vector<float> t5_gradient(std::vector<float> const& dbias, index_t heads, index_t queries,
                               index_t keys) {
  std::vector<float> dtable(static_cast<std::size_t>(32 * heads));
  std::size_t n = 0;
  for (index_t h = 0; h < heads; ++h)
    for (index_t distance = 1 - queries; distance < keys; ++distance, ++n)
      dtable[static_cast<std::size_t>(32 * h + bucket(distance))] += dbias[n];
  return dtable;
}
// [/snippet t5]

void print(char const* name, std::vector<float> const& y) {
  std::printf("%-8s", name);
  for (float value : y) std::printf(" %7.4f", static_cast<double>(value));
  std::puts("");
}

}  // namespace

int main() {
  index_t const batch = 2, heads = 2, queries = 3, keys = 4;
  ss::extents4 const q_shape{batch, heads, queries, 1}, k_shape{batch, heads, keys, 1};
  std::vector<float> const q_data(12, 0), k_data(16, 0);  // all scores are 0: only the bias matters
  std::vector<float> const v_data = {1, 2, 3, 4, 1, 2, 3, 4, 4, 3, 2, 1, 4, 3, 2, 1};
  std::vector<float> const dy_data = {1, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 1};
  std::vector<float> y_data(12), state_data(24);
  ss::tensor4<float const> const q(q_data.data(), q_shape), k(k_data.data(), k_shape),
      v(v_data.data(), k_shape), dy(dy_data.data(), q_shape);
  auto const y = ss::view(y_data, q_shape);
  auto const state = ss::view(state_data, {batch, heads, queries, 2});
  ss::exec::host const exec;
  ss::softmax_attention<> const op;
  ss::scratch memory;

  ss::extents4 const relative{1, heads, 1, queries + keys - 1};
  // [snippet alibi_call]
  auto const slopes = alibi(heads, queries, keys);
  op.forward(exec, {q, k, v, {slopes.data(), relative}}, y, ss::no_saved, memory);
  // [/snippet alibi_call]
  print("ALiBi", y_data);

  std::vector<float> table(64);
  for (std::size_t n = 0; n < table.size(); ++n) table[n] = static_cast<float>(n % 5) / 2;
  auto const learned = t5(table, heads, queries, keys);
  std::vector<float> dlearned(learned.size());
  ss::tensor4<float const> const bias(learned.data(), relative);
  auto const dbias = ss::view(dlearned, relative);
  // [snippet]
  op.forward(exec, {q, k, v, bias}, y, state, memory);
  op.backward(exec, dy, {q, k, v, bias}, y, state, ss::grad_bias(dbias), memory);
  // [/snippet]
  auto const dtable = t5_gradient(dlearned, heads, queries, keys);
  print("T5", y_data);
  print("dtable", {dtable[0], dtable[1], dtable[2], dtable[17], dtable[18], dtable[19]});

  std::vector<float> const map = {0, 1, 0, 1, 2, 0, 0, 1, 0, 0, 1, 1};
  std::vector<float> dmap(map.size());
  // [snippet shared]
  // One learned map for all samples and heads, as in Synthesizer, where q and k are zero.
  ss::extents4 const shared{1, 1, queries, keys};
  op.forward(exec, {q, k, v, {map.data(), shared}}, y, state, memory);
  op.backward(exec, dy, {q, k, v, {map.data(), shared}}, y, state,
              ss::grad_bias(ss::view(dmap, shared)), memory);
  // [/snippet shared]
  print("map", y_data);
  print("dmap", dmap);

  // [snippet dropout]
  // Use a new seed for each training step, and the same seed in forward and backward.
  ss::dropout const drop{0.25, 3};  // a quarter of the weights, seed 3
  op.forward(exec, {q, k, v}, y, state, memory, drop);
  // [/snippet dropout]
  print("dropout", y_data);
}
// output:
// ALiBi     2.4220  2.4692  2.5308  2.4951  2.4980  2.5020  2.5780  2.5308  2.4692  2.5049  2.5020  2.4980
// T5        3.1713  3.0187  2.4599  2.1238  2.3148  2.4599  1.8287  1.9813  2.5401  2.8762  2.6852  2.5401
// dtable    0.0676  0.6759  0.0000 -0.1939 -0.9423  0.3928
// map       2.7311  1.9213  2.9621  2.7311  1.9213  2.9621  2.2689  3.0787  2.0379  2.2689  3.0787  2.0379
// dmap     -0.2328 -0.2672  0.0362  0.4638  0.5623 -0.0065 -0.0891 -0.4667  0.2638  0.1294 -0.0138 -0.3794
// dropout   3.3333  3.3333  2.3333  1.0000  3.3333  3.3333  3.3333  3.3333  3.3333  2.3333  2.6667  3.0000
