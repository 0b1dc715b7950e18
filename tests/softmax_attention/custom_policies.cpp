// SPDX-License-Identifier: Apache-2.0
// User-defined policies of softmax_attention: mask types, matrix products, element types.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"
#include "counting_gemm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

struct custom_half {
  float16 value;

  custom_half() = default;
  explicit custom_half(float v) : value(v) {}
  explicit operator float() const { return static_cast<float>(value); }
};

}  // namespace

template <>
struct slicesort::dtype_traits<custom_half> : slicesort::dtype_traits<slicesort::float16> {};

namespace {

template <class T>
struct output_and_gradients {
  std::vector<T> y, dq, dk, dv;
};

// Runs forward and backward on the host, with contiguous tensors of an element type of the same
// format.
template <class E, class Op, class T>
output_and_gradients<T> run_contiguous(Op const& op, attention_problem<T> const& p) {
  auto const to_element = [](std::vector<T> const& elements) {
    std::vector<E> converted(elements.size());
    std::memcpy(static_cast<void*>(converted.data()), elements.data(), elements.size() * sizeof(T));
    return converted;
  };
  auto const from_element = [](std::vector<E> const& elements) {
    std::vector<T> converted(elements.size());
    std::memcpy(static_cast<void*>(converted.data()), elements.data(), elements.size() * sizeof(T));
    return converted;
  };
  std::vector<E> const q = to_element(p.q), k = to_element(p.k), v = to_element(p.v),
                       dy = to_element(p.dy);
  std::vector<E> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size());
  using State = typename slicesort::detail::attention_traits<
      std::decay_t<decltype(op.algorithm())>>::template state<E>;
  extents4 const saved = op.saved_extents(p.size.q(), p.size.v());
  std::vector<State> state(static_cast<std::size_t>(saved.size()));
  tensor4<State> const states(state.data(), saved);
  ss::exec::host const exec;
  guarded_workspace scratch(op.template workspace_bytes<E>(exec, p.size.q(), p.size.v()));
  ss::attention_inputs<E> const in{
      {q.data(), p.size.q()}, {k.data(), p.size.k()}, {v.data(), p.size.v()}, {}};
  tensor4<E> const out(y.data(), p.size.y());
  op.forward(exec, in, out, {states}, scratch.get(), p.options());
  op.backward(exec, tensor4<E const>(dy.data(), p.size.y()), in, out, {states},
              {{dq.data(), p.size.q()}, {dk.data(), p.size.k()}, {dv.data(), p.size.v()}, {}},
              scratch.get(), ss::lengths(view_of(p.lengths), view_of(p.query_lengths)));
  CHECK(scratch.red_zones_intact());
  return {from_element(y), from_element(dq), from_element(dk), from_element(dv)};
}

double max_difference(std::vector<float> const& a, std::vector<float> const& b) {
  double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    result = max_or_nan(result, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return result;
}

// Compares a mask type with the same mask selected at run time.
template <class Mask>
void check_mask_type(Mask mask, pattern_mask same_mask) {
  attention_size const size{1, 2, 70, 81, 8, 9};
  auto p = normal_attention<float>(size, same_mask, 30);
  p.lengths = {77};
  p.query_lengths = {69};
  auto const check = [&](auto algorithm) {
    auto const expected = run_contiguous<float>(p.op(algorithm), p);
    auto const actual = run_contiguous<float>(
        ss::softmax_attention<Mask, decltype(algorithm)>(mask, p.scale, algorithm), p);
    CHECK(max_difference(actual.y, expected.y) <= 1e-5);
    CHECK(max_difference(actual.dq, expected.dq) <= 1e-5);
    CHECK(max_difference(actual.dk, expected.dk) <= 1e-5);
    CHECK(max_difference(actual.dv, expected.dv) <= 1e-5);
  };
  check(ss::streaming{});
  check(ss::materialized<>{});
}

// A mask without a range.
struct every_third {
  bool allows(index_t query, index_t key) const {
    return (query < key ? key - query : query - key) % 3 == 0;
  }
};

}  // namespace

TEST_CASE("mask types match the same masks selected at run time" *
          doctest::skip(!testing(backend_kind::host))) {
  namespace mask = ss::mask;
  check_mask_type(mask::full{}, {mask_kind::full, 0, 0});
  check_mask_type(mask::causal{-3}, {mask_kind::causal, -3, 0});
  check_mask_type(mask::block_local{16}, {mask_kind::block_local, 16, 0});
  check_mask_type(mask::both{mask::causal{}, mask::strided{5}}, {mask_kind::causal_strided, 0, 5});
  check_mask_type(every_third{}, {mask_kind::strided, 3, 0});
  check_mask_type(mask::both{mask::window{70, 2}, mask::window{4, 90}}, {mask_kind::window, 4, 2});
}

TEST_CASE_TEMPLATE("a user-defined product", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 500;
  for (attention_size size :
       {attention_size{1, 2, 33, 40, 8, 8}, attention_size{2, 1, 17, 9, 5, 12},
        attention_size{1, 1, 1, 20, 3, 4}, attention_size{2, 2, 0, 5, 4, 3},
        attention_size{1, 3, 12, 12, 0, 6}, attention_size{2, 6, 19, 21, 8, 5, 3}})
    for (int rejection_period : {0, 1, 2})
      for (int layout : {0, 3}) {
        solved_attention<T> const solved(random_attention<T>(size, ++seed));
        for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
          CAPTURE(describe_exec(exec));
          gemm_log log;
          ss::materialized<counting_gemm> const custom{counting_gemm{&log, rejection_period}};
          CHECK(check_attention(solved, exec, custom, memory_layout{layout}) == "");
          CHECK(log.all_valid.load());
          CHECK(log.accepted.load() <= log.calls.load());
          if (rejection_period == 1) {
            CHECK(log.accepted.load() == 0);
            CHECK(same_results(run_attention(solved.problem, exec, custom),
                               run_attention(solved.problem, exec, ss::materialized<>{})));
          }
          // A GPU call does not multiply on the host. Otherwise the user-defined product computes
          // the two products of each forward, unless kernels would have to read lengths first.
          bool const has_products = solved.problem.lengths.empty() &&
                                    solved.problem.query_lengths.empty() && size.queries > 0 &&
                                    size.channels > 0;
          if (testing(backend_kind::cuda))
            CHECK(log.calls.load() == 0);
          else if (sizeof(T) > 2 && has_products && layout == 0)
            CHECK(log.calls.load() >= 4);
        });
      }
}

TEST_CASE("a user-defined element type" * doctest::skip(!testing(backend_kind::host))) {
  auto p = normal_attention<float16>({1, 2, 20, 37, 8, 5}, {mask_kind::causal, 10, 0}, 600);
  auto const check = [&](auto algorithm) {
    auto const custom = run_contiguous<custom_half>(p.op(algorithm), p);
    auto const library = run_contiguous<float16>(p.op(algorithm), p);
    CHECK(same_bits(custom.y, library.y));
    CHECK(same_bits(custom.dq, library.dq));
    CHECK(same_bits(custom.dk, library.dk));
    CHECK(same_bits(custom.dv, library.dv));
    CHECK(decode(custom.y[3]).kind == number_class::finite);
  };
  check(ss::streaming{});
  check(ss::materialized<>{});
}
