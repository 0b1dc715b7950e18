// SPDX-License-Identifier: Apache-2.0
// Tests of permute on random permutations, against two nested loops.
#define SLICESORT_TEST_EVERY_BACKEND
#include "problem.hpp"
#include "support/numbers.hpp"
#include "support/on_line.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace support;

namespace {

template <class Index, class T>
void check_policies_and_layouts(permute_problem<T> const& p, std::uint64_t layout) {
  CAPTURE(p.x.extents().batch);
  CAPTURE(p.x.extents().length);
  CAPTURE(p.x.extents().channels);
  CAPTURE(p.lengths.size());
  check_policies(p, make_runner<Index>(p.perm, layout));
  check_layouts(p, make_runner<Index>(p.perm, layout));
  for (index_t b = 0; b < p.x.extents().batch; ++b) {
    permute_problem<T> const sample = p.sample(b);
    check_policies(sample, make_runner<Index>(sample.perm, layout));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("every shape, policy and layout", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 0;
  for (extents3 e : variant_shapes()) {
    check_policies_and_layouts<std::uint16_t>(make_random_problem<T>(e, seed), seed);
    check_policies_and_layouts<std::uint32_t>(make_random_problem<T>(e, seed + 1), seed);
    check_policies_and_layouts<std::uint16_t>(make_random_problem<T>(e, seed + 2, mixed_lengths(e)),
                                              seed + 1);
    check_policies_and_layouts<std::int32_t>(make_random_problem<T>(e, seed + 3, mixed_lengths(e)),
                                             seed);
    ++seed;
  }
}

// Tasks with several tiles, where the last tile is alone or narrow; rows aligned to cache lines or
// not; large outputs with streaming stores.
TEST_CASE_TEMPLATE("wide and large tensors", T, float, double, float16, bfloat16) {
  auto const check = [](extents3 e, std::size_t offset, std::vector<index_t> const& lengths) {
    auto const p = make_random_problem<T>(e, 5, lengths);
    auto const perm = make_saved<std::uint16_t>(p.perm);
    for (unsigned threads : {1u, 3u}) {
      if (SLICESORT_TEST_TSAN && threads == 1) continue;
      ss::exec::host const exec{threads};
      CAPTURE(e.channels);
      on_line<T> const x(p.x, row_major(e), offset), dy(p.dy, row_major(e), offset);
      on_line<T> y(e, row_major(e), offset), dx(e, row_major(e), offset);
      make_runner<std::uint16_t>(p.perm)(exec, x.view(), y.view(), dy.view(), dx.view(),
                                         view_of(p.lengths));
      CHECK(same_bits(y.contents().elements(), p.y.elements()));
      CHECK(same_bits(dx.contents().elements(), p.dx.elements()));
      CHECK((y.padding_intact() && dx.padding_intact()));
    }
  };
  // ThreadSanitizer needs no other widths: threads share tasks, whose tiles are their own.
  for (index_t c : {256, 257, 289, 320})
    if (!SLICESORT_TEST_TSAN || c == 289) check({1, 300, c}, 0, {});
  check({9, 290, 32}, 0, {290, 1, 0, 257, 33, 31, 256, 290, 5});
  check({2, 700, static_cast<index_t>(1024 / sizeof(T))}, 0, {});
  check({2, 700, static_cast<index_t>(1024 / sizeof(T))}, 1, {699, 350});
  // Longer columns are permuted in transposed tiles: whole batches of rows, and a part of one.
  check({1, 1040, 65}, 0, {});
  check({2, 1049, 33}, 1, {1049, 1030});
}

// Strides, lengths, wide indices and accumulation of transposed tiles.
TEST_CASE_TEMPLATE("layouts of columns longer than a tile in cache", T, float, double) {
  extents3 const e{2, 1027, 35};
  std::vector<index_t> const lengths{1027, 600};
  ss::exec::host const exec;
  auto p = make_random_problem<T>(e, 3, lengths);
  strides3 const strides[] = {row_major(e), strides_in_order(e, {0, 2, 1}, 3)};
  for (std::uint64_t layout : {0u, 1u, 2u})
    for (strides3 const& s : strides) {
      strided_tensor<T> const x(p.x, s, 1), dy(p.dy, s, 2);
      strided_tensor<T> y(e, s, 3), dx(e, s, 4);
      make_runner<std::uint32_t>(p.perm, layout)(exec, x.view(), y.view(), dy.view(), dx.view(),
                                                 view_of(lengths));
      CHECK(same_bits(y.contents().elements(), p.y.elements()));
      CHECK(same_bits(dx.contents().elements(), p.dx.elements()));
      CHECK((y.padding_intact() && dx.padding_intact()));
    }
  p.dy = integer_tensor<T>(e, 20, 2);
  p.compute_expected();
  tensor<T> dx = integer_tensor<T>(e, 20, 3);
  tensor<T> const before = dx;
  auto const perm = make_saved<std::uint16_t>(p.perm);
  ss::permute const op;
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
  op.backward(exec, p.dy.view(), {perm.view()}, dx.view(), scratch.get(),
              {ss::grad_mode::accumulate, view_of(lengths)});
  for_each_position(e, [&](index_t b, index_t n, index_t c) {
    CHECK(dx(b, n, c) == before(b, n, c) + p.dx(b, n, c));
  });
}

// Columns too long for the tiles of a GPU, and the largest length that 16-bit indices support.
TEST_CASE_TEMPLATE("long columns, on every grid, also in place", T, float, double, bfloat16) {
  // `index` has the type of the saved indices.
  auto const check = [](extents3 e, std::vector<index_t> const& lengths, auto index) {
    using Index = decltype(index);
    auto const p = make_random_problem<T>(e, 7, lengths);
    auto const run = make_runner<Index>(p.perm, static_cast<std::uint64_t>(e.channels));
    CAPTURE(e.length);
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      tensor<T> y(e), dx(e), x_and_y = p.x, dy_and_dx = p.dy;
      run(exec, p.x.view(), y.view(), p.dy.view(), dx.view(), view_of(lengths));
      CHECK(same_bits(y.elements(), p.y.elements()));
      CHECK(same_bits(dx.elements(), p.dx.elements()));
      run(exec, x_and_y.view(), x_and_y.view(), dy_and_dx.view(), dy_and_dx.view(),
          view_of(lengths));
      CHECK(same_bits(x_and_y.elements(), p.y.elements()));
      CHECK(same_bits(dy_and_dx.elements(), p.dx.elements()));
    });
  };
  check({2, 5000, 3}, {}, std::uint16_t{});
  check({1, 20000, 2}, {19999}, std::uint16_t{});
  check({1, 65536, 3}, {}, std::uint16_t{});
  check({1, 65537, 3}, {}, std::uint32_t{});
  check({2, 65600, 2}, {65599, 40000}, std::uint32_t{});
}

TEST_CASE_TEMPLATE("accumulation, also in place into dy", T, float, double, float16, bfloat16) {
  extents3 const e{3, 40, 34};
  std::vector<index_t> const lengths{40, 0, 17};
  auto p = make_random_problem<T>(e, 2, lengths);
  p.dy = integer_tensor<T>(e, 20, 2);
  p.compute_expected();
  tensor<T> const before = integer_tensor<T>(e, 20, 3);
  auto const perm = make_saved<std::uint16_t>(p.perm);
  ss::backward_options const accumulate{ss::grad_mode::accumulate, view_of(lengths)};
  for_each_backend(5, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    ss::permute const op;
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
    tensor<T> dx = before, dy_and_dx = p.dy;
    op.backward(exec, p.dy.view(), {perm.view()}, dx.view(), scratch.get(), accumulate);
    op.backward(exec, dy_and_dx.view(), {perm.view()}, dy_and_dx.view(), scratch.get(), accumulate);
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      auto const value = [&](tensor<T> const& t) { return decode(t(b, n, c)).value; };
      CHECK(value(dx) == value(before) + value(p.dx));
      CHECK(value(dy_and_dx) == value(p.dy) + value(p.dx));
    });
  });
}

