// SPDX-License-Identifier: Apache-2.0
// Compare-exchange of row pairs (csp with groups of two). A thread processes eight pairs of a
// column, whose saved state is one byte.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/device/group_tile.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/csp/device/groups_view.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

inline constexpr int rows_per_byte = 16;

template <class T>
struct exchange_pairs_kernel {
  static constexpr int max_threads = sizeof(T) == 8 ? 512 : 1024;
  using tile_type = group_tile<T, 4>;
  using bits = bits_t<T>;

  groups_view<T> view;
  tile_type tile;  // its units have rows_per_byte rows

  template <class SharedAllocator>
  SLICESORT_HD T* shared(SharedAllocator& shared_memory) const {
    return tile.shared(shared_memory, view.groups.extents);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = tile.open(block, view.groups, view.x);
    if (!work.inside) return;
    auto const length = static_cast<std::uint32_t>(view.groups.extents.length);
    for (std::uint32_t unit = work.first; unit < work.last; unit += work.step) {
      std::uint32_t const first = unit * rows_per_byte;
      // A pair is sorted in descending order if its reference pair is out of order.
      unsigned descending = 0;
      if (view.destinations.present())
        descending =
            group_column<std::uint8_t const>(view.destinations, {work.index.batch, 0})[unit];
      if (work.contiguous(first, rows_per_byte))
        exchange<true, Block>(work, unit, descending, rows_per_byte, length);
      else
        exchange<false, Block>(work, unit, descending, work.column.valid, length);
    }
  }

 private:
  // Whole: all rows of the byte are valid and contiguous.
  template <bool Whole, class Block>
  SLICESORT_HD_INLINE void exchange(typename tile_type::thread_work const& work, std::uint32_t unit,
                                    unsigned descending, std::uint32_t valid,
                                    std::uint32_t length) const {
    std::uint32_t const first = unit * rows_per_byte;
    bits value[rows_per_byte];
    if constexpr (Whole)
      work.read_contiguous(first, rows_per_byte, value);
    else
      work.read_scattered(first, length, value);
    unsigned const ordered =
        work.column.ascending ? in_order<Block, true>(value) : in_order<Block, false>(value);
    unsigned exchanged = ~(ordered ^ descending) & 0xffu;
    if constexpr (!Whole) {  // pairs with a row past the end stay in place
      std::uint32_t const pairs = valid > first ? (valid - first) / 2 : 0;
      if (pairs < rows_per_byte / 2) exchanged &= (1u << pairs) - 1u;
    }
    SLICESORT_UNROLL
    for (int i = 0; i < rows_per_byte; i += 2) {
      bool const swap = (exchanged >> (i / 2) & 1u) != 0;
      bits const a = value[i], b = value[i + 1];
      value[i] = swap ? b : a;
      value[i + 1] = swap ? a : b;
    }
    if (view.needs_rows()) {
      group_column<std::uint8_t> const order(view.order, work.index);
      order.data[static_cast<index_t>(unit) * order.stride] = static_cast<std::uint8_t>(exchanged);
    }
    if (!view.needs_values()) return;
    column_of<T> const y(view.y, work.index);
    T* target = y.data + static_cast<index_t>(first) * y.stride;
    SLICESORT_UNROLL
    for (unsigned i = 0; i < rows_per_byte; ++i)
      if (Whole || first + i < length) {
        *target = bit_cast<T>(value[i]);
        if (Whole || first + i + 1 < length) target += y.stride;
      }
  }

  // Returns one bit per pair, set if its first value sorts before or equal to its second.
  template <class Block, bool Ascending>
  static SLICESORT_HD_INLINE unsigned in_order(bits const (&value)[rows_per_byte]) {
    unsigned ordered_pairs = 0;
    SLICESORT_UNROLL
    for (int i = 0; i < rows_per_byte; i += 2) {
      bits const a = value[Ascending ? i : i + 1], b = value[Ascending ? i + 1 : i];
      bool ordered = false;
      if constexpr (is_float_prefix<T>)
        ordered = Block::at_most(widen_to_float<T>(a), widen_to_float<T>(b));
      else
        ordered = sortable_key<T>(a) <= sortable_key<T>(b);
      ordered_pairs |= static_cast<unsigned>(ordered) << (i / 2);
    }
    return ordered_pairs;
  }
};

// Backward of unshifted pairs. Exchanges rows of dy according to the saved bits.
template <class T>
struct return_pairs_kernel {
  static constexpr int max_threads = 256;
  using tile_type = group_tile<T, 4>;

  csp_groups groups;
  tensor3<T const> dy;
  tensor3<T> dx;  // may be dy
  group_rows order;
  grad_mode mode;
  tile_type tile;  // its units have rows_per_byte rows

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = tile.open(block, groups, dy);
    if (!work.inside) return;
    for (std::uint32_t unit = work.first; unit < work.last; unit += work.step)
      if (work.contiguous(unit * rows_per_byte, rows_per_byte))
        exchange<true, Block>(work, unit, work.column.valid);
      else
        exchange<false, Block>(work, unit, work.column.valid);
  }

 private:
  template <bool Whole, class Block>
  SLICESORT_HD_INLINE void exchange(typename tile_type::thread_work const& work, std::uint32_t unit,
                                    std::uint32_t valid) const {
    std::uint32_t const first = unit * rows_per_byte;
    auto const length = static_cast<std::uint32_t>(groups.extents.length);
    unsigned const exchanged = group_column<std::uint8_t const>(order, work.index)[unit];
    bits_t<T> value[rows_per_byte];
    if constexpr (Whole)
      work.read_contiguous(first, rows_per_byte, value);
    else
      work.read_scattered(first, length, value);
    column_of<T> const target(dx, work.index);
    T old[rows_per_byte] = {};
    if (mode == grad_mode::accumulate) {
      SLICESORT_UNROLL
      for (unsigned i = 0; i < rows_per_byte; ++i)
        if (Whole || first + i < length) old[i] = target[static_cast<index_t>(first) + i];
    }
    SLICESORT_UNROLL
    for (unsigned i = 0; i < rows_per_byte; ++i) {
      bool const swap = (exchanged >> (i / 2) & 1u) != 0 && (Whole || first + (i | 1u) < valid);
      if (Whole || first + i < length)
        target[static_cast<index_t>(first) + i] = stored_or_accumulated<Block>(
            mode, old[i], bit_cast<T>(swap ? value[i ^ 1u] : value[i]));
    }
  }
};

SLICESORT_DETAIL_END
