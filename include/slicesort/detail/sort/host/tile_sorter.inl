// SPDX-License-Identifier: Apache-2.0
// The tile sorter for one instruction set. It sorts each group of a tile's rows by itself: loads
// keys, sorts every part, makes the order of equal keys stable, restores what the keys had lost of
// the values, and stores. A part is the `row::lanes` columns that one row of keys holds.

// clang-format off
#include <slicesort/detail/sort/host/rows.inl>
#include <slicesort/detail/sort/host/bitonic.inl>
#include <slicesort/detail/sort/host/codec.inl>
#include <slicesort/detail/sort/host/ties.inl>
#include <slicesort/detail/sort/host/tile_writer.inl>
// clang-format on

template <class T, class Codec>
class tile_sorter {
 public:
  using bits = detail::bits_t<T>;
  using row = typename Codec::row;
  static constexpr int lanes = row::lanes, parts = tile_columns / lanes;
  static constexpr int batch = 8;  // rows moved at a time: few enough to stay in cache at any pitch

  using codec = Codec;

  explicit tile_sorter(column_tile<T> const& tile)
      : t_(tile),
        n_(static_cast<std::size_t>(tile.rows)),
        pitch_(tile_pitch(n_)),
        rows_(reinterpret_cast<row*>(tile.scratch)),
        spare_(tile.scratch + sizeof(row) * static_cast<std::size_t>(parts) * pitch_) {
    if (!t_.x_at.dense) std::memset(stage_, 0, sizeof stage_);  // of lanes without a column
  }

  // Returns false where some value cannot be restored without its index and the codec keeps none.
  bool sort() {
    if (!Codec::has_index && t_.ragged) return false;
    for (std::size_t first = 0; first < n_; first += run_rows) {
      std::size_t const rows = least(run_rows, n_ - first);
      for (int p = 0; p < used_parts(); ++p) load_rows(p, first, rows);
      if constexpr (Codec::has_index)
        if (t_.ragged) pad_columns(first, rows);
      for (int p = 0; p < used_parts(); ++p) {
        if (!Codec::has_index && changed_[p]) return false;
        if (!order_[p].broken() && !t_.ragged) continue;
        unsorted_[p] = true;
        row* const w = part(p) + row_at<row>(first);
        if (n_ > run_rows) {
          bitonic<row>::sort(w, rows);
          continue;
        }
        std::size_t const group = static_cast<std::size_t>(t_.group);
        for (std::size_t i = 0; i < rows; i += group) {
          bitonic<row>::sort(w + i, least(group, rows - i));
          repair(w + i, least(group, rows - i));
        }
      }
    }
    for (int p = 0; p < used_parts(); ++p)
      if (unsorted_[p] && n_ > run_rows) {
        bitonic<row>::sort(part(p), n_, run_rows);
        repair(part(p), n_);
      }
    return true;
  }

  // Whether some key has lost bits of its value, so that `restore` must come before rows are read.
  bool lossy() const {
    bool any_part = false;
    for (int p = 0; p < used_parts(); ++p) any_part |= changed_[p];
    return any_part;
  }
  // Turns keys into the bits of the values.
  void restore() {
    for (int p = 0; p < used_parts(); ++p) restore_part(p);
  }

  column_tile<T> const& tile() const { return t_; }
  std::size_t rows() const { return n_; }
  int used_parts() const { return (t_.width + lanes - 1) / lanes; }
  row* part(int p) const { return rows_ + static_cast<std::size_t>(p) * pitch_; }
  std::size_t pitch() const { return pitch_; }

 private:
  // Rows that are loaded and sorted while they are in the nearest cache. A tile of several groups
  // has no more.
  static constexpr std::size_t run_rows = tile_rows_of_groups;

