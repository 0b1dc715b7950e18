// SPDX-License-Identifier: Apache-2.0
// Finds the rows of a column whose keys are among the k smallest. Included once per instruction
// set, after lane_sort.inl.
//
// 1. Encodes the column as keys. Element i belongs to group i modulo the number of groups, and the
//    smallest key of each of at least 2 k groups is found in the same pass.
// 2. Sorts these minima. At least k keys are at most the k-th minimum, and fewer than k groups have
//    a smaller key, so candidates are few even if the values are in the worst order.
// 3. Collects the keys up to that bound, with their rows.
// 4. Sorts the candidates by key and row, so ties are exact.
//
// If the rows keep their order and k is large, every group is one row, so the bound is the k-th
// key itself, and the candidates are selected from in their order.

template <class T>
struct row_selector {
  using bits = detail::bits_t<T>;
  using row_vector = keys<bits>;
  using V = typename row_vector::vector;
  static constexpr std::size_t lanes = static_cast<std::size_t>(row_vector::lanes);

  // Number of groups, a power of two; 0 if every row is a candidate.
  static std::size_t group_count(column_selection<T> const& column) {
    std::size_t groups = lanes * lanes;
    while (groups < (column.bound_is_exact() ? column.rows : 2 * column.k)) groups *= 2;
    return column.bound_is_exact() || 2 * groups <= column.rows ? groups : 0;
  }
  static row_vector* minima_of(column_selection<T> const& column) {
    return reinterpret_cast<row_vector*>(column.minima);
  }

