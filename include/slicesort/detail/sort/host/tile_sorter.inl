// SPDX-License-Identifier: Apache-2.0
// Tile sorter for one instruction set. It loads the keys of a tile, sorts every panel, orders ties,
// restores the bits that keys have lost, and stores the rows. A panel is the columns that one row
// vector holds, with all their rows.

// clang-format off
#include <slicesort/detail/sort/host/rows.inl>
#include <slicesort/detail/sort/host/bitonic.inl>
#include <slicesort/detail/sort/host/codec.inl>
#include <slicesort/detail/sort/host/ties.inl>
#include <slicesort/detail/sort/host/tile_writer.inl>
#include <slicesort/detail/sort/host/lane_sort.inl>
#include <slicesort/detail/sort/host/column_sorter.inl>
// clang-format on

template <class T, class Codec>
class tile_sorter {
 public:
  using bits = detail::bits_t<T>;
  using row_vector = typename Codec::row_vector;
  static constexpr int lanes = row_vector::lanes, panels_per_tile = tile_columns / lanes;
  // Rows loaded or stored at a time; few enough to stay in cache at any pitch.
  static constexpr int rows_per_batch = 8;

  using codec = Codec;

  explicit tile_sorter(column_tile<T> const& tile)
      : tile_(tile),
        row_count_(static_cast<std::size_t>(tile.rows)),
        pitch_(tile_pitch(row_count_)),
        rows_(reinterpret_cast<row_vector*>(tile.scratch)),
        tie_scratch_(tile.scratch +
                     sizeof(row_vector) * static_cast<std::size_t>(panels_per_tile) * pitch_) {
    if (!tile_.x_layout.dense) std::memset(stage_, 0, sizeof stage_);  // lanes without a column
  }

  // Returns false if some value cannot be restored without its index and the codec has no indices.
  bool sort() {
    if (!Codec::has_index && tile_.ragged) return false;
    for (std::size_t first = 0; first < row_count_; first += run_rows) {
      std::size_t const rows = smaller(run_rows, row_count_ - first);
      for (int p = 0; p < used_panels(); ++p) load_rows(p, first, rows);
      if constexpr (Codec::has_index)
        if (tile_.ragged) pad_columns(first, rows);
      for (int p = 0; p < used_panels(); ++p) {
        if (!Codec::has_index && lossy_[p]) return false;
        if (!decreases_[p].take_decrease() && !tile_.ragged) continue;
        unsorted_[p] = true;
        row_vector* const panel_rows = panel(p) + row_at<row_vector>(first);
        if (row_count_ > run_rows) {
          bitonic<row_vector>::sort(panel_rows, rows);
          continue;
        }
        std::size_t const group = static_cast<std::size_t>(tile_.group);
        for (std::size_t i = 0; i < rows; i += group) {
          bitonic<row_vector>::sort(panel_rows + i, smaller(group, rows - i));
          repair(panel_rows + i, smaller(group, rows - i));
        }
      }
    }
    for (int p = 0; p < used_panels(); ++p)
      if (unsorted_[p] && row_count_ > run_rows) {
        bitonic<row_vector>::sort(panel(p), row_count_, run_rows);
        repair(panel(p), row_count_);
      }
    return true;
  }

  // True if some key has lost bits of its value. If so, call `restore` before reading rows.
  bool lossy() const {
    bool any_lossy = false;
    for (int p = 0; p < used_panels(); ++p) any_lossy |= lossy_[p];
    return any_lossy;
  }
  void restore() {
    for (int p = 0; p < used_panels(); ++p) restore_panel(p);
  }

  column_tile<T> const& tile() const { return tile_; }
  std::size_t rows() const { return row_count_; }
  int used_panels() const { return (tile_.width + lanes - 1) / lanes; }
  row_vector* panel(int p) const { return rows_ + static_cast<std::size_t>(p) * pitch_; }
  std::size_t pitch() const { return pitch_; }

 private:
  // Rows that are loaded and sorted while in the L1 cache; also the maximum rows of a tile with
  // several groups.
  static constexpr std::size_t run_rows = group_tile_rows;

