// SPDX-License-Identifier: Apache-2.0
// matmul: the bits of the documented sums on the host, error bounds on the block executor, shared
// and summed matrices, the caller's BLAS, and rejected calls.
#include "softmax_attention/counting_gemm.hpp"
#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/executors.hpp"
#include "support/inputs.hpp"
#if !defined(SLICESORT_TEST_HOST_ONLY)
#  include "operators/block_kernels.hpp"

#  include <slicesort/detail/matmul/device.hpp>
#endif

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace support;
using ss::extents4, ss::strides4, ss::tensor4;
using ss::detail::accumulator_t;

namespace {

// A tensor [batch, heads, rows, columns] whose axes are in the memory order `axes`, with gaps.
template <class T>
struct matrices {
  extents4 shape;
  strides4 strides{};
  std::vector<T> memory;

  matrices(extents4 e, std::uint64_t seed, std::array<int, 4> axes = {0, 1, 2, 3}, index_t gap = 0)
      : shape(e) {
    index_t* const by_axis[] = {&strides.batch, &strides.heads, &strides.length, &strides.channels};
    index_t const extents[] = {e.batch, e.heads, e.length, e.channels};
    index_t stride = gap + 1;
    for (std::size_t i = 4; i-- > 0;) {
      auto const axis = static_cast<std::size_t>(axes[i]);
      *by_axis[axis] = stride;
      stride *= extents[axis] + gap;
    }
    random_stream random(seed);
    for (index_t i = 0; i <= stride; ++i)
      memory.push_back(static_cast<T>(static_cast<accumulator_t<T>>(2 * random.unit() - 1)));
  }
  tensor4<T> view() { return {memory.data(), shape, strides}; }
  tensor4<T const> view() const { return {memory.data(), shape, strides}; }
};

template <class T>
struct problem {
  matrices<T> a, b, c;
  double scale = 1;
  ss::grad_mode mode = ss::grad_mode::overwrite;
};

// Calls f(sum, old, magnitude, i) for each element of c: the sum in the documented order, the old
// element, the sum of magnitudes, and the indices.
template <class T, class F>
void for_each_sum(problem<T> const& p, F const& f) {
  using A = accumulator_t<T>;
  extents4 const a = p.a.shape, b = p.b.shape, c = p.c.shape;
  index_t const batch = a.batch == 1 ? b.batch : a.batch, heads = a.heads == 1 ? b.heads : a.heads;
  for (index_t s = 0; s < c.batch; ++s)
    for (index_t h = 0; h < c.heads; ++h)
      for (index_t i = 0; i < c.length; ++i)
        for (index_t j = 0; j < c.channels; ++j) {
          A sum = 0;
          double magnitude = 0;
          for (index_t sample = s; sample < (c.batch == 1 ? batch : s + 1); ++sample)
            for (index_t head = h; head < (c.heads == 1 ? heads : h + 1); ++head)
              for (index_t k = 0; k < a.channels; ++k) {
                auto const x = static_cast<A>(
                    p.a.view()(a.batch == 1 ? 0 : sample, a.heads == 1 ? 0 : head, i, k));
                auto const y = static_cast<A>(
                    p.b.view()(b.batch == 1 ? 0 : sample, b.heads == 1 ? 0 : head, k, j));
                sum = ss::detail::fused_multiply_add(x, y, sum);
                magnitude += std::fabs(static_cast<double>(x * y));
              }
          f(sum * static_cast<A>(p.scale), static_cast<A>(p.c.view()(s, h, i, j)),
            magnitude * std::fabs(p.scale), std::array<index_t, 4>{s, h, i, j});
        }
}
template <class T>
matrices<T> expected(problem<T> const& p) {
  matrices<T> c = p.c;
  for_each_sum(p, [&](auto sum, auto old, double, auto i) {
    c.view()(i[0], i[1], i[2], i[3]) = ss::detail::rounded<T>(
        p.mode == ss::grad_mode::accumulate ? old + ss::detail::rounded<decltype(old)>(sum) : sum);
  });
  return c;
}

template <class T, class Exec>
matrices<T> run(problem<T> const& p, Exec const& exec) {
  matrices<T> c = p.c;
  guarded_workspace memory(ss::matmul<>::workspace_bytes<T>(exec, p.a.shape, p.b.shape));
  ss::matmul(p.scale).forward(exec, p.a.view(), p.b.view(), c.view(), memory.get(), p.mode);
  CHECK(memory.red_zones_intact());
  return c;
}
template <class T>
void check_host(problem<T> const& p) {
  auto const bits = expected(p).memory;
  for (ss::isa set : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512})
    if (ss::detail::is_isa_available(set))
      CHECK(same_bits(run(p, ss::exec::host{3, set}).memory, bits));
}