  // Encodes the keys, followed by a vector's rest of last keys. Computes the groups' minima.
  // `IsEncoded`: `keys` has the keys already.
  template <bool IsEncoded>
  static void encode(column_selection<T> const& column, std::size_t groups) {
    row_vector* const minima = minima_of(column);
    std::size_t const group_vectors = groups / lanes, vectors = column.rows / lanes;
    for (std::size_t i = 0; i < group_vectors; ++i)
      minima[row_at<row_vector>(i)] = row_vector::last();
    void const* const source = IsEncoded ? static_cast<void const*>(column.keys) : column.x;
    std::size_t group = 0;
    for (std::size_t v = 0; v < vectors; ++v) {
      bits const* const values = static_cast<bits const*>(source) + v * lanes;
      prefetch_after<64>(values, static_cast<index_t>(lanes));
      V const key = encode_vector<IsEncoded>(column, load_lanes<V>(values));
      store_lanes(column.keys + v * lanes, key);
      if (groups == 0) continue;
      V& minimum = minima[row_at<row_vector>(group)].key;
      minimum = min_lanes(minimum, key);
      group = (group + 1) & (group_vectors - 1);
    }
    std::size_t const done = vectors * lanes, remaining = column.rows - done;
    bits stage[lanes] = {};
    std::memcpy(stage, static_cast<bits const*>(source) + done, remaining * sizeof(bits));
    store_lanes(stage, encode_vector<IsEncoded>(column, load_lanes<V>(stage)));
    for (std::size_t k = remaining; k < lanes; ++k) stage[k] = static_cast<bits>(~bits{0});
    std::memcpy(column.keys + done, stage, sizeof stage);
    if (groups == 0) return;
    V& minimum = minima[row_at<row_vector>(group)].key;
    minimum = min_lanes(minimum, load_lanes<V>(stage));
  }
  template <bool IsEncoded>
  static SLICESORT_INLINE V encode_vector(column_selection<T> const& column, V const& source) {
    V key = source, lost_bits{};
    if constexpr (!IsEncoded)
      key = canonical_keys<T, row_vector::lanes>(source, lost_bits) ^
            broadcast<V>(column.descending_mask);
    // Only NaN of descending columns has key 0.
    V const nan_mask = broadcast<V>(static_cast<bits>(column.nan_last ? ~bits{0} : bits{0}));
    return key | (equal(key, V{}) & nan_mask);
  }
  // True if some lane is at most `limit`.
  static SLICESORT_INLINE bool has_candidates(V const& key, bits limit) {
#if SLICESORT_VECTOR_BYTES == 64
    V const bound = broadcast<V>(limit);
    if constexpr (sizeof(bits) == 2)
      return __builtin_ia32_ucmpw512_mask(reinterpret_cast<int16_lanes>(key),
                                          reinterpret_cast<int16_lanes>(bound), 2,
                                          static_cast<mask32>(-1)) != 0;
    else if constexpr (sizeof(bits) == 4)
      return __builtin_ia32_ucmpd512_mask(signed_lanes(key), signed_lanes(bound), 2,
                                          static_cast<mask16>(-1)) != 0;
    else
#endif
      return any_set(~greater(key, broadcast<V>(limit)));
  }
  // Returns the k-th smallest of the groups' minima.
  static bits bound(column_selection<T> const& column, std::size_t groups) {
    row_vector* const minima = minima_of(column);
    std::size_t const group_vectors = groups / lanes, position = column.k - 1;
    lane_sort<row_vector>::sort(minima, group_vectors);
    return minima[row_at<row_vector>(position % group_vectors)]
        .key[static_cast<int>(position / group_vectors)];
  }

#if SLICESORT_VECTOR_BYTES == 64
  // Collects the keys of a vector's lanes up to `limit`; the first is that of row `row`. Stores
  // whole vectors of candidates, of which only the counted ones are kept.
  static SLICESORT_INLINE void collect_lanes(bits const* source, std::size_t remaining,
                                             std::size_t row, bits limit, bits bound,
                                             selection_candidate<T>* candidates, std::size_t& count,
                                             std::size_t& ties) {
    using words = vec<std::uint32_t, 16>;
    for (std::size_t i = 0; i < lanes; i += 16) {
      words key;
      if constexpr (sizeof(bits) == 2)
        key = convert<words>(load_lanes<vec<std::uint16_t, 16>>(source + i));
      else
        key = load_lanes<words>(source + i);
      std::size_t const rest = remaining < i ? 0 : remaining - i;
      auto const used = static_cast<mask16>(rest < 16 ? (1u << rest) - 1 : 0xffffu);
      auto const hits = static_cast<mask16>(__builtin_ia32_ucmpd512_mask(
          signed_lanes(key), signed_lanes(broadcast<words>(std::uint32_t{limit})), 2, used));
      if (hits == 0) continue;
      auto const tied = static_cast<mask16>(__builtin_ia32_ucmpd512_mask(
          signed_lanes(key), signed_lanes(broadcast<words>(std::uint32_t{bound})), 0, used));
      words const rows = lane_sort<keys<std::uint32_t>>::lane_numbers() +
                         broadcast<words>(static_cast<std::uint32_t>(row + i));
      words const selected_keys = compress(key, hits), selected_rows = compress(rows, hits);
      store_lanes(candidates + count, zip<false>(selected_rows, selected_keys));
      store_lanes(candidates + count + 8, zip<true>(selected_rows, selected_keys));
      count += static_cast<std::size_t>(__builtin_popcount(hits));
      ties += static_cast<std::size_t>(__builtin_popcount(tied));
    }
  }
  static SLICESORT_INLINE vec<std::uint32_t, 16> compress(vec<std::uint32_t, 16> const& v,
                                                          mask16 lanes_to_keep) {
    return reinterpret_cast<vec<std::uint32_t, 16>>(
        __builtin_ia32_compresssi512_mask(signed_lanes(v), int32_lanes{}, lanes_to_keep));
  }
#endif

