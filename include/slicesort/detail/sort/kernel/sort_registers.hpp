// SPDX-License-Identifier: Apache-2.0
// Short columns: one thread sorts one column in its registers. Neighboring threads take neighboring
// columns, so that every load and store is a row of the tensor; no shared memory, no barrier.
#pragma once

#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/kernel/network.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// What a packed key becomes: the bits of a value and its row, in one register where both fit.
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
  // Without this the compiler splits the register again, and keeps both halves of every row.
  template <class Block>
  SLICESORT_HD_INLINE void keep_together() {
    both_ = static_cast<std::uint32_t>(Block::opaque(static_cast<int>(both_)));
  }

  std::uint32_t both_;
};

// Rows that a thread has in flight. Without the branch between such groups the compiler would keep
// the addresses of all rows in registers.
template <int Rows>
inline constexpr int register_group = Rows < 16 ? Rows : 16;

// f(i) for every row i < length, in groups.
template <int Rows, class F>
SLICESORT_HD_INLINE void for_register_rows(int length, F const& f) {
  SLICESORT_UNROLL
  for (int first = 0; first < Rows; first += register_group<Rows>)
    if (first < length) {
      SLICESORT_UNROLL
      for (int i = first; i < first + register_group<Rows>; ++i)
        if (i < length) f(i);
    }
}
// value[k] = the bits of row first + k, or 0 past the end.
template <class Bits, std::size_t Count, class Load>
SLICESORT_HD_INLINE void read_register_rows(int first, int length, Bits (&value)[Count],
                                            Load const& load) {
  SLICESORT_UNROLL
  for (int k = 0; k < static_cast<int>(Count); ++k)
    value[k] = first + k < length ? detail::bit_cast<Bits>(load(first + k)) : Bits{0};
}
// to[0], to[stride], .. = value(0), value(1), ..
template <int Rows, class Element, class Value>
SLICESORT_HD_INLINE void store_register_rows(Element* to, index_t stride, int length,
                                             Value const& value) {
  for_register_rows<Rows>(length, [&](int i) { to[i * stride] = static_cast<Element>(value(i)); });
}

// Sorts the first `valid` of a thread's `length` rows. Rows is a power of two, at least the length.
// `rows` gives the values, by read(first, bits) and rows[i], and takes the results:
// put_numbers<Rows>(f) with f(i) the row that becomes row i and, if needs_values(),
// put_values<Rows>(f) with its bits. Everything is read before values are put.
template <class Block, class T, int Rows, class Column>
SLICESORT_HD_INLINE void sort_thread_rows(Column const& rows, int length, int valid,
                                          bool ascending) {
  using keys = detail::packed_key<T, Block::fast_double>;
  using bits = detail::bits_t<T>;

  // Rows past `valid` are read too, and left out: one condition for all threads is cheap.
  typename keys::type v[static_cast<std::size_t>(Rows)];
  bool lossy = false;
  SLICESORT_UNROLL
  for (int first = 0; first < Rows; first += register_group<Rows>)
    if (first < length) {
      bits value[static_cast<std::size_t>(register_group<Rows>)];
      rows.read(first, value);
      SLICESORT_UNROLL
      for (int k = 0; k < register_group<Rows>; ++k) {
        int const i = first + k;
        lossy |= (i < valid) & detail::key_alters<T>(value[k]);
        v[i] = i < valid ? keys::make(value[k], ascending, static_cast<std::uint32_t>(i))
                         : keys::last();
      }
    } else {
      SLICESORT_UNROLL
      for (int k = 0; k < register_group<Rows>; ++k) v[first + k] = keys::last();
    }
  sort_keys<comparator<Block, keys>, Rows>(v);

  // Rows past the valid ones stay.
  int const kept = Block::opaque(valid);
  placed_value<bits> sorted[static_cast<std::size_t>(Rows)];
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i)
    sorted[i].set(keys::value(v[i], ascending),
                  i < kept ? keys::row(v[i]) : static_cast<std::uint32_t>(i));
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i) sorted[i].template keep_together<Block>();
  rows.template put_numbers<Rows>([&](int i) { return sorted[i].row(); });
  if (!rows.needs_values()) return;
  if (lossy || kept < length) {
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i)
      if (i < length && (i >= kept || detail::key_loses<T>(sorted[i].value())))
        sorted[i].set(detail::bit_cast<bits>(rows[static_cast<int>(sorted[i].row())]),
                      sorted[i].row());
  }
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i) sorted[i].template keep_together<Block>();
  rows.template put_values<Rows>([&](int i) { return sorted[i].value(); });
}

template <class View, int Rows>
struct sort_registers_body {
  static constexpr int max_threads = 128;
  using T = typename View::element;

  View view;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const column = block.index() * block.size() + block.rank();
    if (column >= view.columns()) return;
    column_index const at = view.locate(column);
    bool const ascending = view.ascending(at);
    int const length = static_cast<int>(view.length());
    int const valid = static_cast<int>(view.valid(at));
    sort_thread_rows<Block, T, Rows>(rows_there{view, at, length, view.values(at)}, length, valid,
                                     ascending);
  }

 private:
  struct rows_there {
    View const& view;
    column_index at;
    int length;
    column_of<T const> x;

    template <std::size_t Count>
    SLICESORT_HD_INLINE void read(int first, detail::bits_t<T> (&value)[Count]) const {
      read_register_rows(first, length, value, [&](int i) { return x[i]; });
    }
    SLICESORT_HD_INLINE T operator[](int row) const { return x[row]; }
    SLICESORT_HD_INLINE bool needs_values() const { return view.needs_values(); }
    template <int, class Number>
    SLICESORT_HD_INLINE void put_numbers(Number const& number) const {
      if (!view.needs_rows()) return;
      index_column const perm(view.perm, at);
      if (perm.narrow)
        store_register_rows<Rows>(static_cast<std::uint16_t*>(perm.data), perm.stride, length,
                                  number);
      else
        store_register_rows<Rows>(static_cast<std::uint32_t*>(perm.data), perm.stride, length,
                                  number);
    }
    template <int, class Value>
    SLICESORT_HD_INLINE void put_values(Value const& value) const {
      column_of<T> const y(view.y, at);
      store_register_rows<Rows>(y.data, y.stride, length,
                                [&](int i) { return detail::bit_cast<T>(value(i)); });
    }
  };
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
