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

  static void run(row_span<T> const& s) {
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
  static constexpr std::size_t near_rows{rows + near_row(near_links - 1)};
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
    for (; i + rows <= s.last; i += rows)
      sums_of<Across, Ahead>(s, i, column, std::make_index_sequence<std::size_t{rows * Across}>{});
    for (; i < s.last; ++i)
      sums_of<Across, 0>(s, i, column, std::make_index_sequence<std::size_t{Across}>{});
  }
  // Forms sum number `At` of row At / Across and vector At % Across. With `Ahead`, the first links
  // are the near ones; a choice at run time instead would cost 7 %.
  template <int Across, int Ahead, std::size_t... At>
  static SLICESORT_INLINE void sums_of(row_span<T> const& s, index_t i, int column,
                                       std::index_sequence<At...>) {
    constexpr std::size_t wide = Across;
    index_t const here = i * mix_columns + column;
    V sum[] = {start<At / wide, At % wide>(s.start, here)...};
    A const* const weights = s.weights + i * s.weight_pitch;
    A const* const from = s.from + here;
    if constexpr (Ahead != 0)
      add_near<Ahead>(s, weights, from, sum, std::make_index_sequence<near_rows>{});
    for (int k = Ahead == 0 ? 0 : near_links; k < s.links; ++k) {
      A const* const row = from + s.row[k];
      A const* weight = weights + s.weight[k];
      V every{};
      ((every = At % wide == 0
                    ? lanes::every(weight[static_cast<index_t>(At / wide) * s.weight_pitch])
                    : every,
        sum[At] = fused_lanes(every, load_lanes<V>(row + offset<At / wide, At % wide>), sum[At])),
       ...);
    }
    if (s.stream != nullptr) {
      T* const stream = s.stream + i * s.stream_pitch + column;
      (lanes::template store<true>(stream + static_cast<index_t>(At / wide) * s.stream_pitch +
                                       static_cast<index_t>(At % wide) * lanes::count,
                                   sum[At]),
       ...);
      if (s.to == nullptr) return;
    }
    if (s.round && !std::is_same_v<T, A>)
      (store_lanes(s.to + here + offset<At / wide, At % wide>, lanes::rounded(sum[At])), ...);
    else
      (store_lanes(s.to + here + offset<At / wide, At % wide>, sum[At]), ...);
  }
  // Adds the near links of all rows, row by row of those that they reach, from the nearest on, as
  // the order of each sum demands.
  template <int Ahead, std::size_t... Step>
  static SLICESORT_INLINE void add_near(row_span<T> const& s, A const* weights, A const* from,
                                        V* sum, std::index_sequence<Step...>) {
    (add_row < Ahead,
     Ahead == 1 ? static_cast<int>(Step)
                : rows - 1 - static_cast<int>(Step) >
                      (s, weights, from, sum, std::make_index_sequence<near_links>{},
                       std::make_index_sequence<std::size_t{across}>{}),
     ...);
  }
  // Adds row `From` of the block, or before or after it, to the sums that have a link to it.
  template <int Ahead, int From, std::size_t... Link, std::size_t... Vector>
  static SLICESORT_INLINE void add_row(row_span<T> const& s, A const* weights, A const* from,
                                       V* sum, std::index_sequence<Link...>,
                                       std::index_sequence<Vector...> vectors) {
    if constexpr (((0 <= From - Ahead * near_row(Link) && From - Ahead * near_row(Link) < rows) ||
                   ...)) {
      V const row[] = {
          load_lanes<V>(from + From * mix_columns + static_cast<int>(Vector) * lanes::count)...};
      (add_link<From - Ahead * near_row(Link)>(s, weights + s.weight[Link], row, sum, vectors),
       ...);
    }
  }
  template <int To, std::size_t... Vector>
  static SLICESORT_INLINE void add_link(row_span<T> const& s, A const* weight, V const* row, V* sum,
                                        std::index_sequence<Vector...>) {
    if constexpr (0 <= To && To < rows) {
      V const every = lanes::every(weight[To * s.weight_pitch]);
      ((sum[To * across + static_cast<int>(Vector)] =
            fused_lanes(every, row[Vector], sum[To * across + static_cast<int>(Vector)])),
       ...);
    }
  }
  template <std::size_t Row, std::size_t Vector>
  static constexpr index_t offset = static_cast<index_t>(Row) * mix_columns +
                                    static_cast<index_t>(Vector) * lanes::count;
  template <std::size_t Row, std::size_t Vector>
  static SLICESORT_INLINE V start(A const* from, index_t here) {
    return from == nullptr ? V{} : load_lanes<V>(from + here + offset<Row, Vector>);
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
