// SPDX-License-Identifier: Apache-2.0
// Kernel of small matrices. A thread computes a matrix, in tiles in shared memory.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/elementary.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sinkhorn/half_steps.hpp>
#include <slicesort/detail/sinkhorn/loops.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class T, bool Backward>
struct small_matrices_kernel {
  static constexpr int max_threads = 128;
  using A = accumulator_t<T>;

  tensor3<T const> logits;
  tensor3<T const> dy;  // backward
  tensor3<T> result;    // y or dlogits
  tensor1<index_t const> row_lengths, column_lengths;
  sinkhorn_steps steps;
  A inverse_tau;
  grad_mode mode;
  index_t first_sample;
  int threads;
  A* vectors;  // backward: [block][vector][row or column][thread], of blocks of this launch

  // Numbers of a row or column of a tile: one more than threads, against bank conflicts.
  SLICESORT_HD int lanes() const { return threads + 1; }
  SLICESORT_HD index_t vector_pitch() const {
    extents3 const e = logits.extents();
    return (e.length < e.channels ? e.channels : e.length) * lanes();
  }
  // Numbers of a block in `vectors`.
  SLICESORT_HD index_t vectors_per_block() const { return (3 * steps.count + 2) * vector_pitch(); }

  struct arrays {
    A *x, *exponents, *dy, *factors;
  };
  template <class SharedAllocator>
  SLICESORT_HD arrays shared(SharedAllocator& memory) const {
    extents3 const e = logits.extents();
    auto const tile = static_cast<std::size_t>(e.length * e.channels * lanes());
    arrays a{};
    a.x = memory.template allocate<A>(tile);
    a.exponents = memory.template allocate<A>(tile);
    a.dy = memory.template allocate<A>(Backward ? tile : 0);
    a.factors =
        memory.template allocate<A>(Backward ? 0 : 4 * static_cast<std::size_t>(vector_pitch()));
    return a;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    arrays const tiles = shared(block);
    extents3 const e = logits.extents();
    index_t const sample = first_sample + block.index() * threads;
    load(block, logits, sample, minus_infinity<A>(), tiles.x);
    if constexpr (Backward) load(block, dy, sample, A(0), tiles.dy);
    block.sync();
    if (sample + block.rank() < e.batch) run(block, sample + block.rank(), tiles);
    block.sync();
    for_each_element(block, sample, [&](index_t b, index_t i, index_t j, int offset) {
      matrix_size const size = size_of_sample(*this, b);
      if (i < size.rows && j < size.columns)
        store_or_accumulate_sum(mode, result(b, i, j), tiles.x[offset]);
      else if (mode == grad_mode::overwrite)
        result(b, i, j) = T(0.0F);
    });
  }

 private:
  // Computes the matrix of this thread's sample in its lane.
  template <class Block>
  SLICESORT_HD_INLINE void run(Block& block, index_t sample, arrays const& tiles) const {
    extents3 const e = logits.extents();
    int const lane = block.rank();
    matrix_size const size = size_of_sample(*this, sample);
    A const ratio = size.template ratio<A>(), inverse_ratio = size.template inverse_ratio<A>();
    matrix_tile<A> tile{};
    tile.x = tiles.x + lane;
    tile.exponents = tiles.exponents + lane;
    tile.dy = tiles.dy + lane;
    tile.ratios = &ratio;
    tile.inverse_ratios = &inverse_ratio;
    tile.rows = e.length;
    tile.columns = e.channels;
    tile.lanes = lanes();
    tile.vectors.pitch = vector_pitch();
    tile.vectors.keeps_all = Backward;
    if constexpr (Backward) {
      A* const memory = vectors + block.index() * vectors_per_block() + lane;
      tile.vectors.potentials = memory;
      tile.vectors.exponents = memory + (steps.count + 1) * vector_pitch();
      tile.vectors.grads = memory + (2 * steps.count + 2) * vector_pitch();
    } else {
      tile.vectors.potentials = tiles.factors + lane;
      tile.vectors.exponents = tiles.factors + 2 * vector_pitch() + lane;
    }
    tile.steps = steps;
    tile.inverse_tau = inverse_tau;
    using ops = scalar_values<Block, A>;
    small_matrices_loops<ops, 1>::template run<Backward>(ops{block}, tile);
  }

  // Calls f(sample, row, column, offset in a tile) for the elements of a thread. Neighboring
  // threads have neighboring elements.
  template <class Block, class F>
  SLICESORT_HD_INLINE void for_each_element(Block const& block, index_t sample, F const& f) const {
    extents3 const e = logits.extents();
    int const columns = static_cast<int>(e.channels),
              elements = static_cast<int>(e.length) * columns;
    for (int index = block.rank(); index < elements * threads; index += threads) {
      int const lane = index / elements, k = index - lane * elements, i = k / columns;
      if (sample + lane < e.batch)
        f(sample + lane, index_t{i}, index_t{k - i * columns}, k * lanes() + lane);
    }
  }
  // Loads a tile. Elements past a length become `padding`. Lanes without a sample stay as they are.
  template <class Block>
  SLICESORT_HD_INLINE void load(Block const& block, tensor3<T const> tensor, index_t sample,
                                A padding, A* tile) const {
    for_each_element(block, sample, [&](index_t b, index_t i, index_t j, int offset) {
      matrix_size const size = size_of_sample(*this, b);
      tile[offset] = i < size.rows && j < size.columns ? static_cast<A>(tensor(b, i, j)) : padding;
    });
  }
};

SLICESORT_DETAIL_END