TEST_CASE_TEMPLATE("backward inverts forward and vice versa, bit for bit", T, float, double,
                   float16, bfloat16) {
  for (extents3 e : {extents3{2, 77, 35}, extents3{1, 30000, 2}}) {
    auto const p = make_random_problem<T>(e, 4, {});
    auto const perm = make_saved<std::uint16_t>(p.perm);
    for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      ss::permute const op;
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      tensor<T> permuted(e), restored(e);
      op.forward(exec, p.x.view(), {perm.view()}, permuted.view(), scratch.get());
      op.backward(exec, permuted.view(), {perm.view()}, restored.view(), scratch.get());
      CHECK(same_bits(restored.elements(), p.x.elements()));
      op.backward(exec, p.x.view(), {perm.view()}, permuted.view(), scratch.get());
      op.forward(exec, permuted.view(), {perm.view()}, restored.view(), scratch.get());
      CHECK(same_bits(restored.elements(), p.x.elements()));
    });
  }
}

TEST_CASE("backward is the exact transpose: <dy, J v> = <J' dy, v>") {
  extents3 const e{2, 50, 37};
  auto p = make_random_problem<float>(e, 8, {50, 33});
  p.x = integer_tensor<float>(e, 100, 8);
  p.dy = integer_tensor<float>(e, 100, 9);
  tensor<float> y(e), dx(e);
  for_each_backend_once(3, [&](any_exec const& exec) {
    make_runner<std::uint16_t>(p.perm)(exec, p.x.view(), y.view(), p.dy.view(), dx.view(),
                                       view_of(p.lengths));
    std::int64_t forward_product = 0, backward_product = 0;
    for (std::size_t i = 0; i < y.elements().size(); ++i) {
      forward_product += static_cast<std::int64_t>(p.dy.elements()[i] * y.elements()[i]);
      backward_product += static_cast<std::int64_t>(dx.elements()[i] * p.x.elements()[i]);
    }
    CHECK(forward_product == backward_product);
  });
}

// Forward accepts repeated indices, because it only gathers.
TEST_CASE_TEMPLATE("forward gathers repeated rows", T, float, bfloat16) {
  for (extents3 e : {extents3{2, 60, 35}, extents3{1, 30000, 2}}) {
    auto p = make_random_problem<T>(e, 6, {});
    random_stream random(1);
    for (std::uint32_t& row : p.perm.elements())
      row = static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(e.length)) / 2);
    p.compute_expected();
    auto const perm = make_saved<std::uint32_t>(p.perm);
    for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      guarded_workspace scratch(ss::permute::workspace_bytes<T>(exec, e));
      tensor<T> y(e), x_and_y = p.x;
      ss::permute const op;
      op.forward(exec, p.x.view(), {perm.view()}, y.view(), scratch.get());
      op.forward(exec, x_and_y.view(), {perm.view()}, x_and_y.view(), scratch.get());
      CHECK(same_bits(y.elements(), p.y.elements()));
      CHECK(same_bits(x_and_y.elements(), p.y.elements()));
    });
  }
}
