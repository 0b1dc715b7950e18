// SPDX-License-Identifier: Apache-2.0
// csp on strided views: every axis order, gaps, odd alignments, inputs with stride 0, slices of one
// packed tensor, and in-place calls.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

using namespace support;

namespace {

struct layout {
  std::array<int, 3> axes;
  index_t padding, offset;
  strides3 strides(extents3 e) const { return strides_in_order(e, axes, padding); }
};

// Runs forward and backward with a separate layout for every tensor, and checks that gaps are
// untouched.
template <class T>
void check_strided(csp_problem<T> const& p, layout input, layout output, layout saved) {
  with_csp(p, [&](auto const& op) {
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      extents3 const e = p.extents(), s = op.saved_extents(e);
      strided_tensor<T> const x(p.x, input.strides(e), input.offset),
          dy(p.dy, output.strides(e), input.offset);
      strided_tensor<T> y(e, output.strides(e), output.offset),
          dx(e, input.strides(e), output.offset);
      guarded_order_buffer order(s, op.saved_width(e), saved.strides(s), saved.offset);
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      auto const lengths = view_of(p.lengths);
      op.forward(exec, x.view(), y.view(), {order.view()}, scratch.get(), {lengths});
      op.backward(exec, dy.view(), {order.view()}, dx.view(), scratch.get(),
                  {ss::grad_mode::overwrite, lengths});
      CAPTURE(p.describe());
      CAPTURE(describe_exec(exec));
      CAPTURE(input.strides(e).length);
      CAPTURE(output.strides(e).length);
      CHECK(difference("y", y.contents(), p.y) == "");
      CHECK(difference("order", order.contents(), p.saved) == "");
      CHECK(difference("dx", dx.contents(), p.dx) == "");
      CHECK((y.padding_intact() && dx.padding_intact() && order.padding_intact()));
      CHECK(scratch.red_zones_intact());
    });
  });
}

}  // namespace

TEST_CASE_TEMPLATE("every axis order, dense and padded, of every tensor", T, float, float16) {
  std::uint64_t seed = 0;
  for (extents3 e : {extents3{2, 21, 37}, extents3{3, 64, 8}, extents3{1, 130, 33}})
    for (std::size_t i = 0; i < 6; ++i)
      for (index_t padding : {0, 3}) {
        ++seed;
        index_t const groups[] = {2, 1, 3, 16, e.length, 7, 64};
        layout const input{axis_orders[i], padding, 0},
            output{axis_orders[(i + 2) % 6], 3 - padding, 1},
            saved{axis_orders[(i + 5) % 6], padding, 2};
        auto const lengths = seed % 3 == 0 ? mixed_lengths(e) : std::vector<index_t>();
        check_strided(make_mixed_csp<T>(e, groups[seed % 7], no_reference, seed, lengths), input,
                      output, saved);
        check_strided(make_mixed_csp<T>(e, groups[(seed + 1) % 7], 4, seed, lengths), output, input,
                      input);
      }
}

TEST_CASE_TEMPLATE("every alignment of the first element", T, float, float16) {
  for (index_t offset = 0; offset <= 17; ++offset) {
    auto const seed = static_cast<std::uint64_t>(offset);
    layout const shifted{axis_orders[0], 0, offset};
    for (index_t group : {1, 2, 8})
      check_strided(
          make_mixed_csp<T>({2, 33, 32}, group, offset % 2 == 0 ? no_reference : 31, seed), shifted,
          shifted, shifted);
  }
}

TEST_CASE_TEMPLATE("columns that are contiguous in memory", T, float, double, bfloat16) {
  // The length is the fastest axis. Covers wide groups, narrow groups, pairs, and single rows.
  for (index_t n : {1, 2, 63, 64, 65, 500})
    for (index_t group : {1, 2, 9, 100}) {
      auto const seed = static_cast<std::uint64_t>(n + group);
      layout const transposed{{0, 2, 1}, 0, 0}, plain{{0, 1, 2}, 0, 0};
      check_strided(make_mixed_csp<T>({2, n, 6}, group, no_reference, seed), transposed, transposed,
                    transposed);
      check_strided(make_mixed_csp<T>({2, n, 6}, group, 0, seed), transposed, plain, transposed);
    }
}

// Whole tiles of such pairs are exchanged row by row if channels are adjacent in every tensor.
TEST_CASE_TEMPLATE("pairs without shifts, with adjacent channels in some tensors", T, float,
                   float16) {
  auto const p =
      make_csp_problem<T>(mixed_tensor<T>({2, 34, 40}, all_kinds, 5), 2, no_reference, up, 0);
  layout const adjacent{{0, 1, 2}, 0, 0}, apart{{0, 2, 1}, 0, 0};
  for (layout const& input : {adjacent, apart})
    for (layout const& output : {adjacent, apart})
      for (layout const& saved : {adjacent, apart}) check_strided(p, input, output, saved);
}

TEST_CASE_TEMPLATE("an input may repeat elements with stride 0", T, float, float16) {
  extents3 const e{3, 20, 34};
  for (int axis = 0; axis < 3; ++axis)
    for (index_t group : {1, 2, 6}) {
      strides3 s = row_major(e);
      (axis == 0 ? s.batch : axis == 1 ? s.length : s.channels) = 0;
      auto p = make_mixed_csp<T>(e, group, axis == 1 ? 33 : no_reference, 9);
      auto const source = p.x, gradient = p.dy;
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        auto const offset = static_cast<std::size_t>(b * s.batch + n * s.length + c * s.channels);
        p.x(b, n, c) = source.elements()[offset];
        p.dy(b, n, c) = gradient.elements()[offset];
      });
      compute_expected(p);
      for_each_backend_once(static_cast<std::uint64_t>(axis), [&](any_exec const& exec) {
        tensor<T> y(e), dx(e);
        csp_runner(p)(exec, tensor3<T const>(source.elements().data(), e, s), y.view(),
                      tensor3<T const>(gradient.elements().data(), e, s), dx.view(), view_of({}));
        CHECK(difference("y", y, p.y) == "");
        CHECK(difference("dx", dx, p.dx) == "");
      });
    }
}

