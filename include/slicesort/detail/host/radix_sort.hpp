// SPDX-License-Identifier: Apache-2.0
// Columns too long for 16-bit indices: a stable radix sort from the lowest digit, column by column,
// on tiles of one cache line of columns so that every line of the tensor is read and written once.
#pragma once

#include <slicesort/detail/arena.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/math/total_order.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class T>
class radix_tile {
 public:
  using bits = detail::bits_t<T>;
  static constexpr int columns = 64 / static_cast<int>(sizeof(T));

  // Scratch for one tile of columns of `rows` rows.
  radix_tile(detail::arena& a, index_t rows)
      : pitch_(static_cast<std::size_t>(rows) + 96 / sizeof(bits)),  // not a power of two
        keys_(a.take<bits>(pitch_ * static_cast<std::size_t>(columns))),
        rows_(a.take<std::uint32_t>(pitch_ * static_cast<std::size_t>(columns))),
        front_(a.take<item>(static_cast<std::size_t>(rows))),
        back_(a.take<item>(static_cast<std::size_t>(rows))) {}

  void run(column_tile<T> const& t) {
    load(t);
    for (int c = 0; c < t.width; ++c) {
      sort_column(keys_ + pitch_ * static_cast<std::size_t>(c),
                  rows_ + pitch_ * static_cast<std::size_t>(c),
                  static_cast<std::size_t>(t.valid[c]));
      restore_column(t, c);
    }
    store(t);
  }

 private:
  static constexpr int digit_bits = sizeof(T) == 2 ? 8 : 11;
  static constexpr int digits = (8 * static_cast<int>(sizeof(T)) + digit_bits - 1) / digit_bits;
  static constexpr std::size_t buckets = std::size_t{1} << digit_bits;
  static constexpr int batch = 16;
  static constexpr std::size_t stage_size = static_cast<std::size_t>(batch * columns);

  struct item {
    bits key;
    std::uint32_t row;
  };

  static std::size_t digit(bits key, int d) {
    return static_cast<std::size_t>(key >> (d * digit_bits)) & (buckets - 1);
  }

  void load(column_tile<T> const& t) {
    bits stage[stage_size];
    for (index_t i = 0; i < t.rows; i += batch) {
      int const count = t.rows - i < batch ? static_cast<int>(t.rows - i) : batch;
      gather_rows(t.x, t.x_at, 0, t.width, i, count, stage, columns);
      for (int c = 0; c < t.width; ++c)
        for (int k = 0; k < count; ++k)
          keys_[pitch_ * static_cast<std::size_t>(c) + static_cast<std::size_t>(i + k)] =
              static_cast<bits>(detail::sortable_key<T>(stage[k * columns + c]) ^ t.flip[c]);
    }
  }

  // Sorts keys[0, n) and writes where each came from.
  void sort_column(bits* keys, std::uint32_t* rows, std::size_t n) {
    std::uint32_t counts[static_cast<std::size_t>(digits)][buckets] = {};
    bool sorted = true;
    for (std::size_t i = 0; i < n; ++i) {
      for (int d = 0; d < digits; ++d) ++counts[d][digit(keys[i], d)];
      sorted &= i == 0 || keys[i - 1] <= keys[i];
    }
    for (std::size_t i = 0; i < n; ++i) front_[i] = {keys[i], static_cast<std::uint32_t>(i)};
    if (!sorted)
      for (int d = 0; d < digits; ++d) {
        if (counts[d][digit(keys[0], d)] == n) continue;  // every key has this digit
        std::uint32_t start = 0;
        for (std::uint32_t& count : counts[d]) {
          std::uint32_t const here = count;
          count = start;
          start += here;
        }
        for (std::size_t i = 0; i < n; ++i) back_[counts[d][digit(front_[i].key, d)]++] = front_[i];
        item* const t = front_;
        front_ = back_;
        back_ = t;
      }
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = front_[i].key;
      rows[i] = front_[i].row;
    }
  }

  // Keys become the bits of the values; those that a key cannot tell are fetched from where they
  // came.
  void restore_column(column_tile<T> const& t, int c) {
    bits* const keys = keys_ + pitch_ * static_cast<std::size_t>(c);
    std::uint32_t* const rows = rows_ + pitch_ * static_cast<std::size_t>(c);
    T const* const x = t.x + t.x_at.start[c];
    for (index_t i = 0; i < t.rows; ++i) {
      bits const key = static_cast<bits>(keys[i] ^ t.flip[c]);
      bool const past = i >= t.valid[c];
      if (past) rows[i] = static_cast<std::uint32_t>(i);
      if (past || key == detail::sign_bit<bits> || key == static_cast<bits>(~bits{0}))
        std::memcpy(keys + i, x + static_cast<index_t>(rows[i]) * t.x_at.pitch, sizeof(bits));
      else
        keys[i] = static_cast<bits>(
            (key & detail::sign_bit<bits>) != 0 ? key ^ detail::sign_bit<bits> : ~key);
    }
  }

  void store(column_tile<T> const& t) const {
    store_columns(keys_, t, t.y_at, t.y);
    if (t.perm != nullptr) store_columns(rows_, t, t.perm_at, static_cast<std::uint32_t*>(t.perm));
  }
  template <class From, class To>
  void store_columns(From const* from, column_tile<T> const& t, tile_operand const& at,
                     To* to) const {
    From stage[stage_size];
    for (index_t i = 0; i < t.rows; i += batch) {
      int const count = t.rows - i < batch ? static_cast<int>(t.rows - i) : batch;
      for (int c = 0; c < t.width; ++c)
        for (int k = 0; k < count; ++k)
          stage[k * columns + c] =
              from[pitch_ * static_cast<std::size_t>(c) + static_cast<std::size_t>(i + k)];
      scatter_rows(stage, columns, t.width, i, count, at, to);
    }
  }

  std::size_t pitch_;
  bits* keys_;           // [columns][pitch]
  std::uint32_t* rows_;  // [columns][pitch]
  item *front_, *back_;  // one column
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
