// SPDX-License-Identifier: Apache-2.0
// Merged attention over parts of the keys equals attention over all keys. Backward of each part,
// given the merged y and state, computes that part's share of the full gradients.
#define SLICESORT_TEST_EVERY_BACKEND
#include "support/backends.hpp"
#include "support/inputs.hpp"
#include "support/pattern_mask.hpp"
#include "support/stacks.hpp"

#include <slicesort/merge_attention.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

using doubles = std::vector<double>;

struct result {
  doubles y, state, dq, dk, dv;
};
// Returns the largest difference of two lists; 1e300 if it is not finite.
double max_difference(doubles const& a, doubles const& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (decode(a[i]).kind == number_class::minus_infinity && same_bits(a[i], b[i])) continue;
    double const difference = std::fabs(a[i] - b[i]);
    if (!(difference <= 1e300)) return 1e300;
    largest = std::max(largest, difference);
  }
  return largest;
}
void check_near(result const& actual, result const& expected) {
  CHECK(max_difference(actual.y, expected.y) < 1e-12);
  CHECK(max_difference(actual.state, expected.state) < 1e-11);  // sums of up to 100 values near 1
  CHECK(max_difference(actual.dq, expected.dq) < 1e-12);
  CHECK(max_difference(actual.dk, expected.dk) < 1e-12);
  CHECK(max_difference(actual.dv, expected.dv) < 1e-12);
}

// A range of keys, common to all heads and samples.
struct key_slice {
  index_t first, count;
};

class attention {
 public:
  index_t const queries, keys;
  static constexpr index_t batch = 2, heads = 3, channels = 8, values = 6;
  doubles q, k, v, dy;

  attention(index_t query_count, index_t key_count, std::uint64_t seed)
      : queries(query_count), keys(key_count) {
    random_stream random(seed);
    auto const fill = [&](extents4 e) {
      doubles list(static_cast<std::size_t>(e.size()));
      for (double& value : list) value = random.normal();
      return list;
    };
    q = fill(q_extents()), k = fill(k_extents()), v = fill(v_extents()), dy = fill(y_extents());
  }

  extents4 q_extents() const { return {batch, heads, queries, channels}; }
  extents4 k_extents() const { return {batch, heads, keys, channels}; }
  extents4 v_extents() const { return {batch, heads, keys, values}; }
  extents4 y_extents() const { return {batch, heads, queries, values}; }
  extents4 state_extents() const { return {batch, heads, queries, 2}; }
  result make_zeros() const {
    auto const zeros = [](extents4 e) { return doubles(static_cast<std::size_t>(e.size())); };
    return {zeros(y_extents()), zeros(state_extents()), zeros(q_extents()), zeros(k_extents()),
            zeros(v_extents())};
  }

  // Computes y and the state of one part.
  template <class Exec, class Mask>
  void forward(Exec const& exec, Mask mask, key_slice s, result& r) const {
    ss::softmax_attention<Mask> const op(mask);
    ss::scratch memory;
    op.forward(exec, inputs(s), tensor4<double>(r.y.data(), y_extents()),
               {tensor4<double>(r.state.data(), state_extents())}, memory);
  }
  // Adds the gradients of one part to `r`, computed from the y and the state in `r`.
  template <class Exec, class Mask>
  void backward(Exec const& exec, Mask mask, key_slice s, result& r) const {
    backward(exec, mask, s, r.y, r.state, r);
  }
  template <class Exec, class Mask>
  void backward(Exec const& exec, Mask mask, key_slice s, doubles const& y, doubles const& state,
                result& r) const {
    ss::softmax_attention<Mask> const op(mask);
    auto const qkv = inputs(s);
    ss::scratch memory;
    op.backward(exec, tensor4<double const>(dy.data(), y_extents()), qkv,
                tensor4<double const>(y.data(), y_extents()),
                {tensor4<double const>(state.data(), state_extents())},
                {tensor4<double>(r.dq.data(), q_extents()), slice(r.dk, k_extents(), s),
                 slice(r.dv, v_extents(), s)},
                memory, {ss::grad_mode::accumulate});
  }
  template <class Exec, class Mask>
  result run_on_all_keys(Exec const& exec, Mask mask) const {
    result r = make_zeros();
    forward(exec, mask, {0, keys}, r);
    backward(exec, mask, {0, keys}, r);
    return r;
  }
  // Merges y and state of all parts into the first part.
  template <class Exec>
  result merge(Exec const& exec, std::vector<result> parts) const {
    std::vector<ss::attention_part<double>> views;
    for (result& part : parts)
      views.push_back({tensor4<double>(part.y.data(), y_extents()),
                       tensor4<double>(part.state.data(), state_extents())});
    ss::merge_attention{}.forward(exec, views, tensor4<double>(parts[0].y.data(), y_extents()),
                                  {tensor4<double>(parts[0].state.data(), state_extents())});
    result r = make_zeros();
    r.y = parts[0].y, r.state = parts[0].state;
    return r;
  }

