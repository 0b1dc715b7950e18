// SPDX-License-Identifier: Apache-2.0
// Sorts one column with its elements in all lanes (lane_sort.inl), for tiles that would leave most
// lanes empty, or that would have to be transposed. Element i starts in lane i % lanes of row
// i / lanes. Included once per instruction set, after codec.inl, tile_writer.inl and lane_sort.inl.

template <class T, class Codec>
class column_sorter {
 public:
  using bits = detail::bits_t<T>;
  using row_vector = typename Codec::row_vector;
  static constexpr std::size_t lanes = static_cast<std::size_t>(row_vector::lanes);

  column_sorter(column_tile<T> const& tile, int column)
      : tile_(tile),
        x_(tile.x + tile.x_layout.start[column]),
        y_(tile.y == nullptr ? nullptr : tile.y + tile.y_layout.start[column]),
        column_(column),
        count_(static_cast<std::size_t>(tile.valid[column])),
        memory_(count_, tile.scratch) {
    for (bits& mask : descending_mask_) mask = tile.descending_mask[column];
  }

  // Returns false if some value cannot be restored without its index and the codec has no indices.
  bool sort() {
    if (tile_.destinations == nullptr && is_sorted()) {
      copy_rows(0);  // in place, too
      return true;
    }
    bool const lossy = load();
    if (lossy && !Codec::has_index) return false;
    memory_.sort();
    if constexpr (Codec::needs_repair) memory_.repair_ties(lossy ? memory_.size() : count_);
    if (y_ != nullptr) decode(lossy);
    if (tile_.perm == nullptr) store<void>();
    if constexpr (Codec::has_index) {
      if (tile_.perm != nullptr)
        tile_.perm_width == index_width::bits16 ? store<std::uint16_t>() : store<std::uint32_t>();
    }
    copy_rows(count_);
    return true;
  }

