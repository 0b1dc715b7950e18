// SPDX-License-Identifier: Apache-2.0
// A sequence that is fed to causal linear_attention in pieces. Any cut gives the bits of one call
// in y, in the states and in dq. The other gradients sum in another order where a cut is not a
// multiple of 64 rows, and have the error bounds of one call.
#define SLICESORT_TEST_EVERY_BACKEND
#include "pieces.hpp"
#include "oracle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

using boundaries = std::vector<index_t>;

boundaries single_rows(index_t length) {
  boundaries list;
  for (index_t n = 0; n <= length; ++n) list.push_back(n);
  return list;
}
boundaries random_cuts(index_t length, std::uint64_t seed) {
  random_stream random(seed);
  boundaries list{0};
  while (list.back() < length) {
    index_t const sizes[] = {1, 63, 64, 65, static_cast<index_t>(random.below(40))};
    list.push_back(std::min(length, list.back() + sizes[random.below(5)]));
  }
  return list;
}
bool cuts_tiles(boundaries const& list) {
  for (std::size_t i = 1; i + 1 < list.size(); ++i)
    if (list[i] % 64 != 0) return true;
  return false;
}

// True if the suite tests case `i` with T: float has all cases, and the other types a third each,
// since the states of every type are sums in the accumulator type, cut at the same rows.
template <class T>
bool is_tested_with(std::size_t i) {
  if (full_suite() || std::is_same_v<T, float>) return true;
  return i % 3 == (std::is_same_v<T, double> ? 0 : std::is_same_v<T, float16> ? 1 : 2);
}

// Returns a causal problem. With 16-bit types, dw of pieces is rounded once per piece and not
// tested.
template <class T>
linear_problem<T> make_problem(linear_size size, std::size_t feature, std::uint64_t seed,
                               boundaries const& lengths) {
  auto problem = random_linear<T>(size, feature, seed % divisor_kinds, true, seed);
  problem.lengths = problem.query_lengths = lengths;
  problem.mode = ss::grad_mode::overwrite;
  bool const tests_dw = std::is_same_v<T, ss::detail::accumulator_t<T>>;
  problem.gradients = tests_dw ? linear_all_gradients : linear_dq | linear_dk | linear_dv;
  return problem;
}

template <class T>
void check_pieces(linear_problem<T> const& problem, std::vector<boundaries> const& cuts) {
  CAPTURE(problem.describe());
  auto const expected = compute_expected(problem);
  for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const whole = run_linear(problem, exec);
    auto const one_piece = run_pieces(problem, exec, {0, problem.size.queries});
    CHECK(one_piece.rows.wrong == "");
    CHECK(same_results(one_piece.rows, whole));
    for (boundaries const& list : cuts) {
      CAPTURE(list);
      auto const pieces = run_pieces(problem, exec, list);
      CHECK(same_bits(pieces.rows.y, whole.y));
      CHECK(same_bits(pieces.last, one_piece.last));
      CHECK(same_bits(pieces.rows.dq, whole.dq));
      CHECK(check_linear(problem, expected, pieces.rows) == "");
      if (cuts_tiles(list)) continue;
      CHECK(same_bits(pieces.rows.dk, whole.dk));
      CHECK(same_bits(pieces.rows.dv, whole.dv));
      CHECK(same_bits(pieces.dinitial, one_piece.dinitial));
    }
  });
}

}  // namespace

TEST_CASE_TEMPLATE("pieces have the results of the whole", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 400;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature) {
    if (feature == feature_index::cosine_reweighted) continue;  // has no states
    ++seed;
    if (is_tested_with<T>(feature))
      check_pieces(
          make_problem<T>({2, 2, 150, 150, 5, 6}, feature, seed, {}),
          {{0, 64, 128, 150}, {0, 63, 65, 150}, {0, 0, 1, 75, 150}, random_cuts(150, seed)});
    if (is_tested_with<T>(feature + 1))
      check_pieces(make_problem<T>({3, 2, 131, 131, 3, 17}, feature, seed + 50, {131, 64, 40}),
                   {{0, 50, 131}, {0, 64, 131}, random_cuts(131, seed + 50)});
    // Grouped heads share the states of their head of k.
    if (is_tested_with<T>(feature + 2))
      check_pieces(make_problem<T>({2, 4, 131, 131, 3, 5, 6, 2}, feature, seed + 90, {131, 64}),
                   {{0, 50, 131}, {0, 64, 131}});
  }
}

TEST_CASE_TEMPLATE("one row at a time", T, float, double, float16, bfloat16) {
  std::size_t i = 0;
  for (std::size_t feature :
       {feature_index::elu_plus_one, feature_index::random_exp, feature_index::random_fourier})
    if (is_tested_with<T>(i++))
      check_pieces(make_problem<T>({1, 2, 67, 67, 4, 5}, feature, 500 + feature, {}),
                   {single_rows(67)});
}

// The state of a sequence that starts with zeros is a tensor of zeros.
TEST_CASE_TEMPLATE("a state of zeros starts a sequence", T, float, double) {
  for (std::size_t feature : {feature_index::relu, feature_index::random_exp}) {
    auto const problem = make_problem<T>({2, 1, 70, 70, 5, 3}, feature, 520 + feature, {});
    for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const expected = run_pieces(problem, exec, {0, 70});
      with_causal_operator(problem, [&](auto const& op) {
        linear_pieces<T, std::decay_t<decltype(op)>> pieces(problem, op, exec, {0, 70});
        linear_state<T> zeros(static_cast<std::size_t>(pieces.state_extents().size()));
        pieces.forward(zeros);
        pieces.backward();
        CHECK(same_results(pieces.results().rows, expected.rows));
        CHECK(same_bits(pieces.results().last, expected.last));
      });
    });
  }
}
