// SPDX-License-Identifier: Apache-2.0
// Sorts one tile, each group of its rows by itself: loads keys, sorts every part, makes the order
// of equal keys stable, restores what the keys had lost of the values, and stores. A part is the
// `row::lanes` columns that one row of keys holds. Included once per instruction set, last.

template <class T, class Codec>
class tile_sorter {
 public:
  using bits = detail::bits_t<T>;
  using row = typename Codec::row;
  static constexpr int lanes = row::lanes, parts = tile_columns / lanes;
  static constexpr int batch = 8;  // rows moved at a time: few enough to stay in cache at any pitch

  explicit tile_sorter(column_tile<T> const& tile)
      : t_(tile),
        n_(static_cast<std::size_t>(tile.rows)),
        rows_(reinterpret_cast<row*>(tile.scratch)),
        spare_(tile.scratch +
               sizeof(row) * static_cast<std::size_t>(parts) * (n_ + tile_padding_rows)) {}

  // Returns false, having stored nothing, where some value cannot be restored without its index and
  // the codec keeps none.
  bool run() {
    for (int p = 0; p < used_parts(); ++p) load_part(p);
    if constexpr (Codec::has_index) {
      if (t_.ragged) pad_columns();
    } else {
      for (int p = 0; p < used_parts(); ++p)
        if (changed_[p] || t_.ragged) return false;
    }
    bool restore = false;
    for (int p = 0; p < used_parts(); ++p) {
      if (unsorted_[p]) sort_groups(part(p));
      restore |= changed_[p];
    }
    if constexpr (Codec::has_index) {
      if (restore) {
        for (int p = 0; p < used_parts(); ++p) restore_part(p);
        store<true>();
        return true;
      }
    }
    store<false>();
    return true;
  }

 private:
  static constexpr std::size_t stage_size(int columns) {
    return static_cast<std::size_t>(batch * columns);
  }
  row* part(int p) const { return rows_ + static_cast<std::size_t>(p) * (n_ + tile_padding_rows); }
  std::size_t group() const { return static_cast<std::size_t>(t_.group); }
  int used_parts() const { return (t_.width + lanes - 1) / lanes; }
  int used_lanes(int p) const {
    return t_.width - p * lanes < lanes ? t_.width - p * lanes : lanes;
  }

  void sort_groups(row* w) {
    for (std::size_t first = 0; first < n_; first += group()) {
      std::size_t const rows = n_ - first < group() ? n_ - first : group();
      network<row>::sort(w + first, rows);
      if constexpr (Codec::needs_repair) repair_ties(w + first, rows, spare_);
    }
  }

  void load_part(int p) {
    typename Codec::flags changed{};
    ascent<row> order;
    row* const w = part(p);
    index_t in_group = 0;
    int const first = p * lanes;
    bits const* const flip = t_.flip + first;
    alignas(64) bits stage[stage_size(lanes)] = {};
    for (std::size_t i = 0; i < n_; i += batch) {
      int const count = n_ - i < batch ? static_cast<int>(n_ - i) : batch;
      bits const* from = stage;
      index_t pitch = lanes;
      if (t_.x_at.dense) {
        from = reinterpret_cast<bits const*>(t_.x + t_.x_at.start[first] +
                                             static_cast<index_t>(i) * t_.x_at.pitch);
        pitch = t_.x_at.pitch;
      } else {
        gather_rows(t_.x, t_.x_at, first, used_lanes(p), static_cast<index_t>(i), count, stage,
                    lanes);
      }
      for (int k = 0; k < count; ++k) {
        if (t_.x_at.dense && p == 0) prefetch_after(from + k * pitch, pitch);
        row const r = Codec::load(from + k * pitch, flip, in_group, changed);
        if (++in_group == t_.group) in_group = 0;
        order.see(r);
        w[i + static_cast<std::size_t>(k)] = r;
      }
    }
    changed_[p] = any(changed);
    unsorted_[p] = order.broken();
  }

  // Gives rows past a column's own length the last key, so that they stay where they are: a NaN may
  // tie with them, but comes first by its index.
  void pad_columns() {
    for (int c = 0; c < t_.width; ++c)
      for (index_t i = t_.valid[c]; i < t_.rows; ++i) {
        Codec::set_key(part(c / lanes)[i], c % lanes, static_cast<bits>(~bits{0}));
        changed_[c / lanes] = unsorted_[c / lanes] = true;
      }
  }

