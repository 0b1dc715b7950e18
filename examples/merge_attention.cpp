// SPDX-License-Identifier: Apache-2.0
// Ring attention: every rank holds some of the keys. They compute their parts, merge them, and each
// forms its gradients from the merged result. Beside it, attention over all keys at once.
#include <slicesort/merge_attention.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

using numbers = std::vector<double>;

// Small numbers, each another.
numbers made_up(ss::extents4 e, std::size_t seed) {
  numbers list(static_cast<std::size_t>(e.size()));
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i] = 0.25 * static_cast<double>((i * 7 + seed) % 9) - 0.9;
  return list;
}
numbers zeros(ss::extents4 e) { return numbers(static_cast<std::size_t>(e.size())); }

// Rows of keys: `count` of them, from `first` on, of a tensor of one sample and one head.
template <class Numbers>
auto rows(Numbers& list, ss::index_t first, ss::index_t count, ss::index_t channels) {
  return ss::tensor4(list.data() + first * channels, ss::extents4{1, 1, count, channels});
}

double difference(numbers const& a, numbers const& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::fmax(most, std::fabs(a[i] - b[i]));
  return most;
}
void print(char const* name, numbers const& values) {
  std::printf("%-14s", name);
  for (std::size_t i = 0; i < 4; ++i) std::printf(" %8.5f", values[i]);
  std::printf("\n");
}

}  // namespace

int main() {
  ss::index_t const queries = 6, keys = 10, width = 4;
  ss::extents4 const of_queries{1, 1, queries, width}, of_keys{1, 1, keys, width},
      of_state{1, 1, queries, 2};
  auto const q_data = made_up(of_queries, 1), dy_data = made_up(of_queries, 4);
  auto const k_data = made_up(of_keys, 2), v_data = made_up(of_keys, 5);
  auto const q = ss::view(q_data, of_queries), dy = ss::view(dy_data, of_queries);

  ss::softmax_attention<> const attention;
  ss::scratch memory;

  // [snippet parts]
  // Rank r holds the keys and values of rows [first[r], first[r + 1]), and computes its part.
  ss::index_t const first[] = {0, 3, 4, 10};
  std::vector<numbers> y_of(3, zeros(of_queries)), state_of(3, zeros(of_state));
  std::vector<ss::attention_part<double>> parts;
  for (std::size_t r = 0; r < 3; ++r) {
    auto const k = rows(k_data, first[r], first[r + 1] - first[r], width);
    auto const v = rows(v_data, first[r], first[r + 1] - first[r], width);
    auto const y = ss::view(y_of[r], of_queries);
    auto const state = ss::view(state_of[r], of_state);
    attention.forward(ss::exec::host{}, {q, k, v}, y, state, memory);
    parts.push_back({y, state});
  }
  // [/snippet parts]
  // y and state may be part 0, or memory of their own.
  auto const y = ss::view(y_of[0], of_queries);
  auto const state = ss::view(state_of[0], of_state);
  // [snippet]
  ss::merge_attention const op;
  ss::exec::host const exec;
  // parts: {{y0, state0}, {y1, state1}}, or a vector of them. Needs no workspace.
  op.forward(exec, parts, y, state);
  // [/snippet]

  // [snippet backward]
  // Backward of every rank is that of its own attention, but with the merged y and state.
  numbers dq_data = zeros(of_queries), dk_data = zeros(of_keys), dv_data = zeros(of_keys);
  for (std::size_t r = 0; r < 3; ++r) {
    auto const rank = [&](auto& list) {
      return rows(list, first[r], first[r + 1] - first[r], width);
    };
    attention.backward(exec, dy, {q, rank(k_data), rank(v_data)}, y, state,
                       {ss::view(dq_data, of_queries), rank(dk_data), rank(dv_data)}, memory,
                       ss::grad_mode::accumulate);  // dq is the sum over the ranks
  }
  // [/snippet backward]

  numbers y_whole = zeros(of_queries), dq_whole = y_whole, state_whole = zeros(of_state),
          dk_whole = zeros(of_keys), dv_whole = dk_whole;
  auto const k = ss::view(k_data, of_keys), v = ss::view(v_data, of_keys);
  attention.forward(exec, {q, k, v}, ss::view(y_whole, of_queries), ss::view(state_whole, of_state),
                    memory);
  attention.backward(
      exec, dy, {q, k, v}, ss::view(y_whole, of_queries), ss::view(state_whole, of_state),
      {ss::view(dq_whole, of_queries), ss::view(dk_whole, of_keys), ss::view(dv_whole, of_keys)},
      memory);

  std::puts("query 0, key 0  three ranks");
  print("y", y_of[0]);
  print("dq", dq_data);
  print("dk", dk_data);
  print("dv", dv_data);
  std::puts("                all keys at once");
  print("y", y_whole);
  print("dq", dq_whole);
  print("dk", dk_whole);
  print("dv", dv_whole);
  double const most =
      std::fmax(std::fmax(difference(y_of[0], y_whole), difference(dq_data, dq_whole)),
                std::fmax(difference(dk_data, dk_whole), difference(dv_data, dv_whole)));
  std::printf("no element differs by more than 1e-14: %s\n", most <= 1e-14 ? "true" : "false");
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
