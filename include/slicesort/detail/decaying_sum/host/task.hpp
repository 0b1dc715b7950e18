// SPDX-License-Identifier: Apache-2.0
// A task of decaying_sum: the walk over some neighboring channels of a sample, tile by tile.
// Backward first stores the states before every tile, and then walks back.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/decaying_sum/host/rows.hpp>
#include <slicesort/detail/decaying_sum/host/walked_rows.hpp>
#include <slicesort/detail/decaying_sum/params.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// Memory of a thread, for `width` channels.
template <class T>
struct decay_buffers {
  using A = accumulator_t<T>;
  index_t pitch;                     // of [number][channel]
  A *a, *w, *state, *gradient;       // [number][channel]
  A* checkpoints;                    // [tile][number][channel]
  double* sums;                      // [da, dw][number][channel]
  T *x, *dy, *y, *a_rows, *da_rows;  // copies of strided rows, [number][row][channel]

  decay_buffers(arena& memory, decay_shape const& shape, index_t width)
      : pitch((width + 15) / 16 * 16) {
    amount const numbers = amount(shape.numbers) * pitch, rows = amount(decay_tile_rows) * width;
    for (A** buffer : {&a, &w, &state, &gradient}) *buffer = memory.take<A>(numbers);
    checkpoints = memory.take<A>(amount(shape.tiles()) * numbers);
    sums = memory.take<double>(amount(2) * numbers);
    for (T** buffer : {&x, &dy, &y}) *buffer = memory.take<T>(rows);
    for (T** buffer : {&a_rows, &da_rows}) *buffer = memory.take<T>(amount(shape.numbers) * rows);
  }
};

// The walk over a chunk of columns.
template <class T>
class decay_task {
 public:
  using A = accumulator_t<T>;

  template <class Params>
  decay_task(Params const& params, decay_kernels<T> const& kernels, column_chunk chunk,
             decay_buffers<T> const& buffers)
      : kernels_(kernels),
        config_(params.config),
        chunk_(chunk),
        length_(params.x.extents().length),
        valid_(valid_rows(params.lengths, chunk.batch, length_)),
        walk_(valid_, config_.reversed),
        buffers_(buffers),
        x_(params.x, chunk, walk_, buffers.x),
        a_(if_per_row(params.a, params.x.extents()), chunk, walk_, buffers.a_rows) {
    if (!is_per_row(params.a, params.x.extents())) load_numbers(params.a, 0, 0, buffers.a);
    load_numbers(params.w, 0, 1, buffers.w);
    if (config_.is_complex)
      for (index_t i = 0; i < config_.numbers() * buffers.pitch; ++i) buffers.w[i] *= 2;
    load_numbers(params.initial_state, chunk.batch, 0, buffers.state);
  }

  void forward(decaying_sum_forward<T> const& params) const {
    walked_rows<T> const y(params.y, chunk_, walk_, buffers_.y);
    auto const output = config_.adds                ? decay_output::add
                        : y.should_stream(params.y) ? decay_output::stream
                                                    : decay_output::store;
    for_each_tile([&](index_t first, index_t count) {
      run_forward(first, count, y.load(first, count, config_.adds), output);
      y.store(first, count);
    });
    clear_padding(params.y, !config_.adds);
    store_numbers(buffers_.state, params.final_state);
  }