  // Collects keys up to `bound` with their rows, in the order of rows. After k keys that equal it,
  // only smaller keys are candidates. Returns their number.
  static std::size_t collect(column_selection<T> const& column, bits bound) {
    constexpr std::size_t vectors_per_step = 4, step = vectors_per_step * lanes;
    using candidate = selection_candidate<T>;
    candidate* const candidates = column.candidates;
    std::size_t count = 0, ties = 0;
    bits limit = bound;
    for (std::size_t first = 0; first < column.rows; first += step) {
      bits const* const source = column.keys + first;
      std::size_t const remaining = column.rows - first;
      if (remaining >= step) {
        V const low = min_lanes(
            min_lanes(load_lanes<V>(source), load_lanes<V>(source + lanes)),
            min_lanes(load_lanes<V>(source + 2 * lanes), load_lanes<V>(source + 3 * lanes)));
        if (!has_candidates(low, limit)) continue;
      }
      for (std::size_t i = 0; i < step && i < remaining; i += lanes) {
#if SLICESORT_VECTOR_BYTES == 64
        if constexpr (sizeof(bits) <= 4) {
          collect_lanes(source + i, remaining - i, first + i, limit, bound, candidates, count,
                        ties);
          continue;
        }
#endif
        if (remaining - i >= lanes && !has_candidates(load_lanes<V>(source + i), limit)) continue;
        for (std::size_t lane = i; lane < i + lanes && lane < remaining; ++lane) {
          bits const key = source[lane];
          candidates[count] = candidate(key, static_cast<std::uint32_t>(first + lane));
          count += key <= limit;
          ties += key == bound;
        }
      }
      if (limit == bound && ties >= column.k) {
        if (bound == 0) break;
        limit = static_cast<bits>(bound - 1);
      }
    }
    return count;
  }

  // Keeps the k first of `count` candidates, where `bound` is the k-th key, in the order of rows.
  static std::size_t keep_first(column_selection<T> const& column, std::size_t count, bits bound) {
    using candidate = selection_candidate<T>;
    candidate* const candidates = column.candidates;
    candidate const first_tie(bound, 0);
    std::size_t ties = column.k, kept = 0;
    for (std::size_t i = 0; i < count; ++i) ties -= candidates[i] < first_tie;
    for (std::size_t i = 0; i < count; ++i) {
      candidate const next = candidates[i];
      bool const is_tie = !(next < first_tie), keeps = !is_tie || ties > 0;
      ties -= is_tie && keeps;
      candidates[kept] = next;
      kept += keeps;
    }
    return kept;
  }
};

// Collects at least min(k, rows) candidates. Requires k > 0.
template <class T>
std::size_t collect_candidates(target, column_selection<T> const& column) {
  using selector = row_selector<T>;
  std::size_t const groups = selector::group_count(column);
  if (column.x != nullptr)
    selector::template encode<false>(column, groups);
  else
    selector::template encode<true>(column, groups);
  auto const bound = groups == 0 ? static_cast<detail::bits_t<T>>(~detail::bits_t<T>{0})
                                 : selector::bound(column, groups);
  std::size_t const count = selector::collect(column, bound);
  return column.bound_is_exact() ? selector::keep_first(column, count, bound) : count;
}

// Sorts `count` integers, and stores the first k in `sorted`. `scratch` has lane_sort_bytes(count).
inline void sort_integers(target, std::uint64_t const* integers, std::size_t count,
                          unsigned char* scratch, std::uint64_t* sorted, std::size_t k) {
  using row_vector = keys<std::uint64_t>;
  constexpr std::size_t lanes = static_cast<std::size_t>(row_vector::lanes);
  std::size_t rows = lanes;
  while (rows * lanes < count) rows *= 2;
  auto* const vectors = reinterpret_cast<row_vector*>(scratch);
  for (std::size_t r = 0; r < rows; ++r) {
    row_vector row = row_vector::last();
    std::size_t const i = r * lanes;
    if (i < count) {
      std::uint64_t stage[lanes];
      store_lanes(stage, row.key);
      std::memcpy(stage, integers + i, (count - i < lanes ? count - i : lanes) * sizeof *integers);
      row.key = load_lanes<typename row_vector::vector>(stage);
    }
    vectors[row_at<row_vector>(r)] = row;
  }
  lane_sort<row_vector>::sort(vectors, rows);
  for (std::size_t lane = 0, i = 0; i < k; ++lane)
    for (std::size_t r = 0; r < rows && i < k; ++r, ++i)
      sorted[i] = reinterpret_cast<std::uint64_t const*>(vectors + row_at<row_vector>(r))[lane];
}
