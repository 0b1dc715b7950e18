// SPDX-License-Identifier: Apache-2.0
// Sorts columns that are too long for 16-bit indices: a stable radix sort, column by column. A tile
// is as many columns as fill a cache line, so every line of the tensor is read and written once.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class T>
class radix_tile {
 public:
  using bits = detail::bits_t<T>;
  static constexpr int columns = 64 / static_cast<int>(sizeof(T));

  radix_tile() = default;
  // Takes the scratch memory of one tile of `rows` rows.
  radix_tile(detail::arena& a, index_t rows)
      : pitch_(static_cast<std::size_t>(rows) + batch + 96 / sizeof(bits)),  // not a power of two
        keys_(a.take<bits>(pitch_ * static_cast<std::size_t>(columns))),
        rows_(a.take<std::uint32_t>(pitch_ * static_cast<std::size_t>(columns))),
        front_(a.take<item>(static_cast<std::size_t>(rows))),
        back_(a.take<item>(static_cast<std::size_t>(rows))) {}

  void run(column_tile<T> const& t) {
    load(t);
    for (int c = 0; c < t.width; ++c) sort_column(t, c);
    store(t);
  }

 private:
  static constexpr int key_bits = 8 * static_cast<int>(sizeof(T));
  static constexpr int high_bits = key_bits == 16 ? 8 : 11;
  static constexpr std::size_t buckets = std::size_t{1} << high_bits;
  static constexpr int batch = 16;
  static constexpr std::size_t stage_size = static_cast<std::size_t>(batch * columns);

  struct item {
    bits key;
    std::uint32_t row;
  };

  static std::size_t high_digit(bits key) {
    return static_cast<std::size_t>(key >> (key_bits - high_bits));
  }

  void load(column_tile<T> const& t) {
    alignas(64) bits stage[stage_size] = {};
    for (index_t i = 0; i < t.rows; i += batch) {
      int const count = t.rows - i < batch ? static_cast<int>(t.rows - i) : batch;
      gather_rows(t.x, t.x_at, 0, t.width, i, count, stage, columns);
      for (int k = 0; k < batch; ++k) canonicalize_row(stage + k * columns, t.flip);
      // The last batch may write past the rows, into the padding between columns.
      for (int c = 0; c < columns; ++c)
        for (int k = 0; k < batch; ++k) keys_[at(c, i + k)] = stage[k * columns + c];
    }
  }
  static void canonicalize_row(bits* row, bits const* flip) {
    constexpr int lanes = portable::vector_bytes / static_cast<int>(sizeof(bits));
    using V = portable::vec<bits, lanes>;
    V changed{};
    for (int c = 0; c < columns; c += lanes)
      portable::store_lanes(
          row + c, portable::canonical_keys<T, lanes>(portable::load_lanes<V>(row + c), changed) ^
                       portable::load_lanes<V>(flip + c));
  }
  std::size_t at(int c, index_t i) const {
    return pitch_ * static_cast<std::size_t>(c) + static_cast<std::size_t>(i);
  }

  // The output of one column: the bits of its sorted values take the place of its keys.
  struct column {
    bits* keys;
    std::uint32_t* rows;
    T const* x;
    index_t x_pitch;
    bits flip;

    void put(std::size_t i, item from) const {
      bits const key = static_cast<bits>(from.key ^ flip);
      rows[i] = from.row;
      if (key == detail::sign_bit<bits> || key == static_cast<bits>(~bits{0}))
        fetch(i, from.row);  // zero or NaN: the key has lost a sign or a payload
      else
        keys[i] = detail::unsortable_bits(key);
    }
    void copy_through(std::uint32_t i) const {
      rows[i] = i;
      fetch(i, i);
    }
    void fetch(std::size_t i, std::uint32_t row) const {
      std::memcpy(keys + i, x + static_cast<index_t>(row) * x_pitch, sizeof(bits));
    }
  };

