// SPDX-License-Identifier: Apache-2.0
// slicing_sort on strided views: every axis order, gaps, odd alignments, inputs with stride 0, and
// slices of one packed tensor.
#define SLICESORT_TEST_EVERY_BACKEND
#include "forward_backward.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <type_traits>

using namespace support;

namespace {

// Runs forward and backward with the strides of inputs, outputs and saved indices, `offset` or a
// few more elements after an aligned address. Checks that the gaps of the outputs are untouched.
template <class T, class Index>
void check_strided(sort_problem<T> const& p, std::uint64_t backend_seed, strides3 input,
                   strides3 output, strides3 saved, index_t offset) {
  for_each_backend(backend_seed, [&](any_exec const& exec) {
    extents3 const e = p.x.extents();
    strided_tensor<T> const x(p.x, input, offset), dy(p.dy, input, offset + 3);
    strided_tensor<T> y(e, output, offset + 1), dx(e, output, offset + 5);
    strided_tensor<Index> perm(e, saved, offset + 2), indices(e, saved, offset);
    CAPTURE(p.describe());
    CAPTURE(describe_exec(exec));
    CAPTURE(output.batch);
    CAPTURE(output.length);
    CAPTURE(output.channels);
    forward(p, exec, x.view(), y.view(), perm.view());
    CHECK(difference("y", y.contents(), p.y) == "");
    CHECK(difference("perm", perm.contents(), p.perm) == "");
    if (backend_seed % 2 == 0) {
      ss::argsort<pattern_order> const op(pattern_order{p.order});
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      op.forward(exec, x.view(), indices.view(), scratch.get(), {p.lengths_view()});
      CHECK(difference("indices", indices.contents(), p.perm) == "");
      CHECK(indices.padding_intact());
    }
    backward(p, exec, dy.view(), perm.view(), dx.view());
    CHECK(difference("dx", dx.contents(), p.dx) == "");
    CHECK((y.padding_intact() && dx.padding_intact() && perm.padding_intact()));
  });
}

}  // namespace

TEST_CASE_TEMPLATE("every axis order, dense and padded", T, float, double, float16) {
  for (extents3 e :
       {extents3{2, 21, 37}, extents3{3, 64, 8}, extents3{1, 130, 33}, extents3{2, 300, 5}})
    for (std::size_t i = 0; i < 6; ++i)
      for (index_t padding : {0, 1, 3}) {
        auto const p = make_mixed_problem<T>(e, all_kinds, i, irregular, {});
        strides3 const input = strides_in_order(e, axis_orders[i], padding);
        strides3 const output = strides_in_order(e, axis_orders[(i + 2) % 6], 3 - padding);
        strides3 const saved = strides_in_order(e, axis_orders[(i + 5) % 6], padding);
        check_strided<T, std::uint16_t>(p, 2 * i, input, output, saved, 0);
        check_strided<T, std::uint32_t>(p, 2 * i + 1, input, input, input, 0);
      }
}

TEST_CASE_TEMPLATE("strides with lengths", T, float, bfloat16) {
  extents3 const e{4, 40, 11};
  for (std::size_t i = 0; i < 6; ++i) {
    auto const p = make_mixed_problem<T>(e, all_kinds, i, zigzag, {40, 0, 13, 39});
    strides3 const input = strides_in_order(e, axis_orders[i], 2);
    strides3 const output = strides_in_order(e, axis_orders[5 - i], 0);
    check_strided<T, std::uint16_t>(p, p.backend_seed(), input, output, output, 1);
  }
}

TEST_CASE_TEMPLATE("every alignment of the first element", T, float, float16) {
  extents3 const e{2, 33, 32};
  for (index_t offset = 0; offset <= 16; ++offset) {
    auto const p = make_mixed_problem<T>(e, ordinary_kinds, static_cast<std::uint64_t>(offset), up);
    strides3 const s = row_major(e);
    check_strided<T, std::uint16_t>(p, p.backend_seed(), s, s, s, offset);
  }
}

TEST_CASE_TEMPLATE("long strided columns, above the radix threshold", T, float, double) {
  extents3 const e{1, 65550, 3};
  auto const p = make_mixed_problem<T>(e, all_kinds, 3, zigzag);
  check_strided<T, std::uint32_t>(p, p.backend_seed(), strides_in_order(e, {0, 2, 1}),
                                  strides_in_order(e, {0, 1, 2}, 1), strides_in_order(e, {1, 2, 0}),
                                  1);
}