 private:
  bits bits_at(std::size_t i) const {
    bits value;
    std::memcpy(&value, x_ + static_cast<index_t>(i) * tile_.x_layout.pitch, sizeof value);
    return value;
  }
  bool is_sorted() const {
    bits previous = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      bits const key = static_cast<bits>(sortable_key<T>(bits_at(i)) ^ descending_mask_[0]);
      if (key < previous) return false;
      previous = key;
    }
    return true;
  }
  // Copies rows from `first` on unchanged.
  void copy_rows(std::size_t first) const {
    for (std::size_t i = first; i < stored(static_cast<std::size_t>(tile_.rows)); ++i)
      copy_tile_row(tile_, column_, destination(tile_, i), static_cast<index_t>(i));
  }
  // Returns how many of the first `rows` sorted rows are stored.
  std::size_t stored(std::size_t rows) const {
    auto const stored_rows = static_cast<std::size_t>(tile_.stored_rows);
    return rows < stored_rows ? rows : stored_rows;
  }
  template <class Index>
  Index* perm() const {
    return static_cast<Index*>(tile_.perm) + tile_.perm_layout.start[column_];
  }

  // Loads the keys, and returns true if some key has lost bits of its value. The rows past the
  // column have the last key.
  bool load() {
    typename Codec::bits_vector lost_bits{};
    auto const lane = lane_sort<row_vector>::lane_numbers();
    for (std::size_t r = 0; r < memory_.row_count; ++r) {
      std::size_t const i = r * lanes;
      alignas(64) bits stage[lanes] = {};
      bits const* source = stage;
      if (tile_.x_layout.pitch == 1 && i + lanes <= count_)
        source = reinterpret_cast<bits const*>(x_ + i);
      else
        for (std::size_t k = 0; k < lanes && i + k < count_; ++k) stage[k] = bits_at(i + k);
      row_vector row = Codec::load(source, descending_mask_, static_cast<index_t>(i), lost_bits);
      for (std::size_t k = i < count_ ? count_ - i : 0; k < lanes; ++k)
        Codec::set_key(row, static_cast<int>(k), static_cast<bits>(~bits{0}));
      if constexpr (Codec::has_index) number_lanes(row, lane);
      memory_.rows[row_at<row_vector>(r)] = row;
    }
    return any_set(lost_bits);
  }
  // Replaces sorted keys by values. Rereads NaN and zeros, whose keys have lost bits.
  void decode(bool lossy) {
    for (std::size_t i = 0; i < stored(count_); i += lanes) {
      row_vector row = memory_.load(i);
      decode_row<Codec>(row, lossy, descending_mask_, used_lanes(i), [&](int, index_t source) {
        return bits_at(static_cast<std::size_t>(source));
      });
      memory_.store(i, row);
    }
  }
  int used_lanes(std::size_t first) const {
    return static_cast<int>(count_ - first < lanes ? count_ - first : lanes);
  }
  template <class Index>
  void store() const {
    constexpr bool saves_perm = !std::is_void<Index>::value;
    using index = std::conditional_t<saves_perm, Index, std::uint16_t>;
    bool const contiguous =
                   y_ != nullptr && tile_.destinations == nullptr && tile_.y_layout.pitch == 1,
               contiguous_perm =
                   saves_perm && tile_.destinations == nullptr && tile_.perm_layout.pitch == 1;
    std::size_t const count = stored(count_);
    for (std::size_t i = 0; i < count; i += lanes) {
      row_vector const row = memory_.load(i);
      bool const full = count - i >= lanes;
      std::size_t const used = full ? lanes : count - i;
      alignas(64) bits values[lanes];
      alignas(64) index indices[lanes];
      bits* const y = full && contiguous ? reinterpret_cast<bits*>(y_ + i) : values;
      if (y_ != nullptr) Codec::template store_values<false>(row, y);
      if (y_ != nullptr && y == values)
        for (std::size_t k = 0; k < used; ++k)
          std::memcpy(static_cast<void*>(y_ + destination(tile_, i + k) * tile_.y_layout.pitch),
                      values + k, sizeof(bits));
      if constexpr (saves_perm) {
        index* const p = full && contiguous_perm ? perm<index>() + i : indices;
        Codec::template store_indices<false>(row, p);
        if (p == indices)
          for (std::size_t k = 0; k < used; ++k)
            perm<index>()[destination(tile_, i + k) * tile_.perm_layout.pitch] = indices[k];
      }
    }
  }

  column_tile<T> const& tile_;
  T const* x_;
  T* y_;
  int column_;
  std::size_t count_;
  lane_memory<Codec> memory_;
  alignas(64) bits descending_mask_[lanes];
};

// Codec of single columns in place of a tile's codec: a row has one vector of keys.
template <class T, class Codec>
using single_column_codec =
    std::conditional_t<Codec::has_index && sizeof(T) == 4, pairs_codec<T>, Codec>;

// True if the columns of a tile are sorted faster one by one. A column alone costs up to twice its
// part of a full tile, or as much if a tile would be transposed.
template <class T, class Codec>
bool prefers_single_columns(column_tile<T> const& tile) {
  if (tile.rows < 256 || tile.group != tile.rows) return false;
  using memory = lane_memory<single_column_codec<T, Codec>>;
  auto const padded_rows =
      static_cast<index_t>(memory::padded_size(static_cast<std::size_t>(tile.rows)));
  constexpr index_t tile_lanes = Codec::row_vector::lanes;
  index_t const lanes = (tile.width + tile_lanes - 1) / tile_lanes * tile_lanes;
  if (2 * tile.width * padded_rows < lanes * tile.rows) return true;
  bool const contiguous = tile.x_layout.pitch == 1 && tile.y_layout.pitch == 1;
  return contiguous && (sizeof(T) == 2 || tile.rows >= 1024) &&
         4 * tile.width * padded_rows <= 5 * lanes * tile.rows;
}
template <class T, class Codec>
void sort_single_columns(column_tile<T> const& tile) {
  for (int c = 0; c < tile.width; ++c)
    if (!column_sorter<T, single_column_codec<T, Codec>>(tile, c).sort())
      column_sorter<T, single_column_codec<T, indexed_codec<T>>>(tile, c).sort();
}
