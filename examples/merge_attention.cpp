// SPDX-License-Identifier: Apache-2.0
// Ring attention: each rank attends to the keys that it holds, the results are merged, and each
// rank computes its gradients from the merged result. Compared with attention over all keys.
#include <slicesort/merge_attention.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

using doubles = std::vector<double>;

// Test values in [-0.9, 1.1].
doubles test_values(ss::extents4 e, std::size_t seed) {
  doubles values(static_cast<std::size_t>(e.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.25 * static_cast<double>((i * 7 + seed) % 9) - 0.9;
  return values;
}
doubles zeros(ss::extents4 e) { return doubles(static_cast<std::size_t>(e.size())); }

// Rows first .. first + count - 1 of a tensor with one sample and one head.
template <class Values>
auto rows(Values& values, ss::index_t first, ss::index_t count, ss::index_t channels) {
  return ss::tensor4(values.data() + first * channels, ss::extents4{1, 1, count, channels});
}

double max_difference(doubles const& a, doubles const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::fmax(largest, std::fabs(a[i] - b[i]));
  return largest;
}
void print(char const* name, doubles const& values) {
  std::printf("%-14s", name);
  for (std::size_t i = 0; i < 4; ++i) std::printf(" %8.5f", values[i]);
  std::printf("\n");
}

}  // namespace

int main() {
  ss::index_t const queries = 6, keys = 10, channels = 4;
  ss::extents4 const query_shape{1, 1, queries, channels}, key_shape{1, 1, keys, channels},
      state_shape{1, 1, queries, 2};
  auto const q_data = test_values(query_shape, 1), dy_data = test_values(query_shape, 4);
  auto const k_data = test_values(key_shape, 2), v_data = test_values(key_shape, 5);
  auto const q = ss::view(q_data, query_shape), dy = ss::view(dy_data, query_shape);

  ss::softmax_attention<> const attention;
  ss::scratch memory;

  // [snippet parts]
  // Rank r holds keys and values first[r] .. first[r + 1] - 1, and attends to them.
  ss::index_t const first[] = {0, 3, 4, 10};
  std::vector<doubles> y_parts(3, zeros(query_shape)), state_parts(3, zeros(state_shape));
  std::vector<ss::attention_part<double>> parts;
  for (std::size_t r = 0; r < 3; ++r) {
    auto const k = rows(k_data, first[r], first[r + 1] - first[r], channels);
    auto const v = rows(v_data, first[r], first[r + 1] - first[r], channels);
    auto const y = ss::view(y_parts[r], query_shape);
    auto const state = ss::view(state_parts[r], state_shape);
    attention.forward(ss::exec::host{}, {q, k, v}, y, state, memory);
    parts.push_back({y, state});
  }
  // [/snippet parts]
  // The output may be part 0, or other memory.
  auto const y = ss::view(y_parts[0], query_shape);
  auto const state = ss::view(state_parts[0], state_shape);
  // [snippet]
  ss::merge_attention const op;
  ss::exec::host const exec;
  // parts: {{y0, state0}, {y1, state1}}, or a vector. Needs no workspace.
  op.forward(exec, parts, y, state);
  // [/snippet]

  // [snippet backward]
  // Each rank calls backward with its keys and the merged y and state.
  doubles dq_data = zeros(query_shape), dk_data = zeros(key_shape), dv_data = zeros(key_shape);
  for (std::size_t r = 0; r < 3; ++r) {
    auto const rank_rows = [&](auto& values) {
      return rows(values, first[r], first[r + 1] - first[r], channels);
    };
    attention.backward(exec, dy, {q, rank_rows(k_data), rank_rows(v_data)}, y, state,
                       {ss::view(dq_data, query_shape), rank_rows(dk_data), rank_rows(dv_data)},
                       memory,
                       ss::grad_mode::accumulate);  // dq is the sum over the ranks
  }
  // [/snippet backward]

  doubles y_whole = zeros(query_shape), dq_whole = y_whole, state_whole = zeros(state_shape),
          dk_whole = zeros(key_shape), dv_whole = dk_whole;
  auto const k = ss::view(k_data, key_shape), v = ss::view(v_data, key_shape);
  attention.forward(exec, {q, k, v}, ss::view(y_whole, query_shape),
                    ss::view(state_whole, state_shape), memory);
  attention.backward(exec, dy, {q, k, v}, ss::view(y_whole, query_shape),
                     ss::view(state_whole, state_shape),
                     {ss::view(dq_whole, query_shape), ss::view(dk_whole, key_shape),
                      ss::view(dv_whole, key_shape)},
                     memory);

  std::puts("query 0, key 0  three ranks");
  print("y", y_parts[0]);
  print("dq", dq_data);
  print("dk", dk_data);
  print("dv", dv_data);
  std::puts("                all keys at once");
  print("y", y_whole);
  print("dq", dq_whole);
  print("dk", dk_whole);
  print("dv", dv_whole);
  double const largest =
      std::fmax(std::fmax(max_difference(y_parts[0], y_whole), max_difference(dq_data, dq_whole)),
                std::fmax(max_difference(dk_data, dk_whole), max_difference(dv_data, dv_whole)));
  std::printf("no element differs by more than 1e-14: %s\n", largest <= 1e-14 ? "true" : "false");
}
// output:
// query 0, key 0  three ranks
// y               0.07509 -0.12358  0.01010  0.37243
// dq             -0.17838  0.03307  0.17455  0.06277
// dk             -0.10401 -0.00419  0.13290 -0.01398
// dv              0.29198  0.08684 -0.25103  0.01647
//                 all keys at once
// y               0.07509 -0.12358  0.01010  0.37243
// dq             -0.17838  0.03307  0.17455  0.06277
// dk             -0.10401 -0.00419  0.13290 -0.01398
// dv              0.29198  0.08684 -0.25103  0.01647
// no element differs by more than 1e-14: true