TEST_CASE_TEMPLATE("an input may repeat elements with stride 0", T, float, float16) {
  extents3 const e{3, 20, 34};
  for (int axis = 0; axis < 3; ++axis) {
    strides3 s = row_major(e);
    (axis == 0 ? s.batch : axis == 1 ? s.length : s.channels) = 0;
    auto p = make_mixed_problem<T>(e, all_kinds, 9, irregular);
    auto const source = p.x, gradient = p.dy;
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      auto const offset = static_cast<std::size_t>(b * s.batch + n * s.length + c * s.channels);
      p.x(b, n, c) = source.elements()[offset];
      p.dy(b, n, c) = gradient.elements()[offset];
    });
    compute_expected(p);
    for_each_backend(static_cast<std::uint64_t>(axis), [&](any_exec const& exec) {
      tensor<T> y(e), dx(e);
      tensor<std::uint32_t> perm(e);
      forward(p, exec, tensor3<T const>(source.elements().data(), e, s), y.view(), perm.view());
      backward(p, exec, tensor3<T const>(gradient.elements().data(), e, s), perm.view(), dx.view());
      CHECK(difference("y", y, p.y) == "");
      CHECK(difference("perm", perm, p.perm) == "");
      CHECK(difference("dx", dx, p.dx) == "");
    });
  }
}

TEST_CASE_TEMPLATE("adjacent slices of one packed tensor", T, float, bfloat16) {
  // x and y are the two halves of one tensor's channels, dy and dx the halves of another tensor's.
  extents3 const e{2, 40, 33}, both{2, 40, 66};
  strides3 const s = row_major(both);
  for (index_t first : {0, 33}) {
    auto const p = make_mixed_problem<T>(e, all_kinds, 4, zigzag);
    for_each_backend(static_cast<std::uint64_t>(first), [&](any_exec const& exec) {
      tensor<T> packed(both), gradients(both);
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        packed(b, n, c + first) = p.x(b, n, c);
        gradients(b, n, c + first) = p.dy(b, n, c);
      });
      tensor<std::uint16_t> perm(e);
      auto const slice = [&](tensor<T>& t, index_t offset) {
        return tensor3<T>(t.elements().data() + offset, e, s);
      };
      forward(p, exec, slice(packed, first), slice(packed, 33 - first), perm.view());
      backward(p, exec, slice(gradients, first), perm.view(), slice(gradients, 33 - first));
      bool correct = true;
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        correct = correct && same_bits(packed(b, n, c + first), p.x(b, n, c)) &&
                  same_bits(packed(b, n, c + 33 - first), p.y(b, n, c)) &&
                  same_bits(gradients(b, n, c + first), p.dy(b, n, c)) &&
                  same_bits(gradients(b, n, c + 33 - first), p.dx(b, n, c));
      });
      CHECK(correct);
    });
  }
}

TEST_CASE("the stride of an axis of one is never used") {
  index_t const strides[] = {std::numeric_limits<index_t>::max(), index_t{1} << 61, 0, -1,
                             std::numeric_limits<index_t>::min()};
  for (index_t stride : strides)
    for (int axis = 0; axis < 3; ++axis) {
      extents3 const e = axis == 0   ? extents3{1, 20, 32}
                         : axis == 1 ? extents3{2, 1, 64}
                                     : extents3{5, 20, 1};
      strides3 s = row_major(e);
      (axis == 0 ? s.batch : axis == 1 ? s.length : s.channels) = stride;
      auto p = make_mixed_problem<float>(e, all_kinds, 1, irregular);
      tensor<float> y(e), dx(e);
      tensor<std::uint16_t> perm(e);
      tensor3<std::uint16_t> const saved(perm.elements().data(), e, s);
      for_each_backend(static_cast<std::uint64_t>(axis), [&](any_exec const& exec) {
        CAPTURE(stride);
        CAPTURE(axis);
        forward(p, exec, tensor3<float>(p.x.elements().data(), e, s),
                tensor3<float>(y.elements().data(), e, s), saved);
        CHECK(difference("y", y, p.y) == "");
        backward(p, exec, tensor3<float>(p.dy.elements().data(), e, s), saved,
                 tensor3<float>(dx.elements().data(), e, s));
        CHECK(difference("dx", dx, p.dx) == "");
      });
    }
}

TEST_CASE("the stride of an axis of one is never used for outputs that streaming stores write") {
  extents3 const e{1, 1, 300000};
  strides3 const s{1, std::numeric_limits<index_t>::max(), 1};
  auto p = make_problem<float>(e, input_kind::random_bits, 1, up);
  // Streaming stores require rows aligned to cache lines.
  std::vector<float> y(300016), dx(300016);
  std::vector<std::uint32_t> perm(300016);
  auto const aligned_view = [&](auto& memory) {
    auto* data = memory.data();
    while (reinterpret_cast<std::uintptr_t>(data) % 64 != 0) ++data;
    return tensor3<std::remove_pointer_t<decltype(data)>>(data, e, s);
  };
  for_each_backend(1, [&](any_exec const& exec) {
    forward(p, exec, tensor3<float>(p.x.elements().data(), e, s), aligned_view(y),
            aligned_view(perm));
    backward(p, exec, tensor3<float>(p.dy.elements().data(), e, s), aligned_view(perm),
             aligned_view(dx));
    bool const correct =
        std::memcmp(aligned_view(y).data(), p.y.elements().data(), 300000 * sizeof(float)) == 0 &&
        std::memcmp(aligned_view(dx).data(), p.dx.elements().data(), 300000 * sizeof(float)) == 0;
    CHECK(correct);
    CHECK(*std::max_element(perm.begin(), perm.end()) == 0);
  });
}
