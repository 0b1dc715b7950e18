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

// Rows whose saved order fills a byte: eight pairs.
inline constexpr int rows_per_byte = 16;

template <class T>
struct exchange_pairs_kernel {
  static constexpr int max_threads = sizeof(T) == 8 ? 512 : 1024;
  using tile_type = group_tile<T, 4>;
  using bits = bits_t<T>;

  groups_view<T> view;
  tile_type tile;  // each unit has rows_per_byte rows

  template <class SharedAllocator>
  SLICESORT_HD T* shared(SharedAllocator& shared_memory) const {
    return tile.allocate_tile(shared_memory, view.groups.extents);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = tile.begin_work(block, view.groups, view.x);
    if (!work.has_column) return;
    auto const length = static_cast<std::uint32_t>(view.groups.extents.length);
    for (std::uint32_t unit = work.first_unit; unit < work.end_unit; unit += work.unit_step) {
      std::uint32_t const first_row = unit * rows_per_byte;
      // A pair is sorted in descending order if its reference pair is out of order.
      unsigned descending_bits = 0;
      if (view.destinations.is_present())
        descending_bits =
            order_column<std::uint8_t const>(view.destinations, {work.index.batch, 0})[unit];
      if (work.is_contiguous(first_row, rows_per_byte))
        exchange<true, Block>(work, unit, descending_bits, rows_per_byte, length);
      else
        exchange<false, Block>(work, unit, descending_bits, work.column.valid, length);
    }
  }

 private:
  // Full: all rows of the unit are valid and contiguous.
  template <bool Full, class Block>
  SLICESORT_HD_INLINE void exchange(typename tile_type::thread_work const& work, std::uint32_t unit,
                                    unsigned descending_bits, std::uint32_t valid,
                                    std::uint32_t length) const {
    std::uint32_t const first_row = unit * rows_per_byte;
    bits value[rows_per_byte];
    if constexpr (Full)
      work.read_contiguous(first_row, rows_per_byte, value);
    else
      work.read_scattered(first_row, length, value);
    unsigned const ordered_bits =
        work.column.ascending ? in_order<Block, true>(value) : in_order<Block, false>(value);
    unsigned exchanged_bits = ~(ordered_bits ^ descending_bits) & 0xffu;
    if constexpr (!Full) {  // pairs with a row past the end stay in place
      std::uint32_t const valid_pairs = valid > first_row ? (valid - first_row) / 2 : 0;
      if (valid_pairs < rows_per_byte / 2) exchanged_bits &= (1u << valid_pairs) - 1u;
    }
    SLICESORT_UNROLL
    for (int i = 0; i < rows_per_byte; i += 2) {
      bool const swap = (exchanged_bits >> (i / 2) & 1u) != 0;
      bits const a = value[i], b = value[i + 1];
      value[i] = swap ? b : a;
      value[i + 1] = swap ? a : b;
    }
    if (view.needs_rows()) {
      order_column<std::uint8_t> const order(view.order, work.index);
      order.data[static_cast<index_t>(unit) * order.stride] =
          static_cast<std::uint8_t>(exchanged_bits);
    }
    if (!view.needs_values()) return;
    column_of<T> const y(view.y, work.index);
    T* target = y.data + static_cast<index_t>(first_row) * y.stride;
    SLICESORT_UNROLL
    for (unsigned i = 0; i < rows_per_byte; ++i)
      if (Full || first_row + i < length) {
        *target = bit_cast<T>(value[i]);
        if (Full || first_row + i + 1 < length) target += y.stride;
      }
  }

  // Returns one bit per pair, set if its first value sorts before or equal to its second.
  template <class Block, bool Ascending>
  static SLICESORT_HD_INLINE unsigned in_order(bits const (&value)[rows_per_byte]) {
    unsigned ordered_bits = 0;
    SLICESORT_UNROLL
    for (int i = 0; i < rows_per_byte; i += 2) {
      bits const a = value[Ascending ? i : i + 1], b = value[Ascending ? i + 1 : i];
      bool ordered = false;
      if constexpr (is_float_prefix<T>)
        ordered = Block::at_most(widen_to_float<T>(a), widen_to_float<T>(b));
      else
        ordered = sortable_key<T>(a) <= sortable_key<T>(b);
      ordered_bits |= static_cast<unsigned>(ordered) << (i / 2);
    }
    return ordered_bits;
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
  order_tensor order;
  grad_mode mode;
  tile_type tile;  // each unit has rows_per_byte rows

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = tile.begin_work(block, groups, dy);
    if (!work.has_column) return;
    for (std::uint32_t unit = work.first_unit; unit < work.end_unit; unit += work.unit_step)
      if (work.is_contiguous(unit * rows_per_byte, rows_per_byte))
        exchange<true, Block>(work, unit, work.column.valid);
      else
        exchange<false, Block>(work, unit, work.column.valid);
  }

 private:
  template <bool Full, class Block>
  SLICESORT_HD_INLINE void exchange(typename tile_type::thread_work const& work, std::uint32_t unit,
                                    std::uint32_t valid) const {
    std::uint32_t const first_row = unit * rows_per_byte;
    auto const length = static_cast<std::uint32_t>(groups.extents.length);
    unsigned const exchanged_bits = order_column<std::uint8_t const>(order, work.index)[unit];
    bits_t<T> value[rows_per_byte];
    if constexpr (Full)
      work.read_contiguous(first_row, rows_per_byte, value);
    else
      work.read_scattered(first_row, length, value);
    column_of<T> const target(dx, work.index);
    T old[rows_per_byte] = {};
    if (mode == grad_mode::accumulate) {
      SLICESORT_UNROLL
      for (unsigned i = 0; i < rows_per_byte; ++i)
        if (Full || first_row + i < length) old[i] = target[static_cast<index_t>(first_row) + i];
    }
    SLICESORT_UNROLL
    for (unsigned i = 0; i < rows_per_byte; ++i) {
      bool const swap =
          (exchanged_bits >> (i / 2) & 1u) != 0 && (Full || first_row + (i | 1u) < valid);
      if (Full || first_row + i < length)
        target[static_cast<index_t>(first_row) + i] = stored_or_accumulated<Block>(
            mode, old[i], bit_cast<T>(swap ? value[i ^ 1u] : value[i]));
    }
  }
};

SLICESORT_DETAIL_END
