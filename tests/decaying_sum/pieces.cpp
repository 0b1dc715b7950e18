// SPDX-License-Identifier: Apache-2.0
// A sequence that is fed to decaying_sum in pieces: any cut gives the bits of one call.
#define SLICESORT_TEST_EVERY_BACKEND
#include "problem.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;
using direction = ss::decay_direction;

namespace {

// Boundaries of pieces, in the order of the walk: one row each, around tiles of 16 rows, uneven.
std::vector<std::vector<index_t>> cuts(index_t length) {
  std::vector<index_t> single_rows;
  for (index_t n = 0; n <= length; ++n) single_rows.push_back(n);
  return {single_rows, {0, 16, 32, length}, {0, 15, 17, length}, {0, 0, 1, length / 2, length}};
}

// Rows [first, last) of a tensor, and of a if it is given per row.
template <class T>
tensor3<T> piece_of(tensor3<T> t, index_t first, index_t last) {
  extents3 const e = t.extents();
  return {t.data() + first * t.strides().length, {e.batch, last - first, e.channels}, t.strides()};
}
template <class T>
tensor4<T> piece_of(tensor4<T> t, bool per_row, index_t first, index_t last) {
  extents4 const e = t.extents();
  if (!per_row) return t;
  return {t.data() + first * t.strides().length,
          {e.batch, e.heads, last - first, e.channels},
          t.strides()};
}

template <class T>
void check_pieces(decay_problem<T> const& p, any_exec const& exec,
                  std::vector<index_t> const& boundaries) {
  using A = typename decay_problem<T>::A;
  index_t const length = p.x.extents().length;
  bool const per_row = p.variant.per_row, reversed = p.variant.direction == direction::reverse;
  std::size_t const pieces = boundaries.size() - 1;
  tensor<T> y(p.x.extents()), dx(p.x.extents());
  number_tensor<T> da = p.a;
  number_tensor<A> gradient = p.dlast;
  // The states before every piece, and behind the last one.
  std::vector<number_tensor<A>> states(pieces + 1, p.initial);
  auto const for_piece = [&](std::size_t i, auto const& f) {
    index_t const first = reversed ? length - boundaries[i + 1] : boundaries[i],
                  last = reversed ? length - boundaries[i] : boundaries[i + 1];
    guarded_workspace memory(p.op().workspace_bytes(exec, piece_of(p.x.view(), first, last)));
    ss::decay_inputs<T> const inputs{piece_of(p.a.view(), per_row, first, last), p.w.view()};
    f(first, last, inputs, memory.get());
  };
  for (std::size_t i = 0; i < pieces; ++i)
    for_piece(i, [&](index_t first, index_t last, auto const& inputs, ss::workspace memory) {
      p.op().forward(exec, piece_of(p.x.view(), first, last), inputs,
                     piece_of(y.view(), first, last),
                     {tensor4<A const>(states[i].view()), states[i + 1].view()}, memory);
    });
  for (std::size_t i = pieces; i-- > 0;)
    for_piece(i, [&](index_t first, index_t last, auto const& inputs, ss::workspace memory) {
      ss::decay_gradients<T> grads{piece_of(dx.view(), first, last)};
      if (per_row) grads.da = piece_of(da.view(), true, first, last);
      p.op().backward(
          exec, piece_of(p.dy.view(), first, last), piece_of(p.x.view(), first, last), inputs,
          grads,
          {tensor4<A const>(states[i].view()), tensor4<A const>(gradient.view()), gradient.view()},
          memory);
    });
  CHECK(same_bits(y.elements(), p.y.elements()));
  CHECK(same_bits(states.back().elements, p.last.elements));
  CHECK(same_bits(dx.elements(), p.dx.elements()));
  CHECK(same_bits(gradient.elements, p.dinitial.elements));
  if (per_row) CHECK(same_bits(da.elements, p.da.elements));
}

}  // namespace

TEST_CASE_TEMPLATE("pieces have the bits of the whole", T, float, double, float16, bfloat16) {
  extents3 const e{2, 53, 7};
  std::uint64_t seed = 0;
  for (bool is_complex : {false, true})
    for (bool per_row : {false, true})
      for (direction d : {direction::forward, direction::reverse}) {
        CAPTURE(is_complex);
        CAPTURE(per_row);
        CAPTURE(d);
        auto const p = make_decay_problem<T>(e, {2, is_complex, d, per_row}, ++seed);
        for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
          for (auto const& boundaries : cuts(e.length)) check_pieces(p, exec, boundaries);
        });
      }
}