  // Turns a column of keys into the sorted values and the rows that they came from. One pass over
  // memory distributes the keys by their highest digit; all other passes stay within one bucket of
  // it, in cache.
  void sort_column(column_tile<T> const& t, int c) {
    column const out{keys_ + at(c, 0), rows_ + at(c, 0), t.x + t.x_at.start[c], t.x_at.pitch,
                     t.flip[c]};
    std::size_t const n = static_cast<std::size_t>(t.valid[c]);
    for (index_t i = t.valid[c]; i < t.rows; ++i) out.copy_through(static_cast<std::uint32_t>(i));

    std::uint32_t starts[buckets + 1] = {};
    bool sorted = true;
    bits before = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ++starts[high_digit(out.keys[i]) + 1];
      sorted &= before <= out.keys[i];
      before = out.keys[i];
    }
    if (sorted) {
      for (std::size_t i = 0; i < n; ++i) out.put(i, {out.keys[i], static_cast<std::uint32_t>(i)});
      return;
    }
    for (std::size_t b = 0; b < buckets; ++b) starts[b + 1] += starts[b];
    for (std::size_t i = 0; i < n; ++i)
      front_[starts[high_digit(out.keys[i])]++] = {out.keys[i], static_cast<std::uint32_t>(i)};
    std::size_t first = 0;
    for (std::size_t b = 0; b < buckets; ++b) {  // each start has moved to its bucket's end
      sort_bucket(first, starts[b], out);
      first = starts[b];
    }
  }

  // Sorts a few items by insertion, more by their low digits. Up to some thousands of items the
  // digits are short, since counting long ones would cost more than moving the items.
  void sort_bucket(std::size_t first, std::size_t last, column const& out) {
    std::size_t const n = last - first;
    if (n <= 24) {
      for (std::size_t i = first + 1; i < last; ++i)
        for (std::size_t j = i; j > first && front_[j].key < front_[j - 1].key; --j)
          std::swap(front_[j], front_[j - 1]);
      for (std::size_t i = first; i < last; ++i) out.put(i, front_[i]);
    } else if (n < 8192) {
      sort_low_digits<7>(first, n, out);
    } else {
      sort_low_digits<11>(first, n, out);
    }
  }

  // Stable passes from the lowest digit to the highest; a digit that is the same in all keys needs
  // none. The last pass writes the column.
  template <int Width>
  void sort_low_digits(std::size_t first, std::size_t n, column const& out) {
    constexpr int low_bits = key_bits - high_bits, digits = (low_bits + Width - 1) / Width;
    constexpr std::size_t values = std::size_t{1} << Width;
    // The topmost digit may reach into the high one, which all keys of a bucket share.
    auto const digit = [](bits key, int d) {
      return static_cast<std::size_t>(key >> (d * Width)) & (values - 1);
    };
    item *from = front_ + first, *to = back_ + first;
    std::uint32_t starts[static_cast<std::size_t>(digits)][values] = {};
    for (std::size_t i = 0; i < n; ++i)
      for (int d = 0; d < digits; ++d) ++starts[d][digit(from[i].key, d)];
    int last = -1;
    for (int d = 0; d < digits; ++d)
      if (starts[d][digit(from[0].key, d)] != n) last = d;
    if (last < 0)
      for (std::size_t i = 0; i < n; ++i) out.put(first + i, from[i]);
    for (int d = 0; d <= last; ++d) {
      if (starts[d][digit(from[0].key, d)] == n) continue;
      std::uint32_t start = 0;
      for (std::uint32_t& count : starts[d]) start += std::exchange(count, start);
      if (d == last) {
        for (std::size_t i = 0; i < n; ++i)
          out.put(first + starts[d][digit(from[i].key, d)]++, from[i]);
      } else {
        for (std::size_t i = 0; i < n; ++i) to[starts[d][digit(from[i].key, d)]++] = from[i];
        std::swap(from, to);
      }
    }
  }

  void store(column_tile<T> const& t) const {
    store_columns(keys_, t, t.y_at, t.y);
    if (t.perm != nullptr) store_columns(rows_, t, t.perm_at, static_cast<std::uint32_t*>(t.perm));
  }
  template <class From, class To>
  void store_columns(From const* from, column_tile<T> const& t, tile_operand const& to_at,
                     To* to) const {
    alignas(64) From stage[stage_size];
    for (index_t i = 0; i < t.rows; i += batch) {
      int const count = t.rows - i < batch ? static_cast<int>(t.rows - i) : batch;
      for (int c = 0; c < columns; ++c)
        for (int k = 0; k < batch; ++k) stage[k * columns + c] = from[at(c, i + k)];
      if (t.stream)
        stream_rows(stage, i, count, to_at, to);
      else
        scatter_rows(stage, columns, t.width, i, count, to_at, to);
    }
  }

  // Stores rows as whole lines, around the cache.
  template <class From, class To>
  static void stream_rows(From const* stage, index_t i, int count, tile_operand const& to_at,
                          To* to) {
    using V = portable::vec<std::uint64_t, 2>;
    constexpr int per_vector = static_cast<int>(sizeof(V) / sizeof(From));
    To* row = to + to_at.start[0] + i * to_at.pitch;
    for (int k = 0; k < count; ++k, row += to_at.pitch)
      for (int c = 0; c < columns; c += per_vector)
        portable::store_vector<true>(row + c, portable::load_lanes<V>(stage + k * columns + c));
    portable::finish_streaming<true>();
  }

  std::size_t pitch_ = 0;
  bits* keys_ = nullptr;                     // [columns][pitch], then the sorted values
  std::uint32_t* rows_ = nullptr;            // [columns][pitch]
  item *front_ = nullptr, *back_ = nullptr;  // [rows] each: one column, and where a pass moves it
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