 private:
  template <class T>
  static auto slice(T& list, extents4 e, key_slice s)
      -> tensor4<std::remove_pointer_t<decltype(list.data())>> {
    return {list.data() + s.first * e.channels,
            {e.batch, e.heads, s.count, e.channels},
            {e.heads * e.length * e.channels, e.length * e.channels, e.channels, 1}};
  }
  ss::attention_inputs<double> inputs(key_slice s) const {
    return {{q.data(), q_extents()}, slice(k, k_extents(), s), slice(v, v_extents(), s), {}};
  }
};

// Splits keys into `ranks` slices with lengths proportional to 1, 2, 3, ..
std::vector<key_slice> uneven_slices(index_t keys, index_t ranks) {
  std::vector<key_slice> slices;
  index_t first = 0;
  for (index_t r = 0; r < ranks; ++r) {
    index_t const last = keys * (r + 1) * (r + 2) / (ranks * (ranks + 1));
    slices.push_back({first, last - first});
    first = last;
  }
  return slices;
}
// Full or causal attention over ranks, each with one slice of the keys.
template <class Exec>
result run_by_ranks(Exec const& exec, attention const& a, std::vector<key_slice> const& slices,
                    bool causal) {
  auto const mask = [&](key_slice s) {  // query i sees keys up to i
    return causal ? pattern_mask{mask_kind::causal, -s.first, 0} : pattern_mask{};
  };
  std::vector<result> parts;
  for (key_slice s : slices) {
    parts.push_back(a.make_zeros());
    a.forward(exec, mask(s), s, parts.back());
  }
  result r = a.merge(exec, parts);
  for (key_slice s : slices) a.backward(exec, mask(s), s, r);
  return r;
}

// Masks of the keys inside and outside of a window.
struct inside_window {
  index_t left_keys, right_keys;
  bool allows(index_t query, index_t key) const {
    return query - left_keys <= key && key <= query + right_keys;
  }
};
struct outside_window {
  inside_window window;
  bool allows(index_t query, index_t key) const { return !window.allows(query, key); }
};

}  // namespace

TEST_CASE("two halves of the keys") {
  attention const a(33, 70, 1);
  for_each_backend_once(1, [&](auto const& exec) {
    CAPTURE(describe_exec(exec));
    check_near(run_by_ranks(exec, a, {{0, 35}, {35, 35}}, false),
               a.run_on_all_keys(exec, pattern_mask{}));
  });
}

TEST_CASE("ring attention over ranks with uneven shares") {
  attention const a(50, 100, 2);
  for (bool causal : {false, true})
    for (index_t ranks : {1, 2, 3, 5})
      for_each_backend_once(static_cast<std::uint64_t>(ranks), [&](auto const& exec) {
        CAPTURE(describe_exec(exec));
        CAPTURE(ranks);
        CAPTURE(causal);
        auto const mask = causal ? pattern_mask{mask_kind::causal, 0, 0} : pattern_mask{};
        check_near(run_by_ranks(exec, a, uneven_slices(100, ranks), causal),
                   a.run_on_all_keys(exec, mask));
      });
}

TEST_CASE("a rank without keys changes nothing") {
  attention const a(20, 40, 3);
  for_each_backend_once(1, [&](auto const& exec) {
    CAPTURE(describe_exec(exec));
    auto const with_empty_ranks =
        run_by_ranks(exec, a, {{0, 0}, {0, 15}, {15, 0}, {15, 25}, {40, 0}}, false);
    auto const without_empty_ranks = run_by_ranks(exec, a, {{0, 15}, {15, 25}}, false);
    CHECK(same_bits(with_empty_ranks.y, without_empty_ranks.y));
    CHECK(same_bits(with_empty_ranks.state, without_empty_ranks.state));
    CHECK(same_bits(with_empty_ranks.dq, without_empty_ranks.dq));
    CHECK(same_bits(with_empty_ranks.dk, without_empty_ranks.dk));
    CHECK(same_bits(with_empty_ranks.dv, without_empty_ranks.dv));
  });
}

TEST_CASE("a window merged with the remaining keys") {
  attention const a(60, 64, 4);
  ss::exec::host const exec{2};
  for (inside_window window :
       {inside_window{3, 5}, inside_window{0, 0}, inside_window{100, 100}, inside_window{-70, 0}}) {
    std::vector<result> parts{a.make_zeros(), a.make_zeros()};
    a.forward(exec, window, {0, 64}, parts[0]);
    a.forward(exec, outside_window{window}, {0, 64}, parts[1]);
    result r = a.merge(exec, parts);
    a.backward(exec, window, {0, 64}, r);
    a.backward(exec, outside_window{window}, {0, 64}, r);
    check_near(r, a.run_on_all_keys(exec, pattern_mask{}));
  }
}

TEST_CASE("two adjacent windows merge into a larger one") {
  attention const a(40, 44, 5);
  pattern_mask const left_window{mask_kind::window, 6, 0}, right_window{mask_kind::window, -1, 3},
      both{mask_kind::window, 6, 3};
  for_each_backend_once(2, [&](auto const& exec) {
    CAPTURE(describe_exec(exec));
    std::vector<result> parts{a.make_zeros(), a.make_zeros()};
    a.forward(exec, left_window, {0, 44}, parts[0]);
    a.forward(exec, right_window, {0, 44}, parts[1]);
    result r = a.merge(exec, parts);
    a.backward(exec, left_window, {0, 44}, r);
    a.backward(exec, right_window, {0, 44}, r);
    check_near(r, a.run_on_all_keys(exec, both));
  });
}

