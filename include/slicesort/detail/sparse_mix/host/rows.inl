// SPDX-License-Identifier: Apache-2.0
// The loops of sparse_mix over the rows of a tile. Included once per instruction set, after
// rows.inl.

// One factor: every row of the result is a sum of weighted rows. The sums of `rows` rows and
// `across` vectors stay in registers, so a weight is loaded once for `across` vectors. Where the
// first links are CHORD's, a row is loaded once for all sums of the block that it is a part of:
// loads are the bound.
template <class T>
struct mix_sums {
  using lanes = number_lanes<T>;
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
  // The links that rows share: 0, 1, 2, 4 and 8 rows ahead (1) or behind (-1).
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
  // Computes the sums of `Rows` rows from row i on, each of `Across` vectors. With `Ahead`, the
  // first links are the near ones; a choice at run time instead would cost 7 %.
  template <int Rows, int Across, int Ahead>
  static SLICESORT_INLINE void sums_of(row_span<T> const& s, index_t i, int column) {
    constexpr int width = lanes::count;
    index_t const first = i * mix_columns + column;
    A const* const weights = s.weights + i * s.weight_pitch;
    A const* const from = s.from + first;
    V sum[std::size_t{Rows}][std::size_t{Across}] = {};
    if (s.start != nullptr)
      unrolled<Rows * Across>([&](auto place) {
        int const r = place / Across, v = place % Across;
        sum[r][v] = load_lanes<V>(s.start + first + r * mix_columns + v * width);
      });
    if constexpr (Ahead != 0) add_near<Ahead>(s, weights, from, sum);
    for (int k = Ahead == 0 ? 0 : near_links; k < s.links; ++k)
      unrolled<Rows>([&](auto r) {
        A const* const row = from + s.row[k] + r * mix_columns;
        V const weight = lanes::splat(weights[s.weight[k] + r * s.weight_pitch]);
        unrolled<Across>([&](auto v) {
          sum[r][v] = fused_lanes(weight, load_lanes<V>(row + v * width), sum[r][v]);
        });
      });
    if (s.stream != nullptr) {
      T* const stream = s.stream + i * s.stream_pitch + column;
      unrolled<Rows * Across>([&](auto place) {
        int const r = place / Across, v = place % Across;
        lanes::template store<true>(stream + r * s.stream_pitch + v * width, sum[r][v]);
      });
      if (s.to == nullptr) return;
    }
    if (s.round && !std::is_same_v<T, A>)
      unrolled<Rows * Across>([&](auto place) {
        int const r = place / Across, v = place % Across;
        sum[r][v] = lanes::rounded(sum[r][v]);
      });
    unrolled<Rows * Across>([&](auto place) {
      int const r = place / Across, v = place % Across;
      store_lanes(s.to + first + r * mix_columns + v * width, sum[r][v]);
    });
  }
  // Adds the near links of all rows. Loads each row that they reach once, from the nearest on, as
  // the order of each sum demands.
  template <int Ahead>
  static SLICESORT_INLINE void add_near(row_span<T> const& s, A const* weights, A const* from,
                                        V (&sum)[std::size_t{rows}][std::size_t{across}]) {
    unrolled<near_rows>([&](auto step) {
      constexpr int reached = Ahead == 1 ? step : rows - 1 - step;
      V row[std::size_t{across}];
      unrolled<across>(
          [&](auto v) { row[v] = load_lanes<V>(from + reached * mix_columns + v * lanes::count); });
      unrolled<near_links>([&](auto k) {
        constexpr int to = reached - Ahead * near_row(k);
        if constexpr (0 <= to && to < rows) {
          V const weight = lanes::splat(weights[s.weight[k] + to * s.weight_pitch]);
          unrolled<across>([&](auto v) { sum[to][v] = fused_lanes(weight, row[v], sum[to][v]); });
        }
      });
    });
  }
};

// Dot products of rows of two tiles. A round forms as many as a vector has lanes: at first a lane
// is a channel, and after the folds it is a product.
template <class T>
struct mix_dots {
  using lanes = number_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;

  // Product s of a round is that of the rows at a + at.a[s] and b + at.b[s]; the next round begins
  // `at.step` rows later, and its products overwrite this one's from number `at.used` on.
  static void run(A const* a, A const* b, mix_pairs const& at, int rounds, A* products) {
    if (at.one_row)
      all<true>(a, b, at, rounds, products);
    else
      all<false>(a, b, at, rounds, products);
  }

 private:
  template <bool OneRow>
  static SLICESORT_INLINE void all(A const* a, A const* b, mix_pairs const& at, int rounds,
                                   A* products) {
    for (; rounds > 0; --rounds, products += at.used) {
      store_lanes(products, folded<OneRow, 1, 0>(a, b, at));
      a += at.step * mix_columns, b += at.step * mix_columns;
    }
  }

  // Vectors of half a row. Their lanes are channel_lanes of sparse_mix/params.hpp, which
  // defines the order of the sum.
  static constexpr int parts = detail::channel_lanes / lanes::count;
  static_assert(parts >= 1, "the lanes of a channel block fill vectors");

  // Lane l is a partial sum of product Pair + l - l % Half: over the lanes that were congruent to l
  // modulo Half.
  template <bool OneRow, int Half, int Pair>
  static SLICESORT_INLINE V folded(A const* a, A const* b, mix_pairs const& at) {
    if constexpr (Half == lanes::count)
      return added<1, 0>(OneRow ? a : a + at.a[Pair], b + at.b[Pair]);
    else
      return lanes::template fold<Half>(folded<OneRow, 2 * Half, Pair>(a, b, at),
                                        folded<OneRow, 2 * Half, Pair + Half>(a, b, at));
  }
  // Adds a row's product up to `Count` vectors, and returns vector number Part of them.
  template <int Count, int Part>
  static SLICESORT_INLINE V added(A const* a, A const* b) {
    if constexpr (Count == parts) {
      constexpr int near_half = Part * lanes::count, far_half = (parts + Part) * lanes::count;
      return fused_lanes(
          load_lanes<V>(a + far_half), load_lanes<V>(b + far_half),
          fused_lanes(load_lanes<V>(a + near_half), load_lanes<V>(b + near_half), V{}));
    } else {
      return lanes::plus(added<2 * Count, Part>(a, b), added<2 * Count, Part + Count>(a, b));
    }
  }
};

// Adds `count` numbers to sums, or, with `anew`, makes sums of them.
template <class T>
struct mix_add {
  using lanes = number_lanes<detail::accumulator_t<T>>;
  using A = typename lanes::A;
  using V = typename lanes::V;

  static void run(A const* of, index_t count, A* to, bool anew) {
    index_t i = 0;
    for (; i + lanes::count <= count; i += lanes::count)
      lanes::template store<false>(
          to + i, lanes::plus(anew ? V{} : load_lanes<V>(to + i), load_lanes<V>(of + i)));
    for (; i < count; ++i) to[i] = detail::rounded<A>((anew ? A(0) : to[i]) + of[i]);
  }
};

template <class T>
void choose_kernels(target, mix_kernels<T>& use) {
  using transfer = simd_rows<T, mix_columns>;
  use.sums = mix_sums<T>::run;
  use.dots = mix_dots<T>::run;
  use.dots_of_round = number_lanes<T>::count;
  use.add_numbers = mix_add<T>::run;
  use.load = transfer::load;
  use.store = transfer::template store<false>;
  use.stream = transfer::template store<true>;
  use.add = transfer::add;
}
