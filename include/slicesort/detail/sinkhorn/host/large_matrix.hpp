// SPDX-License-Identifier: Apache-2.0
// A large matrix on the host. A half-step processes a group of neighboring rows or columns at a
// time, one per lane.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/sinkhorn/half_steps.hpp>
#include <slicesort/detail/sinkhorn/host/tile_kernels.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// Tiles of a thread.
template <class A>
struct large_matrix_tiles {
  A *x, *dy;

  large_matrix_tiles(arena& memory, sinkhorn_shape const& shape)
      : x(memory.take<A>(amount(shape.longer_side()) * sinkhorn_lanes<A>)),
        dy(memory.take<A>(amount(shape.longer_side()) * sinkhorn_lanes<A>)) {}
};

// Vectors of a sample. Their size is rounded up to whole groups of lanes.
template <class A>
struct large_matrix_vectors {
  step_vectors<A> vectors;

  large_matrix_vectors(arena& memory, sinkhorn_shape const& shape) {
    constexpr index_t lanes = sinkhorn_lanes<A>;
    vectors.pitch = (shape.longer_side() + lanes - 1) / lanes * lanes;
    vectors.potentials = memory.take<A>(amount(shape.steps + 1) * vectors.pitch);
    vectors.grads = memory.take<A>(amount(shape.steps) * vectors.pitch);
    vectors.exponents = nullptr;
  }
};

template <class Params>
class large_matrix {
 public:
  using T = typename Params::element;
  using A = accumulator_t<T>;

  // `tiles` has an entry for every thread of `exec`, starting at `first_thread`.
  large_matrix(sinkhorn_kernels<T> const& kernels, Params const& params, index_t batch,
               large_matrix_vectors<A> const& vectors,
               per_thread<large_matrix_tiles<A>, sinkhorn_shape> const& tiles,
               unsigned first_thread, host_exec const& exec)
      : kernels_(kernels),
        params_(params),
        batch_(batch),
        size_(size_of_sample(params, batch)),
        vectors_(vectors.vectors),
        tiles_(tiles),
        first_thread_(first_thread),
        exec_(exec) {
    unfused<double> ops;
    log_ratio_ = size_.template log_ratio<A>(ops);
    std::fill_n(vectors_.potentials, vectors_.pitch, A(0));
  }

  void forward() {
    vectors_.keeps_all = false;
    compute_potentials(*this, params_.steps);
    index_t const last = params_.steps.count - 1;
    index_t const rows = params_.steps.rows_last ? last : last - 1,
                  columns = params_.steps.rows_last ? last - 1 : last;
    for_each_group(false, [&](large_matrix_tiles<A> const& buffers, index_t column) {
      kernels_.compute_elements(
          load_terms(buffers, false, column, rows, columns, exponent_offset(last)));
      store(buffers.x, params_.y, column, grad_mode::overwrite);
    });
    fill_padding(params_.y);
  }
  void backward() {
    vectors_.keeps_all = true;
    compute_potentials(*this, params_.steps);
    compute_potential_grads(*this, params_.steps);
    for_each_group(false, [&](large_matrix_tiles<A> const& buffers, index_t column) {
      load(params_.dy, false, column, buffers.dy);
      kernels_.compute_element_grads(load_terms(buffers, false, column, -1, -1, A(0)), buffers.dy,
                                     log_ratio_, column, params_.steps, vectors_);
      store(buffers.x, params_.dlogits, column, params_.mode);
    });
    if (params_.mode == grad_mode::overwrite) fill_padding(params_.dlogits);
  }