  // Turns keys into the bits of the values. NaN, zeros and rows past a column's end, whose keys
  // have lost bits, are read again from the row that they came from.
  void restore_part(int p) {
    int const first = p * lanes;
    bits const* const flip = t_.flip + first;
    row* const w = part(p);
    index_t in_group = 0, group_row = 0;  // of row i; the first of its group
    for (std::size_t i = 0; i < n_; ++i, ++in_group) {
      if (in_group == t_.group) {
        group_row += t_.group;
        in_group = 0;
      }
      row const sorted = w[i];
      w[i] = Codec::decode(sorted, flip);
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
        Codec::set_key(w[i], lane, value);
      }
    }
  }

  template <bool Restored>
  void store() const {
    if (t_.stream && t_.y_at.dense)
      store_as<Restored, true>();
    else
      store_as<Restored, false>();
  }
  template <bool Restored, bool Stream>
  void store_as() const {
    if constexpr (Codec::has_index) {
      if (t_.perm != nullptr && t_.perm_width == index_width::bits16)
        return store_rows<Restored, Stream>(static_cast<std::uint16_t*>(t_.perm));
      if (t_.perm != nullptr)
        return store_rows<Restored, Stream>(static_cast<std::uint32_t*>(t_.perm));
    }
    store_rows<Restored, Stream>(static_cast<std::uint16_t*>(nullptr));
  }

  // The row of the output for sorted row i, which belongs to the group that begins at `group_row`.
  index_t destination(std::size_t i, index_t group_row) const {
    return t_.destinations == nullptr ? static_cast<index_t>(i) : group_row + t_.destinations[i];
  }

  template <bool Restored, bool Stream, class Index>
  void store_rows(Index* perm) const {
    alignas(64) bits values[stage_size(tile_columns)];
    alignas(64) Index indices[stage_size(tile_columns)] = {};
    index_t in_group = 0, group_row = 0;
    for (std::size_t i = 0; i < n_; i += batch) {
      int const count = n_ - i < batch ? static_cast<int>(n_ - i) : batch;
      index_t to_row[batch];
      for (int k = 0; k < count; ++k, ++in_group) {
        if (in_group == t_.group) {
          group_row += t_.group;
          in_group = 0;
        }
        to_row[k] = destination(i + static_cast<std::size_t>(k), group_row);
      }
      for (int k = 0; k < count; ++k) {
        bits* const y =
            t_.y_at.dense
                ? reinterpret_cast<bits*>(t_.y + t_.y_at.start[0] + to_row[k] * t_.y_at.pitch)
                : values + k * tile_columns;
        Index* const q = perm != nullptr && t_.perm_at.dense
                             ? perm + t_.perm_at.start[0] + to_row[k] * t_.perm_at.pitch
                             : indices + k * tile_columns;
        for (int p = 0; p < used_parts(); ++p) {
          row r = part(p)[i + static_cast<std::size_t>(k)];
          if constexpr (!Restored) r = Codec::decode(r, t_.flip + p * lanes);
          Codec::template store_values<Stream>(r, y + p * lanes);
          if constexpr (Codec::has_index)
            if (perm != nullptr) {
              if (Stream && t_.stream_perm)
                Codec::template store_indices<true>(r, q + p * lanes);
              else
                Codec::template store_indices<false>(r, q + p * lanes);
            }
        }
      }
      if (!t_.y_at.dense) scatter(values, to_row, count, t_.y_at, t_.y);
      if (perm != nullptr && !t_.perm_at.dense) scatter(indices, to_row, count, t_.perm_at, perm);
    }
    finish_streaming<Stream>();
  }
  template <class Stage, class To>
  void scatter(Stage const* stage, index_t const* to_row, int count, tile_operand const& at,
               To* to) const {
    if (t_.destinations == nullptr)
      scatter_rows(stage, tile_columns, t_.width, to_row[0], count, at, to);
    else
      for (int k = 0; k < count; ++k)
        scatter_rows(stage + k * tile_columns, tile_columns, t_.width, to_row[k], 1, at, to);
  }

  column_tile<T> const& t_;
  std::size_t n_;
  row* rows_;
  unsigned char* spare_;
  bool changed_[static_cast<std::size_t>(parts)] = {},
       unsorted_[static_cast<std::size_t>(parts)] = {};
};

// Tries without indices first where none are wanted.
template <class T>
void sort_tile(target, column_tile<T> const& tile) {
  if (tile.perm == nullptr && tile_sorter<T, values_codec<T>>(tile).run()) return;
  tile_sorter<T, indexed_codec<T>>(tile).run();
}