// Checks |result - exact| <= (terms + 2) eps * sum of magnitudes, in the accumulator's type, and
// one rounding to T.
template <class T>
void check_blocks([[maybe_unused]] problem<T> const& p) {
#if !defined(SLICESORT_TEST_HOST_ONLY)
  double const eps = std::numeric_limits<accumulator_t<T>>::epsilon(),
               element_eps = sizeof(T) == 2 ? 0x1p-8 : eps;
  auto const c = run(p, block_exec{});
  auto const terms = static_cast<double>(p.a.shape.channels * p.a.shape.batch * p.a.shape.heads *
                                         p.b.shape.batch * p.b.shape.heads);
  double worst = 0;
  for_each_sum(p, [&](auto sum, auto old, double magnitude, auto i) {
    bool const adds = p.mode == ss::grad_mode::accumulate;
    double const exact = static_cast<double>(sum) + (adds ? static_cast<double>(old) : 0),
                 actual = static_cast<double>(
                     static_cast<accumulator_t<T>>(c.view()(i[0], i[1], i[2], i[3]))),
                 bound = 2 * (terms + 2) * eps * (magnitude + std::fabs(static_cast<double>(old))) +
                         element_eps * std::fabs(exact);
    worst = max_or_nan(worst, std::fabs(actual - exact) / (bound + 1e-300));
  });
  CHECK(worst <= 1);
#endif
}

constexpr std::array<int, 4> orders[] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}};

}  // namespace

#if !defined(SLICESORT_TEST_HOST_ONLY)
#  define ON_BLOCKS(T) SLICESORT_TEST_ON_BLOCKS_FORWARD(slicesort::detail::matmul_op, T)
ON_BLOCKS(float)
ON_BLOCKS(double)
ON_BLOCKS(slicesort::float16)
ON_BLOCKS(slicesort::bfloat16)
#endif