  static std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }
  int used_lanes(int p) const {
    return t_.width - p * lanes < lanes ? t_.width - p * lanes : lanes;
  }

  void load_rows(int p, std::size_t first_row, std::size_t rows) {
    typename Codec::flags changed{};
    ascent<row> order = order_[p];
    row* const w = part(p) + row_at<row>(first_row);  // a run lies together
    index_t in_group = static_cast<index_t>(first_row);
    int const first = p * lanes;
    bits const* const flip = t_.flip + first;
    for (std::size_t done = 0; done < rows; done += batch) {
      int const count = static_cast<int>(least(rows - done, batch));
      index_t const i = static_cast<index_t>(first_row + done);
      bits const* from = stage_;
      index_t pitch = lanes;
      if (t_.x_at.dense) {
        from = reinterpret_cast<bits const*>(t_.x + t_.x_at.start[first] + i * t_.x_at.pitch);
        pitch = t_.x_at.pitch;
      } else {
        gather_rows(t_.x, t_.x_at, first, used_lanes(p), i, count, stage_, lanes);
      }
      for (int k = 0; k < count; ++k) {
        if (t_.x_at.dense && p == 0) prefetch_after(from + k * pitch, pitch);
        row const r = Codec::load(from + k * pitch, flip, in_group, changed);
        if (++in_group == t_.group) in_group = 0;
        order.see(r);
        w[done + static_cast<std::size_t>(k)] = r;
      }
    }
    changed_[p] |= any_set(changed);
    order_[p] = order;
  }

  // Gives rows past a column's own length the last key, so that they stay where they are: a NaN may
  // tie with them, but comes first by its index.
  void pad_columns(std::size_t first, std::size_t rows) {
    for (int c = 0; c < t_.width; ++c)
      for (std::size_t i = first; i < first + rows; ++i)
        if (static_cast<index_t>(i) >= t_.valid[c]) {
          Codec::set_key(part(c / lanes)[row_at<row>(i)], c % lanes, static_cast<bits>(~bits{0}));
          changed_[c / lanes] = true;
        }
  }

  void repair(row* w, std::size_t rows) {
    if constexpr (Codec::needs_repair) repair_ties(w, rows, spare_);
    (void)w, (void)rows;
  }

  // NaN, zeros and rows past a column's end, whose keys have lost bits, are read again from the row
  // that they came from.
  void restore_part(int p) {
    int const first = p * lanes;
    bits const* const flip = t_.flip + first;
    index_t in_group = 0, group_row = 0;  // of row i; the first of its group
    for (std::size_t i = 0; i < n_; ++i, ++in_group) {
      if (in_group == t_.group) {
        group_row += t_.group;
        in_group = 0;
      }
      row* const w = part(p) + row_at<row>(i);
      row const sorted = *w;
      *w = Codec::decode(sorted, flip);
      if (!changed_[p] || !Codec::has_special(sorted, flip)) continue;
      for (int lane = 0; lane < used_lanes(p); ++lane) {
        bits const key = Codec::key_of(sorted, lane);
        bool const special = key == 0 || key == static_cast<bits>(~bits{0}) ||
                             static_cast<bits>(key ^ flip[lane]) == detail::sign_bit<bits>;
        if (!special) continue;
        bits value;
        std::memcpy(&value,
                    t_.x + t_.x_at.start[first + lane] +
                        (group_row + Codec::index_of(sorted, lane)) * t_.x_at.pitch,
                    sizeof value);
        Codec::set_key(*w, lane, value);
      }
    }
  }

  column_tile<T> const& t_;
  std::size_t n_, pitch_;  // rows; the distance of parts
  row* rows_;
  unsigned char* spare_;
  alignas(64) bits stage_[static_cast<std::size_t>(batch * lanes)];  // rows not read as they are
  ascent<row> order_[static_cast<std::size_t>(parts)] = {};
  bool changed_[static_cast<std::size_t>(parts)] = {},
       unsorted_[static_cast<std::size_t>(parts)] = {};
};

// Sorts one tile or two. A codec that keeps no indices gives up, having stored nothing, if values
// must be restored by them.
template <class T, class Codec>
void sort_tiles(column_tile<T> const* tiles, int count) {
  using sorter = tile_sorter<T, Codec>;
  sorter sorters[] = {sorter(tiles[0]), sorter(tiles[count - 1])};
  bool lossy = false;
  for (int i = 0; i < count; ++i) {
    bool const sorted = sorters[i].sort();
    if constexpr (!Codec::has_index)
      if (!sorted) return sort_tiles<T, indexed_codec<T>>(tiles, count);
    (void)sorted;
    lossy |= sorters[i].lossy();
  }
  if constexpr (Codec::has_index) {
    if (lossy) {
      for (int i = 0; i < count; ++i) sorters[i].restore();
      return store_tiles<true>(sorters, count);
    }
  }
  store_tiles<false>(sorters, count);
}
template <class T>
void choose_tile_sort(target, bool with_indices, void (*&chosen)(column_tile<T> const*, int)) {
  chosen = with_indices ? sort_tiles<T, indexed_codec<T>> : sort_tiles<T, values_codec<T>>;
}
