// SPDX-License-Identifier: Apache-2.0
// Short columns: one thread sorts one column in its registers. Neighbouring threads take neighbouring
// columns, so that every load and store is a row of the tensor; no shared memory, no barrier.
#pragma once

#include <slicesort/detail/block/column_sort.hpp>
#include <slicesort/detail/block/columns.hpp>
#include <slicesort/detail/block/network.hpp>
#include <slicesort/detail/math/sort_word.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// What becomes of a word: a value's bits and their row, in one register where both fit.
template <class Bits>
struct placed_value {
  SLICESORT_HD_INLINE void set(Bits value, std::uint32_t row) {
    value_ = value;
    row_ = row;
  }
  SLICESORT_HD_INLINE Bits value() const { return value_; }
  SLICESORT_HD_INLINE std::uint32_t row() const { return row_; }
  template <class Block>
  SLICESORT_HD_INLINE void keep_together() {}

  Bits value_;
  std::uint32_t row_;
};
template <>
struct placed_value<std::uint16_t> {
  SLICESORT_HD_INLINE void set(std::uint16_t value, std::uint32_t row) {
    both_ = static_cast<std::uint32_t>(value) << 16 | row;
  }
  SLICESORT_HD_INLINE std::uint16_t value() const {
    return static_cast<std::uint16_t>(both_ >> 16);
  }
  SLICESORT_HD_INLINE std::uint32_t row() const { return both_ & 0xffffu; }
  // Else the compiler takes them apart again, and holds both halves of every row.
  template <class Block>
  SLICESORT_HD_INLINE void keep_together() {
    both_ = static_cast<std::uint32_t>(Block::renew(static_cast<int>(both_)));
  }

  std::uint32_t both_;
};

// Rows: a power of two, at least the length.
template <class T, class Order, int Rows>
struct sort_registers_body {
  static constexpr int max_threads = 128;

  column_sort<T, Order> job;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using words = detail::sort_word<T, Block::fast_double>;
    using bits = detail::bits_t<T>;
    extents3 const e = job.x.extents();
    index_t const column = block.index() * block.size() + block.rank();
    if (column >= e.batch * e.channels) return;
    column_place const at = place_of(column, e.channels);
    bool const ascending = detail::ascends(job.order, at.channel, e.channels);
    int const length = static_cast<int>(e.length);
    int const valid = static_cast<int>(rows_of(job.lengths, at.batch, e.length));
    column_of<T const> const x(job.x, at);

    // Rows past `valid` are read too, and left out: one condition for all threads is cheap.
    typename words::type v[static_cast<std::size_t>(Rows)];
    bool lossy = false;
    for_groups(
        length,
        [&](int i, bool in) {
          bits const value = in ? detail::bit_cast<bits>(x[i]) : bits{0};
          lossy |= (i < valid) & detail::key_alters<T>(value);
          v[i] = i < valid ? words::make(value, ascending, static_cast<std::uint32_t>(i))
                           : words::last();
        },
        [&](int i) { v[i] = words::last(); });
    sort_words<comparator<Block, words>, Rows>(v);

    // Rows past the valid ones stay.
    int const kept = Block::renew(valid);
    placed_value<bits> sorted[static_cast<std::size_t>(Rows)];
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i)
      sorted[i].set(words::value(v[i], ascending),
                    i < kept ? words::row(v[i]) : static_cast<std::uint32_t>(i));
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i) sorted[i].template keep_together<Block>();
    if (job.perm.present()) {
      index_column const perm(job.perm, at);
      auto const row = [&](int i) { return sorted[i].row(); };
      if (perm.narrow)
        store(static_cast<std::uint16_t*>(perm.data), perm.stride, length, row);
      else
        store(static_cast<std::uint32_t*>(perm.data), perm.stride, length, row);
    }
    if (job.y.data() == nullptr) return;
    // y may be x: everything is read before anything is written.
    if (lossy || kept < length) {
      SLICESORT_UNROLL
      for (int i = 0; i < Rows; ++i)
        if (i < length && (i >= kept || detail::key_loses<T>(sorted[i].value())))
          sorted[i].set(detail::bit_cast<bits>(x[static_cast<index_t>(sorted[i].row())]),
                        sorted[i].row());
    }
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i) sorted[i].template keep_together<Block>();
    column_of<T> const y(job.y, at);
    store(y.data, y.stride, length, [&](int i) { return detail::bit_cast<T>(sorted[i].value()); });
  }

 private:
  // Calls f(i, whether i < length) in groups of rows, or g(i) for whole groups past the end. A group is
  // what a thread has under way at one time: without the branch between them the compiler would keep
  // the addresses of all rows in registers.
  template <class F, class G>
  static SLICESORT_HD_INLINE void for_groups(int length, F const& f, G const& g) {
    constexpr int group = 16;
    SLICESORT_UNROLL
    for (int first = 0; first < Rows; first += group)
      if (first < length) {
        SLICESORT_UNROLL
        for (int i = first; i < first + group; ++i) f(i, i < length);
      } else {
        SLICESORT_UNROLL
        for (int i = first; i < first + group; ++i) g(i);
      }
  }
  template <class Element, class Value>
  static SLICESORT_HD_INLINE void store(Element* to, index_t stride, int length,
                                        Value const& value) {
    for_groups(
        length,
        [&](int i, bool in) {
          if (in) to[i * stride] = static_cast<Element>(value(i));
        },
        [](int) {});
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