  // The functions of half_steps.hpp.
  void normalize(index_t step, bool rows) const {
    for_each_group(rows, [&](large_matrix_tiles<A> const& buffers, index_t first) {
      kernels_.normalize(load_terms(buffers, rows, first, step - 1, step, rows ? A(0) : log_ratio_),
                         vectors_.potentials_of(step) + first);
    });
  }
  void sum_output_grads(index_t step, bool rows) const {
    index_t const last = params_.steps.count - 1, other = step == last ? step - 1 : step + 1;
    for_each_group(rows, [&](large_matrix_tiles<A> const& buffers, index_t first) {
      load(params_.dy, rows, first, buffers.dy);
      kernels_.sum_output_grads(
          load_terms(buffers, rows, first, other, step, exponent_offset(last)), buffers.dy,
          vectors_.grads_of(step) + first);
    });
  }
  void subtract_sums(index_t step, bool rows) const {
    for_each_group(rows, [&](large_matrix_tiles<A> const& buffers, index_t first) {
      kernels_.subtract_sums(
          load_terms(buffers, rows, first, step + 1, step, exponent_offset(step + 1)),
          vectors_.grads_of(step + 1), step == params_.steps.count - 2,
          vectors_.grads_of(step) + first);
    });
  }

 private:
  static constexpr index_t lanes = sinkhorn_lanes<A>;

  // Offset of the exponents of the matrix of a half-step.
  A exponent_offset(index_t step) const {
    return params_.steps.normalizes_rows(step) ? A(0) : -log_ratio_;
  }
  index_t extent(bool rows) const { return rows ? size_.rows : size_.columns; }

  // Calls f(tiles of the thread, first row or column) for every group of rows or columns.
  template <class F>
  void for_each_group(bool rows, F const& f) const {
    for_each_task(exec_, (extent(rows) + lanes - 1) / lanes, [&](unsigned thread, index_t group) {
      large_matrix_tiles<A> const buffers = tiles_[first_thread_ + thread];
      f(buffers, group * lanes);
    });
  }
  // Elements of rows, or columns, [first, first + lanes).
  template <class U>
  tile_elements<U> elements(tensor3<U> tensor, bool rows, index_t first) const {
    strides3 const s = tensor.strides();
    index_t const count = std::min(lanes, extent(rows) - first);
    if (rows)
      return {tensor.data() + tensor.offset(batch_, first, 0), s.channels, s.length, size_.columns,
              count};
    return {tensor.data() + tensor.offset(batch_, 0, first), s.length, s.channels, size_.rows,
            count};
  }
  void load(tensor3<T const> from, bool rows, index_t first, A* to) const {
    kernels_.load(elements(from, rows, first), to);
  }
  void store(A const* from, tensor3<T> to, index_t column, grad_mode mode) const {
    kernels_.store(from, elements(to, false, column), mode);
  }
  // Loads the logits of a group of rows or columns. The terms have the potentials of half-step
  // `term_step`, and the lanes those of `lane_step`.
  tile_terms<A> load_terms(large_matrix_tiles<A> const& buffers, bool rows, index_t first,
                           index_t term_step, index_t lane_step, A offset) const {
    load(params_.logits, rows, first, buffers.x);
    tile_terms<A> terms{};
    terms.x = buffers.x;
    terms.size = extent(!rows);
    terms.potentials = vectors_.potentials_of(term_step);
    terms.lane_potentials = vectors_.potentials_of(lane_step) + first;
    terms.ratio = params_.steps.rows_last ? A(1) : size_.template ratio<A>();
    terms.offset = offset;
    terms.inverse_tau = inverse_tau<A>(params_.tau);
    return terms;
  }
  // Zeroes the elements past the valid rows and columns.
  void fill_padding(tensor3<T> to) const {
    extents3 const e = to.extents();
    for (index_t i = 0; i < e.length; ++i)
      for (index_t j = i < size_.rows ? size_.columns : 0; j < e.channels; ++j)
        to(batch_, i, j) = T(0.0F);
  }

  sinkhorn_kernels<T> const& kernels_;
  Params const& params_;
  index_t batch_;
  matrix_size size_;
  A log_ratio_{};
  step_vectors<A> vectors_;
  per_thread<large_matrix_tiles<A>, sinkhorn_shape> const& tiles_;
  unsigned first_thread_;
  host_exec exec_;
};

SLICESORT_DETAIL_END
