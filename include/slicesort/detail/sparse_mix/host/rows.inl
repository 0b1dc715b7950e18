// SPDX-License-Identifier: Apache-2.0
// Loops of sparse_mix over the rows of a tile. Included once per instruction set.

// Applies one factor: every output row is a weighted sum of rows. The sums of `rows` rows and
// `across` vectors stay in registers, so a weight is loaded once for `across` vectors. If the first
// links follow the CHORD pattern, a row is also loaded only once for all of these sums, because
// loads are the bottleneck.
template <class T>
struct mix_sums {
  using lanes = value_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;
  static constexpr int across = mix_columns / lanes::count < 4 ? mix_columns / lanes::count : 4;
  static constexpr int rows = register_count == 32 ? 16 / across : 2;

  SLICESORT_FLATTEN static void run(row_span<T> const& s) {
    int const ahead = near_direction(s);
    int column = 0;
    for (; column + across * lanes::count <= mix_columns && column < s.width;
         column += across * lanes::count)
      if (column + lanes::count >= s.width)
        columns<1, 0>(s, column);
      else if (ahead == 0)
        columns<across, 0>(s, column);
      else if constexpr (rows >= 8)
        ahead > 0 ? columns<across, 1>(s, column) : columns<across, -1>(s, column);
    if (s.stream != nullptr) finish_streaming<true>();
  }

 private:
  // Near links of CHORD: 0, 1, 2, 4 and 8 rows ahead (1) or behind (-1).
  static constexpr int near_links = 5;
  static constexpr int near_row(int k) { return k == 0 ? 0 : 1 << (k - 1); }
  static constexpr int near_rows = rows + near_row(near_links - 1);
  static int near_direction(row_span<T> const& s) {
    if (rows < 8 || s.links < near_links) return 0;
    int const ahead = s.row[1] == mix_columns ? 1 : -1;
    for (int k = 0; k < near_links; ++k)
      if (s.row[k] != ahead * near_row(k) * mix_columns) return 0;
    return ahead;
  }

  template <int Across, int Ahead>
  static SLICESORT_INLINE void columns(row_span<T> const& s, int column) {
    index_t i = s.first;
    for (; i + rows <= s.last; i += rows) sums_of<rows, Across, Ahead>(s, i, column);
    for (; i < s.last; ++i) sums_of<1, Across, 0>(s, i, column);
  }
  // Computes `Rows` rows of `Across` vectors. `Ahead` is a template parameter, because a run-time
  // choice costs 7 %.
  template <int Rows, int Across, int Ahead>
  static SLICESORT_INLINE void sums_of(row_span<T> const& s, index_t i, int column) {
    constexpr int width = lanes::count;
    index_t const first = i * mix_columns + column;
    A const* const weights = s.weights + i * s.weight_pitch;
    A const* const source = s.from + first;
    V sum[std::size_t{Rows}][std::size_t{Across}] = {};
    if (s.start != nullptr)
      unrolled<Rows * Across>([&](auto index) {
        int const r = index / Across, v = index % Across;
        sum[r][v] = load_lanes<V>(s.start + first + r * mix_columns + v * width);
      });
    if constexpr (Ahead != 0) add_near<Ahead>(s, weights, source, sum);
    for (int k = Ahead == 0 ? 0 : near_links; k < s.links; ++k)
      unrolled<Rows>([&](auto r) {
        A const* const row = source + s.row[k] + r * mix_columns;
        V const weight = lanes::splat(weights[s.weight[k] + r * s.weight_pitch]);
        unrolled<Across>([&](auto v) {
          sum[r][v] = fused_lanes(weight, load_lanes<V>(row + v * width), sum[r][v]);
        });
      });
    if (s.stream != nullptr) {
      T* const stream = s.stream + i * s.stream_pitch + column;
      unrolled<Rows * Across>([&](auto index) {
        int const r = index / Across, v = index % Across;
        lanes::template store<true>(stream + r * s.stream_pitch + v * width, sum[r][v]);
      });
      if (s.to == nullptr) return;
    }
    if (s.round && !std::is_same_v<T, A>)
      unrolled<Rows * Across>([&](auto index) {
        int const r = index / Across, v = index % Across;
        sum[r][v] = lanes::rounded(sum[r][v]);
      });
    unrolled<Rows * Across>([&](auto index) {
      int const r = index / Across, v = index % Across;
      store_lanes(s.to + first + r * mix_columns + v * width, sum[r][v]);
    });
  }
  // Adds the near links of all rows. Loads each linked row once, nearest first, which is the order
  // of summation.
  template <int Ahead>
  static SLICESORT_INLINE void add_near(row_span<T> const& s, A const* weights, A const* source,
                                        V (&sum)[std::size_t{rows}][std::size_t{across}]) {
    unrolled<near_rows>([&](auto step) {
      constexpr int row_offset = Ahead == 1 ? step : rows - 1 - step;
      V row[std::size_t{across}];
      unrolled<across>([&](auto v) {
        row[v] = load_lanes<V>(source + row_offset * mix_columns + v * lanes::count);
      });
      unrolled<near_links>([&](auto k) {
        constexpr int row_index = row_offset - Ahead * near_row(k);
        if constexpr (0 <= row_index && row_index < rows) {
          V const weight = lanes::splat(weights[s.weight[k] + row_index * s.weight_pitch]);
          unrolled<across>(
              [&](auto v) { sum[row_index][v] = fused_lanes(weight, row[v], sum[row_index][v]); });
        }
      });
    });
  }
};