TEST_CASE("adjacent slices of one packed tensor") {
  extents3 const e{2, 40, 33}, packed_extents{2, 40, 66};
  strides3 const s = row_major(packed_extents);
  for (index_t group : {1, 2, 5})
    for (index_t first : {0, 33}) {
      auto const p = make_mixed_csp<float>(e, group, first == 0 ? no_reference : 2, 4);
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        tensor<float> packed(packed_extents), gradients(packed_extents);
        for_each_position(e, [&](index_t b, index_t n, index_t c) {
          packed(b, n, c + first) = p.x(b, n, c);
          gradients(b, n, c + first) = p.dy(b, n, c);
        });
        auto const slice_at = [&](tensor<float>& t, index_t offset) {
          return tensor3<float>(t.elements().data() + offset, e, s);
        };
        csp_runner(p)(exec, slice_at(packed, first), slice_at(packed, 33 - first),
                      slice_at(gradients, first), slice_at(gradients, 33 - first), view_of({}));
        bool all_equal = true;
        for_each_position(e, [&](index_t b, index_t n, index_t c) {
          all_equal = all_equal && same_bits(packed(b, n, c + first), p.x(b, n, c)) &&
                      same_bits(packed(b, n, c + 33 - first), p.y(b, n, c)) &&
                      same_bits(gradients(b, n, c + first), p.dy(b, n, c)) &&
                      same_bits(gradients(b, n, c + 33 - first), p.dx(b, n, c));
        });
        CHECK(all_equal);
      });
    }
}

TEST_CASE("the stride of an axis of one is never used") {
  index_t const unused_strides[] = {std::numeric_limits<index_t>::max(), index_t{1} << 61, 0, -1,
                                    std::numeric_limits<index_t>::min()};
  for (index_t stride : unused_strides)
    for (int axis = 0; axis < 3; ++axis) {
      extents3 const e = axis == 0   ? extents3{1, 20, 32}
                         : axis == 1 ? extents3{2, 1, 64}
                                     : extents3{5, 20, 1};
      strides3 s = row_major(e);
      (axis == 0 ? s.batch : axis == 1 ? s.length : s.channels) = stride;
      for (index_t group : {1, 2, 3})
        for (index_t reference : {no_reference, index_t{0}}) {
          auto p = make_mixed_csp<float>(e, group, reference, 1);
          tensor<float> y(e), dx(e);
          for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
            CAPTURE(stride);
            CAPTURE(p.describe());
            csp_runner(p)(exec, tensor3<float>(p.x.elements().data(), e, s),
                          tensor3<float>(y.elements().data(), e, s),
                          tensor3<float>(p.dy.elements().data(), e, s),
                          tensor3<float>(dx.elements().data(), e, s), view_of({}));
            CHECK(difference("y", y, p.y) == "");
            CHECK(difference("dx", dx, p.dx) == "");
          });
        }
    }
}

TEST_CASE_TEMPLATE("in place, for group sizes of every code path", T, float, double, float16,
                   bfloat16) {
  for (index_t n : {1, 2, 17, 64, 131, 700})
    for (index_t group : {1, 2, 3, 32, 300})
      for (index_t reference : {no_reference, index_t{0}, index_t{4}}) {
        auto const seed = static_cast<std::uint64_t>(n * 10 + group + reference);
        if (!full_suite() && seed % 2 == 1 && n > 17) continue;
        std::vector<index_t> lengths;
        if (seed % 2 == 0) lengths = {n / 2, n};
        auto const p = make_mixed_csp<T>({2, n, 5}, group, reference, seed, lengths);
        for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
          auto x = p.x, dy = p.dy, unsaved_y = p.x;
          csp_runner(p)(exec, x.view(), x.view(), dy.view(), dy.view(), view_of(lengths));
          CAPTURE(p.describe());
          CAPTURE(describe_exec(exec));
          CHECK(difference("y in place", x, p.y) == "");
          CHECK(difference("dx in place", dy, p.dx) == "");
          with_csp(p, [&](auto const& op) {
            guarded_workspace scratch(op.template workspace_bytes<T>(exec, p.extents()));
            op.forward(exec, unsaved_y.view(), unsaved_y.view(), ss::no_saved, scratch.get(),
                       {view_of(lengths)});
          });
          CHECK(difference("y in place, not saved", unsaved_y, p.y) == "");
        });
      }
}

// Columns too long for shared memory are sorted and permuted by way of a copy.
TEST_CASE("longer columns in place") {
  for (index_t group : {1, 2, 3}) {
    auto const p = make_mixed_csp<float>({1, 60000, 2}, group, no_reference, 3);
    for_each_grid(p.backend_seed(), [&](auto const& exec) {
      auto x = p.x, dy = p.dy;
      csp_runner(p)(exec, x.view(), x.view(), dy.view(), dy.view(), view_of({}));
      CAPTURE(p.describe());
      CAPTURE(describe_exec(exec));
      CHECK(difference("y in place", x, p.y) == "");
      CHECK(difference("dx in place", dy, p.dx) == "");
    });
  }
}