TEST_CASE_TEMPLATE("tiles, and the depth of blocks", T, float, double, float16, bfloat16) {
  for (index_t rows : {1, 9, 128, 131})
    for (index_t columns : {1, 17, 49, 112})
      for (index_t depth : {1, 31, 256, 300}) {
        if ((rows + columns + depth) % 3 == 0 && rows > 1) continue;
        problem<T> const p{
            {{1, 2, rows, depth}, 1}, {{1, 2, depth, columns}, 2}, {{1, 2, rows, columns}, 3}};
        check_host(p);
        if (rows * columns < 3000 && columns < 50) check_blocks(p);
      }
}
TEST_CASE_TEMPLATE("shared and summed matrices, strides, scales, and sums with c", T, float, double,
                   bfloat16) {
  std::uint64_t seed = 0;
  for (extents4 a :
       {extents4{3, 2, 5, 4}, extents4{1, 2, 8, 4}, extents4{3, 1, 8, 4}, extents4{1, 1, 8, 4}})
    for (extents4 b : {extents4{3, 2, 4, 7}, extents4{1, 2, 4, 16}, extents4{3, 1, 4, 16}}) {
      index_t const batch = a.batch == 1 ? b.batch : a.batch,
                    heads = a.heads == 1 ? b.heads : a.heads;
      for (index_t c_batch : {batch, index_t{1}})
        for (index_t c_heads : {heads, index_t{1}})
          for (auto mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
            ++seed;
            index_t const gap = seed % 3 == 0 ? 2 : 0;
            problem<T> const p{
                {a, seed, orders[seed % 4], gap},
                {b, seed + 1, orders[seed / 2 % 4], gap},
                {{c_batch, c_heads, a.length, b.channels}, seed + 2, orders[seed / 4 % 4], gap},
                seed % 2 == 0 ? 1 : -.375,
                mode};
            check_host(p);
            check_blocks(p);
          }
    }
}
TEST_CASE("each of many threads has memory") {
  // 3 matrices of 3 blocks of rows and 3 panels of columns: 27 tasks, all done by the last thread.
  problem<float> const p{{{3, 1, 300, 2}, 1}, {{3, 1, 2, 200}, 2}, {{3, 1, 300, 200}, 3}};
  test_executor executor{test_executor::schedule::backwards};
  CHECK(same_bits(run(p, ss::exec::host_on(executor, 20)).memory, expected(p).memory));
}
#if !defined(__FAST_MATH__)
TEST_CASE_TEMPLATE("every NaN is the canonical one", T, float, double, float16, bfloat16) {
  // Tiles of whole vectors are computed in place, others in the workspace.
  for (extents4 const c : {extents4{1, 1, 8, 48}, extents4{1, 1, 9, 49}})
    for (auto mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
      problem<T> p{{{1, 1, c.length, 5}, 1}, {{1, 1, 5, c.channels}, 2}, {c, 3}, 1, mode};
      using bits = ss::detail::bits_t<T>;
      p.a.memory[0] = ss::detail::bit_cast<T>(
          static_cast<bits>(ss::detail::nan_bits<T> | ss::detail::sign_bit<bits> | 5));
      check_host(p);
    }
}
#endif
TEST_CASE("empty sums are zeros") {
  for (extents4 a : {extents4{2, 2, 8, 0}, extents4{0, 2, 8, 4}, extents4{2, 0, 3, 4}})
    for (auto mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
      problem<float> const p{
          {a, 1}, {{a.batch, a.heads, a.channels, 16}, 2}, {{1, 1, a.length, 16}, 3}, 1, mode};
      check_host(p);
      check_blocks(p);
    }
  for (extents4 c : {extents4{0, 1, 3, 5}, extents4{1, 1, 0, 5}, extents4{1, 1, 3, 0}}) {
    problem<float> const p{{{c.batch, 1, c.length, 2}, 1}, {{1, 1, 2, c.channels}, 2}, {c, 3}};
    check_host(p);
    check_blocks(p);
  }
}
TEST_CASE("gradients are products of transposed views") {
  // The loss is the sum of dc * a b, so da = dc b^T and db = a^T dc, summed where a or b is shared.
  problem<double> const p{{{1, 2, 3, 4}, 1}, {{2, 2, 4, 5}, 2}, {{2, 2, 3, 5}, 3}};
  matrices<double> const dc_values({2, 2, 3, 5}, 4);
  matrices<double> c_values = p.c, da_values(p.a.shape, 5), db_values(p.b.shape, 6);
  auto const a = p.a.view(), b = p.b.view(), dc = dc_values.view();
  auto const c = c_values.view(), da = da_values.view(), db = db_values.view();
  // [snippet]
  ss::matmul<> const op;
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, a, b, c, memory);  // c = a b
  // [/snippet]
  // [snippet gradients]
  op.forward(exec, dc, ss::transposed(b), da, memory);
  op.forward(exec, ss::transposed(a), dc, db, memory);
  // [/snippet gradients]
  CHECK(same_bits(c_values.memory, expected(p).memory));
  auto const check_gradient = [&](bool of_a, matrices<double> const& gradient) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(gradient.shape.size()); ++i) {
      double loss[2];
      for (int side : {0, 1}) {
        auto moved = p;  // the loss is linear in a and in b: differences have no error but rounding
        (of_a ? moved.a : moved.b).memory[i] += side == 0 ? -1 : 1;
        auto const product = run(moved, ss::exec::host{});
        loss[side] = 0;
        for (std::size_t n = 0; n < 60; ++n) loss[side] += product.memory[n] * dc_values.memory[n];
      }
      CHECK(std::fabs((loss[1] - loss[0]) / 2 - gradient.memory[i]) < 1e-13);
    }
  };
  check_gradient(true, da_values);
  check_gradient(false, db_values);
}
TEST_CASE("the caller's BLAS, and products that it declines") {
  for (index_t depth : {1, 4})
    for (int rejection_period : {0, 1, 3})
      for (index_t c_batch : {1, 3})
        for (index_t c_heads : {1, 2}) {
          gemm_log log;
          problem<double> const p{{{3, 2, 5, depth}, 1},
                                  {{3, 1, depth, 7}, 2},
                                  {{c_batch, c_heads, 5, 7}, 3},
                                  .5,
                                  ss::grad_mode::accumulate};
          matrices<double> c = p.c;
          ss::scratch memory;
          ss::matmul const op(counting_gemm{&log, rejection_period}, .5);
          op.forward(ss::exec::host{}, p.a.view(), p.b.view(), c.view(), memory, p.mode);
          CHECK(log.all_valid);
          CHECK(log.calls == (c_heads == 1 ? 6 : 3));
          auto const exact = expected(p);
          for (std::size_t i = 0; i < c.memory.size(); ++i)
            CHECK(std::fabs(c.memory[i] - exact.memory[i]) < 1e-14);
        }
}
TEST_CASE("rejected calls") {
  matrices<float> a({2, 3, 4, 5}, 1), b({2, 3, 5, 6}, 2), c({2, 3, 4, 6}, 3);
  auto const forward = [&](ss::tensor4<float const> left, ss::tensor4<float const> right,
                           ss::tensor4<float> out, double scale = 1) {
    ss::scratch memory;
    ss::matmul const op(scale);
    auto const status = op.forward(ss::exec::dry_run{ss::exec::host{}}, left, right, out, memory);
    return error_message(status, [&] { op.forward(ss::exec::host{}, left, right, out, memory); });
  };
  auto const with_shape = [](auto& m, extents4 e) { return tensor4(m.memory.data(), e); };
  CHECK(forward(a.view(), b.view(), c.view()) == "");
  CHECK(forward(with_shape(a, {2, 3, 4, 4}), b.view(), c.view()) ==
        "matmul.forward: b.depth is 5, must be 4 (a.depth)");
  CHECK(forward(a.view(), with_shape(b, {3, 2, 5, 6}), c.view()) ==
        "matmul.forward: b.batch is 3, must be 2 or 1");
  CHECK(forward(a.view(), b.view(), with_shape(c, {2, 2, 4, 6})) ==
        "matmul.forward: c.heads is 2, must be 3 or 1");
  CHECK(forward(a.view(), b.view(), with_shape(c, {2, 3, 6, 4})) ==
        "matmul.forward: c.rows is 6, must be 4 (a.rows)");
  CHECK(forward(a.view(), b.view(), with_shape(c, {2, 3, 4, 4})) ==
        "matmul.forward: c.columns is 4, must be 6 (b.columns)");
  CHECK(says(forward(a.view(), b.view(), c.view(), INFINITY), "matmul.forward: scale is inf"));
  CHECK(says(forward(a.view(), b.view(), with_shape(a, {2, 1, 4, 6})), "overlap"));
  CHECK(says(error_message([&] {
               (void)ss::matmul<>::workspace_bytes<float>(ss::exec::host{}, a.shape, a.shape);
             }),
             "matmul.workspace_bytes: b.depth is 4, must be 5 (a.depth)"));
}
