// SPDX-License-Identifier: Apache-2.0
// linear_attention on heads that are adjacent within the rows of a tensor, as projections produce
// them. The bits must equal those of contiguous heads, for any number of interleaved heads, and for
// large outputs, which bypass the caches.
#define SLICESORT_TEST_EVERY_BACKEND
#include "oracle.hpp"

#include <slicesort/view.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

// A tensor `[batch, length, heads * channels]` whose memory starts `misalignment` bytes after the
// start of a cache line.
template <class T>
class joined_heads {
 public:
  joined_heads(extents4 heads, std::size_t misalignment)
      : heads_(heads), memory_(static_cast<std::size_t>(heads.size()) * sizeof(T), misalignment) {}
  joined_heads(std::vector<T> const& values, extents4 heads, std::size_t misalignment)
      : joined_heads(heads, misalignment) {
    for_each_position(heads, [&](index_t b, index_t h, index_t i, index_t c) {
      view()(b, h, i, c) = values[linear_size::at(heads, b, h, i, c)];
    });
  }

  tensor4<T> view() {
    extents3 const e{heads_.batch, heads_.length, heads_.heads * heads_.channels};
    return ss::split_heads(tensor3<T>(static_cast<T*>(memory_.get().data), e), heads_.heads);
  }
  // Returns the values as `[batch, heads, length, channels]`.
  std::vector<T> values() {
    std::vector<T> contiguous(static_cast<std::size_t>(heads_.size()));
    for_each_position(heads_, [&](index_t b, index_t h, index_t i, index_t c) {
      contiguous[linear_size::at(heads_, b, h, i, c)] = view()(b, h, i, c);
    });
    return contiguous;
  }
  bool red_zones_intact() const { return memory_.red_zones_intact(); }

 private:
  extents4 heads_;
  guarded_workspace memory_;
};

template <class Op, class T>
void check_joined_heads(Op const& op, linear_problem<T> const& problem,
                        linear_results<T> const& expected, any_exec const& exec,
                        std::size_t misalignment) {
  CAPTURE(problem.describe());
  CAPTURE(describe_exec(exec));
  CAPTURE(misalignment);
  linear_size const& s = problem.size;
  joined_heads<T> q(problem.q, s.q(), misalignment), k(problem.k, s.k(), misalignment),
      v(problem.v, s.v(), misalignment), dy(problem.dy, s.y(), misalignment),
      y(s.y(), misalignment), dq(s.q(), misalignment), dk(s.k(), misalignment),
      dv(s.v(), misalignment);
  std::vector<T> dw(problem.w.size());
  extents3 const w_extents = problem.w_extents();
  tensor3<T const> const w(problem.w.data(), w_extents);
  guarded_workspace scratch(
      op.template workspace_bytes<T>(exec, s.q(), s.v(), w_extents, w_extents));
  op.forward(exec, {q.view(), k.view(), v.view(), w}, y.view(), scratch.get(), problem.options());
  op.backward(exec, dy.view(), {q.view(), k.view(), v.view(), w},
              {dq.view(), dk.view(), dv.view(), {dw.data(), w_extents}}, scratch.get(),
              problem.backward_options());
  CHECK(same_bits(y.values(), expected.y));
  CHECK(same_bits(dq.values(), expected.dq));
  CHECK(same_bits(dk.values(), expected.dk));
  CHECK(same_bits(dv.values(), expected.dv));
  CHECK(same_bits(dw, expected.dw));
  CHECK(scratch.red_zones_intact());
  for (joined_heads<T> const* output : {&y, &dq, &dk, &dv}) CHECK(output->red_zones_intact());
}

// Calls f(op, problem) for one feature map of every kind that the host implements separately.
template <class T, class F>
void for_each_feature(linear_size size, std::uint64_t seed, F const& f) {
  auto const run = [&](auto feature, auto direction) {
    constexpr bool causal = std::is_same_v<decltype(direction), ss::direction::causal>;
    ss::linear_attention const op{feature, ss::divisor::sum_plus{}, direction};
    f(op, normal_linear<T>(size, feature, ss::divisor::sum_plus{}, causal, ++seed));
  };
  auto const run_directions = [&](auto feature) {
    run(feature, ss::direction::noncausal{});
    run(feature, ss::direction::causal{});
  };
  run_directions(ss::feature::elu_plus_one{});
  run_directions(ss::feature::cosine_reweighted{});
  run_directions(ss::feature::random_exp{});
  run_directions(ss::feature::random_fourier{});
}

}  // namespace

// Six heads are more than the host interleaves. Three threads split them into different groups than
// one thread does.
TEST_CASE_TEMPLATE("adjacent heads in one tensor", T, float, double, bfloat16) {
  for (linear_size size : {linear_size{2, 3, 11, 11, 4, 5}, linear_size{2, 6, 150, 150, 4, 5}})
    for_each_feature<T>(size, 141, [&](auto const& op, linear_problem<T> problem) {
      problem.lengths = {size.keys, size.keys / 2};
      problem.query_lengths = {size.queries - 1, size.queries};
      auto const expected = run_linear(problem, ss::exec::host{});
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        check_joined_heads(op, problem, expected, exec, 0);
      });
      if (!testing(backend_kind::host)) return;
      for (unsigned threads : {1U, 3U, 5U})
        check_joined_heads(op, problem, expected, ss::exec::host{threads}, 0);
    });
}

// y and dv have at least a megabyte, aligned to cache lines or not.
TEST_CASE("large outputs" * doctest::skip(!testing(backend_kind::host))) {
  for_each_feature<float>({1, 4, 1100, 1100, 16, 64}, 241,
                          [&](auto const& op, auto const& problem) {
                            if (problem.feature.index() != 0)
                              return;  // all feature maps store results in the same way
                            auto const expected = run_linear(problem, ss::exec::host{});
                            for (ss::isa set : available_isas())
                              check_joined_heads(op, problem, expected, ss::exec::host{1, set}, 0);
                            check_joined_heads(op, problem, expected, ss::exec::host{}, 16);
                          });
}