  static std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }
  int used_lanes(int p) const {
    return tile_.width - p * lanes < lanes ? tile_.width - p * lanes : lanes;
  }

  void load_rows(int p, std::size_t first_row, std::size_t rows) {
    typename Codec::bits_vector lost_bits{};
    decrease_detector<row_vector> decreases = decreases_[p];
    row_vector* const panel_rows = panel(p) + row_at<row_vector>(first_row);  // contiguous
    index_t row_in_group = static_cast<index_t>(first_row);
    int const first = p * lanes;
    bits const* const descending_mask = tile_.descending_mask + first;
    for (std::size_t done = 0; done < rows; done += rows_per_batch) {
      int const count = static_cast<int>(smaller(rows - done, rows_per_batch));
      index_t const i = static_cast<index_t>(first_row + done);
      bits const* source = stage_;
      index_t pitch = lanes;
      if (tile_.x_layout.dense) {
        source = reinterpret_cast<bits const*>(tile_.x + tile_.x_layout.start[first] +
                                               i * tile_.x_layout.pitch);
        pitch = tile_.x_layout.pitch;
      } else {
        gather_rows(tile_.x, tile_.x_layout, first, used_lanes(p), i, count, stage_, lanes);
      }
      for (int k = 0; k < count; ++k) {
        if (tile_.x_layout.dense && p == 0) prefetch_after(source + k * pitch, pitch);
        row_vector const row =
            Codec::load(source + k * pitch, descending_mask, row_in_group, lost_bits);
        if (++row_in_group == tile_.group) row_in_group = 0;
        decreases.observe(row);
        panel_rows[done + static_cast<std::size_t>(k)] = row;
      }
    }
    lossy_[p] |= any_set(lost_bits);
    decreases_[p] = decreases;
  }

  // Sets the keys of padding to the last key. A NaN may tie with padding, but its smaller index
  // puts it first.
  void pad_columns(std::size_t first, std::size_t rows) {
    for (int c = 0; c < tile_.width; ++c)
      for (std::size_t i = first; i < first + rows; ++i)
        if (static_cast<index_t>(i) >= tile_.valid[c]) {
          Codec::set_key(panel(c / lanes)[row_at<row_vector>(i)], c % lanes,
                         static_cast<bits>(~bits{0}));
          lossy_[c / lanes] = true;
        }
  }

  void repair(row_vector* panel_rows, std::size_t rows) {
    if constexpr (Codec::needs_repair) repair_ties(panel_rows, rows, tie_scratch_);
    (void)panel_rows, (void)rows;
  }

  // Rereads NaN, zeros and padding from their source rows, because their keys have lost bits.
  void restore_panel(int p) {
    int const first = p * lanes;
    bits const* const descending_mask = tile_.descending_mask + first;
    index_t row_in_group = 0,
            group_start = 0;  // index of row i in its group; first row of the group
    for (std::size_t i = 0; i < row_count_; ++i, ++row_in_group) {
      if (row_in_group == tile_.group) {
        group_start += tile_.group;
        row_in_group = 0;
      }
      row_vector& row = panel(p)[row_at<row_vector>(i)];
      decode_row<Codec>(row, lossy_[p], descending_mask, used_lanes(p),
                        [&](int lane, index_t index) {
                          bits value;
                          std::memcpy(&value,
                                      tile_.x + tile_.x_layout.start[first + lane] +
                                          (group_start + index) * tile_.x_layout.pitch,
                                      sizeof value);
                          return value;
                        });
    }
  }

  column_tile<T> const& tile_;
  std::size_t row_count_, pitch_;  // pitch: distance between panels
  row_vector* rows_;
  unsigned char* tie_scratch_;
  alignas(64)
      bits stage_[static_cast<std::size_t>(rows_per_batch * lanes)];  // rows gathered from memory
  decrease_detector<row_vector> decreases_[static_cast<std::size_t>(panels_per_tile)] = {};
  bool lossy_[static_cast<std::size_t>(panels_per_tile)] = {},
       unsorted_[static_cast<std::size_t>(panels_per_tile)] = {};
};

// Sorts one or two tiles, one column per lane. If values must be restored by index, a codec without
// indices stores nothing, and the indexed codec sorts again.
template <class T, class Codec>
void sort_panels(column_tile<T> const* tiles, int count) {
  using sorter = tile_sorter<T, Codec>;
  sorter sorters[] = {sorter(tiles[0]), sorter(tiles[count - 1])};
  bool lossy = false;
  for (int i = 0; i < count; ++i) {
    bool const sorted = sorters[i].sort();
    if constexpr (!Codec::has_index)
      if (!sorted) return sort_panels<T, indexed_codec<T>>(tiles, count);
    (void)sorted;
    lossy |= sorters[i].lossy() && tiles[i].y != nullptr;
  }
  if constexpr (Codec::has_index) {
    if (lossy) {
      for (int i = 0; i < count; ++i) sorters[i].restore();
      return store_tiles<true>(sorters, count);
    }
  }
  store_tiles<false>(sorters, count);
}
// Sorts one or two tiles.
template <class T, class Codec>
void sort_tiles(column_tile<T> const* tiles, int count) {
  bool const single[] = {prefers_single_columns<T, Codec>(tiles[0]),
                         prefers_single_columns<T, Codec>(tiles[count - 1])};
  if (!single[0] && !single[1]) return sort_panels<T, Codec>(tiles, count);
  for (int i = 0; i < count; ++i)
    single[i] ? sort_single_columns<T, Codec>(tiles[i]) : sort_panels<T, Codec>(tiles + i, 1);
}
template <class T>
void choose_tile_sort(target, bool with_indices, void (*&chosen)(column_tile<T> const*, int)) {
  chosen = with_indices ? sort_tiles<T, indexed_codec<T>> : sort_tiles<T, values_codec<T>>;
}
