// SPDX-License-Identifier: Apache-2.0
// A group of small matrices on the host: neighboring samples, one per lane.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sinkhorn/half_steps.hpp>
#include <slicesort/detail/sinkhorn/host/tile_kernels.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class A>
struct small_matrix_buffers {
  A *x, *exponents, *dy;       // tiles
  A *ratios, *inverse_ratios;  // per lane
  step_vectors<A> vectors;

  small_matrix_buffers(arena& memory, sinkhorn_shape const& shape) {
    constexpr index_t lanes = sinkhorn_lanes<A>;
    amount const tile = amount(shape.extents.length * shape.extents.channels) * lanes;
    x = memory.take<A>(tile);
    exponents = memory.take<A>(tile);
    dy = memory.take<A>(tile);
    ratios = memory.take<A>(lanes);
    inverse_ratios = memory.take<A>(lanes);
    vectors.pitch = shape.longer_side() * lanes;
    vectors.potentials = memory.take<A>(amount(shape.steps + 1) * vectors.pitch);
    vectors.exponents = memory.take<A>(amount(shape.steps + 1) * vectors.pitch);
    vectors.grads = memory.take<A>(amount(shape.steps) * vectors.pitch);
  }
};

template <class Params>
class small_matrices {
 public:
  using T = typename Params::element;
  using A = accumulator_t<T>;

  small_matrices(sinkhorn_kernels<T> const& kernels, Params const& params, index_t group,
                 small_matrix_buffers<A> const& buffers)
      : kernels_(kernels),
        params_(params),
        first_(group * lanes),
        count_(std::min<index_t>(lanes, params.logits.extents().batch - first_)),
        buffers_(buffers) {
    extents3 const e = params.logits.extents();
    bool const has_lengths =
        params.row_lengths.data() != nullptr || params.column_lengths.data() != nullptr;
    for (index_t l = 0; l < lanes; ++l) {
      matrix_size const size =
          l < count_ ? size_of_sample(params, first_ + l) : matrix_size{e.length, e.channels};
      buffers.ratios[l] = size.template ratio<A>();
      buffers.inverse_ratios[l] = size.template inverse_ratio<A>();
      bool const is_whole = !has_lengths || (size.rows == e.length && size.columns == e.channels);
      is_whole_ = is_whole_ && is_whole;
    }
  }

  void forward() {
    buffers_.vectors.keeps_all = false;
    load(params_.logits, buffers_.x, minus_infinity<A>());
    kernels_.forward(make_tile());
    store(buffers_.x, params_.y, grad_mode::overwrite);
  }
  void backward() {
    buffers_.vectors.keeps_all = true;
    load(params_.logits, buffers_.x, minus_infinity<A>());
    load(params_.dy, buffers_.dy, A(0));
    kernels_.backward(make_tile());
    store(buffers_.x, params_.dlogits, params_.mode);
  }

 private:
  static constexpr index_t lanes = sinkhorn_lanes<A>;

  matrix_tile<A> make_tile() const {
    extents3 const e = params_.logits.extents();
    matrix_tile<A> tile{};
    tile.x = buffers_.x;
    tile.exponents = buffers_.exponents;
    tile.dy = buffers_.dy;
    tile.ratios = buffers_.ratios;
    tile.inverse_ratios = buffers_.inverse_ratios;
    tile.rows = e.length;
    tile.columns = e.channels;
    tile.lanes = lanes;
    tile.vectors = buffers_.vectors;
    tile.steps = params_.steps;
    tile.inverse_tau = inverse_tau<A>(params_.tau);
    return tile;
  }

  // Calls f(elements, offset of the tile) for pieces of the tensor that together are its group.
  template <class U, class F>
  void for_each_piece(tensor3<U> tensor, F const& f) const {
    extents3 const e = tensor.extents();
    strides3 const s = tensor.strides();
    U* const first = tensor.data() + tensor.offset(first_, 0, 0);
    index_t const stride = e.channels == 1 ? s.length : s.channels;
    if (e.length == 1 || e.channels == 1 || s.length == e.channels * s.channels)
      return f(tile_elements<U>{first, stride, s.batch, e.length * e.channels, count_}, index_t{0});
    for (index_t i = 0; i < e.length; ++i)
      f(tile_elements<U>{first + i * s.length, s.channels, s.batch, e.channels, count_},
        i * e.channels * lanes);
  }
  // Calls f(lane, row, column, is_valid) for every element of the group.
  template <class F>
  void for_each_element(F const& f) const {
    extents3 const e = params_.logits.extents();
    for (index_t l = 0; l < count_; ++l) {
      matrix_size const size = size_of_sample(params_, first_ + l);
      for (index_t i = 0; i < e.length; ++i)
        for (index_t j = 0; j < e.channels; ++j) f(l, i, j, i < size.rows && j < size.columns);
    }
  }
  index_t offset_in_tile(index_t l, index_t i, index_t j) const {
    return (i * params_.logits.extents().channels + j) * lanes + l;
  }

  // Elements past a length become `padding`.
  void load(tensor3<T const> from, A* to, A padding) const {
    for_each_piece(from, [&](tile_elements<T const> const& piece, index_t offset) {
      kernels_.load(piece, to + offset);
    });
    if (is_whole_) return;
    for_each_element([&](index_t l, index_t i, index_t j, bool is_valid) {
      if (!is_valid) to[offset_in_tile(l, i, j)] = padding;
    });
  }
  void store(A const* from, tensor3<T> to, grad_mode mode) const {
    if (is_whole_)
      return for_each_piece(to, [&](tile_elements<T> const& piece, index_t offset) {
        kernels_.store(from + offset, piece, mode);
      });
    with_store<T>(mode, [&](auto store_element) {
      for_each_element([&](index_t l, index_t i, index_t j, bool is_valid) {
        T& element = to(first_ + l, i, j);
        if (is_valid)
          store_element.sum(element, from[offset_in_tile(l, i, j)]);
        else if (mode == grad_mode::overwrite)
          element = T(0.0F);
      });
    });
  }

  sinkhorn_kernels<T> const& kernels_;
  Params const& params_;
  index_t first_, count_;  // samples
  small_matrix_buffers<A> buffers_;
  bool is_whole_ = true;  // true if all elements of all samples are valid
};

SLICESORT_DETAIL_END
