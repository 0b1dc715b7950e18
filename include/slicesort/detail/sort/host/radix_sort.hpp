// SPDX-License-Identifier: Apache-2.0
// Stable radix sort, column by column, for columns too long for 16-bit indices. The columns of a
// tile fill a cache line, so every line of the tensor is read and written once.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sort/host/radix_transfer.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

SLICESORT_DETAIL_BEGIN

template <class T>
class radix_tile {
 public:
  using bits = bits_t<T>;
  static constexpr int columns = radix_columns<T>;

  radix_tile() = default;
  radix_tile(arena& memory, index_t rows)
      : pitch_(transposed_pitch<T>(rows)),
        keys_(memory.take<bits>(static_cast<std::size_t>(pitch_ * columns))),
        rows_(memory.take<std::uint32_t>(static_cast<std::size_t>(pitch_ * columns))),
        entries_(memory.take<entry>(static_cast<std::size_t>(rows))),
        spare_entries_(memory.take<entry>(static_cast<std::size_t>(rows))) {}

  void run(column_tile<T> const& tile) {
    bits lost_bits[static_cast<std::size_t>(columns)] = {};
    load_columns(tile, keys_, pitch_, lost_bits);
    for (int c = 0; c < tile.width; ++c) sort_column(tile, c, lost_bits[c] != 0);
    if (tile.y != nullptr) store_columns(keys_, pitch_, tile, tile.y_layout, tile.y);
    if (tile.perm != nullptr)
      store_columns(rows_, pitch_, tile, tile.perm_layout, static_cast<std::uint32_t*>(tile.perm));
  }

 private:
  static constexpr int key_bits = 8 * static_cast<int>(sizeof(T));
  static constexpr int high_bits = key_bits == 16 ? 8 : 11;
  static constexpr std::size_t buckets = std::size_t{1} << high_bits;

  struct entry {
    bits key;
    std::uint32_t row;
  };

  static std::size_t high_digit(bits key) {
    return static_cast<std::size_t>(key >> (key_bits - high_bits));
  }

  // Output of one column. The sorted values overwrite its keys.
  struct output_column {
    bits* keys;
    std::uint32_t* rows;
    T const* x;
    index_t x_pitch;
    bits descending_mask;
    bool lossy;  // true if some key has lost bits of its value

    void store(std::size_t i, entry source) const {
      bits const key = static_cast<bits>(source.key ^ descending_mask);
      rows[i] = source.row;
      if (lossy && (key == sign_bit<bits> || key == static_cast<bits>(~bits{0})))
        reload_value(i, source.row);  // zero or NaN
      else
        keys[i] = unsortable_bits(key);
    }
    void copy_unchanged(std::uint32_t i) const {
      rows[i] = i;
      reload_value(i, i);
    }
    void reload_value(std::size_t i, std::uint32_t row) const {
      std::memcpy(keys + i, x + static_cast<index_t>(row) * x_pitch, sizeof(bits));
    }
  };

  // Sorts a column of keys, and stores the sorted values and their source rows. One pass over
  // memory distributes the keys by their high digit; the other passes stay within one bucket, in
  // cache.
  void sort_column(column_tile<T> const& tile, int c, bool lossy) {
    output_column out;
    out.keys = keys_ + pitch_ * c, out.rows = rows_ + pitch_ * c;
    out.x = tile.x + tile.x_layout.start[c], out.x_pitch = tile.x_layout.pitch;
    out.descending_mask = tile.descending_mask[c], out.lossy = lossy;
    std::size_t const n = static_cast<std::size_t>(tile.valid[c]);
    for (index_t i = tile.valid[c]; i < tile.rows; ++i)
      out.copy_unchanged(static_cast<std::uint32_t>(i));

    std::uint32_t starts[buckets + 1] = {};
    bool sorted = true;
    bits previous = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ++starts[high_digit(out.keys[i]) + 1];
      sorted &= previous <= out.keys[i];
      previous = out.keys[i];
    }
    if (sorted) {
      for (std::size_t i = 0; i < n; ++i)
        out.store(i, {out.keys[i], static_cast<std::uint32_t>(i)});
      return;
    }
    for (std::size_t b = 0; b < buckets; ++b) starts[b + 1] += starts[b];
    for (std::size_t i = 0; i < n; ++i)
      entries_[starts[high_digit(out.keys[i])]++] = {out.keys[i], static_cast<std::uint32_t>(i)};
    std::size_t first = 0;
    for (std::size_t b = 0; b < buckets; ++b) {  // starts[b] is now the end of bucket b
      sort_bucket(first, starts[b], out);
      first = starts[b];
    }
  }

  // Sorts a bucket by insertion if it is small, else by its low digits. Below 8192 entries digits
  // are short, because counting the values of long digits would cost more than moving the entries.
  void sort_bucket(std::size_t first, std::size_t end, output_column const& out) {
    std::size_t const n = end - first;
    if (n <= 24) {
      for (std::size_t i = first + 1; i < end; ++i)
        for (std::size_t j = i; j > first && entries_[j].key < entries_[j - 1].key; --j)
          std::swap(entries_[j], entries_[j - 1]);
      for (std::size_t i = first; i < end; ++i) out.store(i, entries_[i]);
    } else if (n < 8192) {
      sort_low_digits<7>(first, n, out);
    } else {
      sort_low_digits<11>(first, n, out);
    }
  }

  // Runs stable passes from the lowest digit to the highest and skips digits that all keys share.
  // The last pass writes the column.
  template <int Width>
  void sort_low_digits(std::size_t first, std::size_t n, output_column const& out) {
    constexpr int low_bits = key_bits - high_bits, digits = (low_bits + Width - 1) / Width;
    constexpr std::size_t digit_values = std::size_t{1} << Width;
    // The topmost digit may include bits of the high digit, which all keys of a bucket share.
    auto const digit = [](bits key, int d) {
      return static_cast<std::size_t>(key >> (d * Width)) & (digit_values - 1);
    };
    entry *source = entries_ + first, *target = spare_entries_ + first;
    std::uint32_t starts[static_cast<std::size_t>(digits)][digit_values] = {};
    for (std::size_t i = 0; i < n; ++i)
      for (int d = 0; d < digits; ++d) ++starts[d][digit(source[i].key, d)];
    int last_digit = -1;
    for (int d = 0; d < digits; ++d)
      if (starts[d][digit(source[0].key, d)] != n) last_digit = d;
    if (last_digit < 0)
      for (std::size_t i = 0; i < n; ++i) out.store(first + i, source[i]);
    for (int d = 0; d <= last_digit; ++d) {
      if (starts[d][digit(source[0].key, d)] == n) continue;
      std::uint32_t start = 0;
      for (std::uint32_t& count : starts[d]) start += std::exchange(count, start);
      if (d == last_digit) {
        for (std::size_t i = 0; i < n; ++i)
          out.store(first + starts[d][digit(source[i].key, d)]++, source[i]);
      } else {
        for (std::size_t i = 0; i < n; ++i)
          target[starts[d][digit(source[i].key, d)]++] = source[i];
        std::swap(source, target);
      }
    }
  }

  index_t pitch_ = 0;
  bits* keys_ = nullptr;           // [columns][pitch]; later the sorted values
  std::uint32_t* rows_ = nullptr;  // [columns][pitch]
  entry *entries_ = nullptr, *spare_entries_ = nullptr;  // [rows] each; input and output of a pass
};

SLICESORT_DETAIL_END