// Dot products of rows of two tiles. A round computes one product per lane. Lanes hold channels
// before the folds, and products after them.
template <class T>
struct mix_dots {
  using lanes = value_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;

  // Product s of a round multiplies the rows at a + pairs.a[s] and b + pairs.b[s]. The next round
  // starts `pairs.step` rows later and overwrites products `pairs.used` and later of this round.
  static void run(A const* a, A const* b, mix_pairs const& pairs, int rounds, A* products) {
    if (pairs.same_row)
      run_rounds<true>(a, b, pairs, rounds, products);
    else
      run_rounds<false>(a, b, pairs, rounds, products);
  }

 private:
  template <bool OneRow>
  static SLICESORT_INLINE void run_rounds(A const* a, A const* b, mix_pairs const& pairs,
                                          int rounds, A* products) {
    for (; rounds > 0; --rounds, products += pairs.used) {
      store_lanes(products, folded<OneRow, 1, 0>(a, b, pairs));
      a += pairs.step * mix_columns, b += pairs.step * mix_columns;
    }
  }

  // Number of vectors that hold channel_lanes elements. sparse_mix/params.hpp defines the order of
  // summation.
  static constexpr int row_vectors = detail::channel_lanes / lanes::count;
  static_assert(row_vectors >= 1, "the lanes of a channel block fill vectors");

  // Lane l of the result is a partial sum of product Pair + l - l % Half, over the lanes congruent
  // to l modulo Half.
  template <bool OneRow, int Half, int Pair>
  static SLICESORT_INLINE V folded(A const* a, A const* b, mix_pairs const& pairs) {
    if constexpr (Half == lanes::count)
      return reduced<1, 0>(OneRow ? a : a + pairs.a[Pair], b + pairs.b[Pair]);
    else
      return lanes::template fold<Half>(folded<OneRow, 2 * Half, Pair>(a, b, pairs),
                                        folded<OneRow, 2 * Half, Pair + Half>(a, b, pairs));
  }
  // Returns vector `Vector` of a row's products, reduced to `Count` vectors.
  template <int Count, int Vector>
  static SLICESORT_INLINE V reduced(A const* a, A const* b) {
    if constexpr (Count == row_vectors) {
      constexpr int near_half = Vector * lanes::count,
                    far_half = (row_vectors + Vector) * lanes::count;
      return fused_lanes(
          load_lanes<V>(a + far_half), load_lanes<V>(b + far_half),
          fused_lanes(load_lanes<V>(a + near_half), load_lanes<V>(b + near_half), V{}));
    } else {
      return lanes::plus(reduced<2 * Count, Vector>(a, b),
                         reduced<2 * Count, Vector + Count>(a, b));
    }
  }
};

// Adds `count` values to sums. With `anew`, the sums start at 0.
template <class T>
struct mix_add {
  using lanes = value_lanes<detail::accumulator_t<T>>;
  using A = typename lanes::A;
  using V = typename lanes::V;

  static void run(A const* numbers, index_t count, A* sums, bool anew) {
    index_t i = 0;
    for (; i + lanes::count <= count; i += lanes::count)
      lanes::template store<false>(
          sums + i, lanes::plus(anew ? V{} : load_lanes<V>(sums + i), load_lanes<V>(numbers + i)));
    for (; i < count; ++i) sums[i] = detail::rounded<A>((anew ? A(0) : sums[i]) + numbers[i]);
  }
};

template <class T>
void choose_kernels(target, mix_kernels<T>& table) {
  using transfer = simd_rows<T, mix_columns>;
  table.sums = mix_sums<T>::run;
  table.dots = mix_dots<T>::run;
  table.dots_per_round = value_lanes<T>::count;
  table.add_numbers = mix_add<T>::run;
  table.load = transfer::load;
  table.store = transfer::template store<false>;
  table.stream = transfer::template store<true>;
  table.add = transfer::add;
}
