// SPDX-License-Identifier: Apache-2.0
// Biases of attention that depend on how far a key is from its query: ALiBi's and T5's.
#include <slicesort/slicesort.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ss = slicesort;
using ss::index_t;

namespace {

// [snippet alibi]
// ALiBi: head h of H takes slope 2^(-8 (h + 1) / H) off for every step between query and key.
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
// T5: a learned table of 32 numbers for each head. The buckets of near distances are single steps,
// those of far ones, up to 128, grow like powers; keys behind the query have the second half.
index_t bucket(index_t distance) {
  index_t const side = distance > 0 ? 16 : 0, far = std::abs(distance);
  if (far < 8) return side + far;
  double const log = std::log(static_cast<double>(far) / 8) / std::log(128.0 / 8);
  return side + std::min<index_t>(8 + static_cast<index_t>(log * 8), 15);
}
std::vector<float> t5(std::vector<float> const& table, index_t heads, index_t queries,
                      index_t keys) {
  std::vector<float> bias;
  for (index_t h = 0; h < heads; ++h)
    for (index_t distance = 1 - queries; distance < keys; ++distance)
      bias.push_back(table[static_cast<std::size_t>(32 * h + bucket(distance))]);
  return bias;
}
// [/snippet t5]

void print(char const* name, std::vector<float> const& y) {
  std::printf("%-8s", name);
  for (float one : y) std::printf(" %7.4f", static_cast<double>(one));
  std::puts("");
}

}  // namespace

int main() {
  index_t const heads = 2, queries = 3, keys = 4;
  ss::extents4 const q_shape{1, heads, queries, 1}, k_shape{1, heads, keys, 1};
  std::vector<float> const q_data(6, 0), k_data(8, 0);  // scores of 0: the bias decides
  std::vector<float> const v_data = {1, 2, 3, 4, 1, 2, 3, 4};
  std::vector<float> y_data(6);
  ss::tensor4<float const> const q(q_data.data(), q_shape), k(k_data.data(), k_shape),
      v(v_data.data(), k_shape);
  auto const y = ss::view(y_data, q_shape);
  ss::exec::host const on;
  ss::softmax_attention<> const op;
  std::vector<unsigned char> scratch(op.workspace_bytes<float>(on, q_shape, k_shape));

  // [snippet call]
  auto const by_distance = alibi(heads, queries, keys);
  ss::tensor4<float const> const bias(by_distance.data(), {1, heads, 1, queries + keys - 1});
  op.forward(on, {q, k, v, bias}, y, ss::no_saved, scratch);
  // [/snippet call]
  print("ALiBi", y_data);

  std::vector<float> table(64);
  for (std::size_t n = 0; n < table.size(); ++n) table[n] = static_cast<float>(n % 5) / 2;
  auto const learned = t5(table, heads, queries, keys);
  op.forward(on, {q, k, v, {learned.data(), {1, heads, 1, queries + keys - 1}}}, y, ss::no_saved,
             scratch);
  print("T5", y_data);
}
// output:
// ALiBi     2.4220  2.4692  2.5308  2.4951  2.4980  2.5020
// T5        3.1713  3.0187  2.4599  2.1238  2.3148  2.4599