  // Adds the sums of da and dw to `sums`, [da, dw][number][channel of the tensor].
  void backward(decaying_sum_backward<T> const& params, double* sums) const {
    index_t const size = config_.numbers() * buffers_.pitch;
    for_each_tile([&](index_t first, index_t count) {
      std::copy_n(buffers_.state, size, buffers_.checkpoints + first / decay_tile_rows * size);
      run_forward(first, count, {}, decay_output::none);
    });
    load_numbers(params.dfinal_state, chunk_.batch, 0, buffers_.gradient);
    std::fill_n(buffers_.sums, 2 * size, 0.0);
    walked_rows<T const> const dy(params.dy, chunk_, walk_, buffers_.dy);
    walked_rows<T> const dx(params.dx, chunk_, walk_, buffers_.y);
    walked_rows<T> const da(if_per_row(params.da, params.x.extents()), chunk_, walk_,
                            buffers_.da_rows);
    bool const adds = params.config.mode == grad_mode::accumulate;
    index_t const last_tile = (valid_ - 1) / decay_tile_rows * decay_tile_rows;
    for (index_t first = valid_ == 0 ? -1 : last_tile; first >= 0; first -= decay_tile_rows) {
      index_t const count = std::min(decay_tile_rows, valid_ - first);
      decay_backward_tile<T> tile{};
      load_tile(tile, first, count);
      tile.state = buffers_.checkpoints + first / decay_tile_rows * size;
      tile.dy = dy.load(first, count);
      tile.dx = dx.load(first, count, config_.adds);
      tile.da = da.load(first, count, adds);
      tile.adds_to_dx = config_.adds;
      tile.adds_to_da = adds;
      tile.gradient = buffers_.gradient;
      tile.a_sums = buffers_.sums;
      tile.w_sums = buffers_.sums + size;
      kernels_.backward(tile);
      dx.store(first, count);
      da.store(first, count);
    }
    clear_padding(params.dx, !config_.adds);
    if (is_per_row(params.da, params.x.extents()))
      for (index_t j = 0; j < config_.numbers(); ++j) clear_padding(number_of(params.da, j), !adds);
    store_numbers(buffers_.gradient, params.dinitial_state);
    index_t const channels = params.x.extents().channels;
    for (index_t j = 0; j < 2 * config_.numbers(); ++j)
      std::copy_n(buffers_.sums + j * buffers_.pitch, chunk_.channels,
                  sums + j * channels + chunk_.channel);
  }

 private:
  template <class F>
  void for_each_tile(F const& f) const {
    for (index_t first = 0; first < valid_; first += decay_tile_rows)
      f(first, std::min(decay_tile_rows, valid_ - first));
  }
  void load_tile(decay_tile<T>& tile, index_t first, index_t count) const {
    tile.rows = count;
    tile.width = chunk_.channels;
    tile.states = config_.states;
    tile.pitch = buffers_.pitch;
    tile.x = x_.load(first, count);
    tile.a_rows = a_.load(first, count);
    tile.a = buffers_.a;
    tile.w = buffers_.w;
    tile.state = buffers_.state;
  }
  void run_forward(index_t first, index_t count, decay_rows<T> y, decay_output output) const {
    decay_forward_tile<T> tile{};
    load_tile(tile, first, count);
    tile.y = y;
    tile.output = output;
    kernels_.forward(tile);
  }

  static tensor3<T> number_of(tensor4<T> t, index_t number) {
    extents4 const e = t.extents();
    strides4 const s = t.strides();
    return {t.data() + number * s.heads,
            {e.batch, e.length, e.channels},
            {s.batch, s.length, s.channels}};
  }
  void clear_padding(tensor3<T> to, bool overwrites) const {
    if (to.data() != nullptr && overwrites)
      for_each_element(to, chunk_, valid_, length_,
                       [](index_t, index_t, T& element) { element = T(0.0F); });
  }

  // Loads row 0 of a sample; without data, real parts are `missing` and imaginary parts 0.
  template <class From>
  void load_numbers(tensor4<From const> from, index_t batch, int missing, A* to) const {
    std::fill_n(to, config_.numbers() * buffers_.pitch, A(0));
    for (index_t j = 0; j < config_.numbers(); ++j)
      for (index_t c = 0; c < chunk_.channels; ++c)
        to[j * buffers_.pitch + c] = from.data() != nullptr
                                         ? static_cast<A>(from(batch, j, 0, chunk_.channel + c))
                                     : config_.is_complex && j % 2 != 0 ? A(0)
                                                                        : static_cast<A>(missing);
  }
  void store_numbers(A const* from, tensor4<A> to) const {
    if (to.data() == nullptr) return;
    for (index_t j = 0; j < config_.numbers(); ++j)
      for (index_t c = 0; c < chunk_.channels; ++c)
        to(chunk_.batch, j, 0, chunk_.channel + c) = rounded<A>(from[j * buffers_.pitch + c]);
  }

  decay_kernels<T> const& kernels_;
  decay_config config_;
  column_chunk chunk_;
  index_t length_, valid_;
  row_walk walk_;
  decay_buffers<T> buffers_;
  walked_rows<T const> x_, a_;
};

SLICESORT_DETAIL_END