TEST_CASE("queries without visible keys have zero gradients") {
  attention const a(30, 20, 6);
  ss::exec::host const exec;
  // Query i sees keys up to i - 10.
  std::vector<key_slice> const slices{{0, 8}, {8, 12}};
  std::vector<result> parts;
  for (key_slice s : slices) {
    parts.push_back(a.make_zeros());
    a.forward(exec, pattern_mask{mask_kind::causal, -10 - s.first, 0}, s, parts.back());
  }
  result r = a.merge(exec, parts);
  for (key_slice s : slices)
    a.backward(exec, pattern_mask{mask_kind::causal, -10 - s.first, 0}, s, r);
  check_near(r, a.run_on_all_keys(exec, pattern_mask{mask_kind::causal, -10, 0}));
  for (std::size_t c = 0; c < 10 * 8; ++c) CHECK(r.dq[c] == 0);
}

// Running backward of each part with its own y and state is a mistake in published libraries
// (NATTEN issue 274).
TEST_CASE("gradients from the parts' own states are wrong") {
  attention const a(33, 70, 7);
  ss::exec::host const exec;
  result const expected = a.run_on_all_keys(exec, pattern_mask{});
  for (bool uses_part_state : {false, true}) {
    result r = a.make_zeros();
    std::vector<result> parts{a.make_zeros(), a.make_zeros()};
    key_slice const slices[] = {{0, 35}, {35, 35}};
    for (std::size_t i : {0u, 1u}) a.forward(exec, pattern_mask{}, slices[i], parts[i]);
    result const merged = a.merge(exec, parts);
    for (std::size_t i : {0u, 1u})
      a.backward(exec, pattern_mask{}, slices[i], uses_part_state ? merged.y : parts[i].y,
                 uses_part_state ? parts[i].state : merged.state, r);
    CHECK(max_difference(merged.y, expected.y) < 1e-12);
    CHECK(max_difference(r.dq, expected.dq) > 1e-3);
    CHECK(max_difference(r.dk, expected.dk) > 1e-3);
  }
}

// Golden values from the specification. basic.cpp tests y and the state.
TEST_CASE("golden gradients") {
  doubles const q{1, 0, 0, 1, 1, 1, -1, 2}, dy{1, 2, 0, 1, -1, 1, 2, 0};
  doubles const k{1, 1, 0, 2, -1, 1, 1, -1, 0, 1}, v{1, 0, 0, 1, 2, -1, 2, 2, -1, 0};
  doubles const expected_y{0.9268904424, 0.696740447,  0.4716608191, 0.2872855022,
                           0.4965586459, 0.4172509761, 0.4707442655, 0.2796894603};
  doubles const expected_dq{0.6401294653,  -1.6460392226, 0.190000879,   0.0821887083,
                            -0.0454130894, 0.2470102898,  -0.5159616976, -0.3737656374};
  extents4 const e{1, 1, 4, 2};
  ss::softmax_attention<pattern_mask> const op;
  for_each_backend_once(3, [&](auto const& exec) {
    CAPTURE(describe_exec(exec));
    doubles y[2], state[2], dq(8), dk(10), dv(10);
    ss::scratch memory;
    auto const inputs = [&](int part) {
      extents4 const keys{1, 1, part == 0 ? 3 : 2, 2};
      return ss::attention_inputs<double>{
          {q.data(), e}, {k.data() + 6 * part, keys}, {v.data() + 6 * part, keys}, {}};
    };
    std::vector<ss::attention_part<double>> parts;
    for (int part : {0, 1}) {
      auto const i = static_cast<std::size_t>(part);
      y[i].resize(8), state[i].resize(8);
      tensor4<double> const part_y(y[i].data(), e), part_state(state[i].data(), e);
      op.forward(exec, inputs(part), part_y, {part_state}, memory);
      parts.push_back({part_y, part_state});
    }
    doubles merged_y(8), merged_state(8);
    tensor4<double> const y_view(merged_y.data(), e), state_view(merged_state.data(), e);
    ss::merge_attention{}.forward(exec, parts, y_view, {state_view});
    CHECK(max_difference(merged_y, expected_y) < 6e-11);
    for (int part : {0, 1}) {
      extents4 const keys{1, 1, part == 0 ? 3 : 2, 2};
      op.backward(exec, tensor4<double const>(dy.data(), e), inputs(part), y_view, {state_view},
                  {tensor4<double>(dq.data(), e), tensor4<double>(dk.data() + 6 * part, keys),
                   tensor4<double>(dv.data() + 6 * part, keys)},
                  memory, {ss::grad_mode::accumulate});
    }
    CHECK(max_difference(dq, expected_dq) < 6e-11);
  });
}
