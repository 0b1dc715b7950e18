// SPDX-License-Identifier: Apache-2.0
// SIMD kernels of sparse_mix: weighted sums and dot products of a tile's rows. Included once per
// instruction set.

// Applies one factor: every output row is a weighted sum of rows. The sums of `rows` rows and
// `vectors_across` vectors stay in registers, so each weight is loaded once for several vectors. If
// the first links follow the CHORD pattern, each row is also loaded only once for all of these
// sums, because loads are the bottleneck.
template <class T>
struct mix_sums {
  using lanes = value_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;
  static constexpr int vectors_across =
      mix_columns / lanes::count < 4 ? mix_columns / lanes::count : 4;
  static constexpr int rows = register_count == 32 ? 16 / vectors_across : 2;

  SLICESORT_FLATTEN static void run(row_span<T> const& span) {
    int const direction = near_direction(span);
    int column = 0;
    for (; column + vectors_across * lanes::count <= mix_columns && column < span.width;
         column += vectors_across * lanes::count)
      if (column + lanes::count >= span.width)
        columns<1, 0>(span, column);
      else if (direction == 0)
        columns<vectors_across, 0>(span, column);
      else if constexpr (rows >= 8)
        direction > 0 ? columns<vectors_across, 1>(span, column)
                      : columns<vectors_across, -1>(span, column);
    if (span.stream != nullptr) finish_streaming<true>();
  }

 private:
  // Near links of CHORD: 0, 1, 2, 4 and 8 rows ahead (direction 1) or behind (-1). Direction 0
  // means that the first links are others.
  static constexpr int near_links = 5;
  static constexpr int near_row(int k) { return k == 0 ? 0 : 1 << (k - 1); }
  static constexpr int near_rows = rows + near_row(near_links - 1);
  static int near_direction(row_span<T> const& span) {
    if (rows < 8 || span.links < near_links || span.tensor_gap != 0) return 0;
    int const direction = span.row_offsets[1] == mix_columns ? 1 : -1;
    for (int k = 0; k < near_links; ++k)
      if (span.row_offsets[k] != direction * near_row(k) * mix_columns) return 0;
    return direction;
  }

  template <int Across, int Direction>
  static SLICESORT_INLINE void columns(row_span<T> const& span, int column) {
    index_t i = span.first;
    for (; i + rows <= span.last; i += rows) sums_of<rows, Across, Direction>(span, i, column);
    for (; i < span.last; ++i) sums_of<1, Across, 0>(span, i, column);
  }
  // Computes `Rows` rows of `Across` vectors. `Direction` is a template parameter, because a
  // run-time choice costs 7 %.
  template <int Rows, int Across, int Direction>
  static SLICESORT_INLINE void sums_of(row_span<T> const& span, index_t i, int column) {
    constexpr int width = lanes::count;
    // Rows with near links are neighbors in the tile.
    index_t const run = Direction == 0 ? i / mix_rows_per_run : 0;
    index_t const input_row = i + run * span.input_gap, output_row = i + run * span.output_gap,
                  tensor_row = i + run * span.tensor_gap;
    index_t const first = input_row * mix_columns + column;
    A const* const weights = span.weights + tensor_row * span.weight_pitch;
    A const* const source = span.input + first;
    V sum[std::size_t{Rows}][std::size_t{Across}] = {};
    if (span.start != nullptr)
      unrolled<Rows * Across>([&](auto index) {
        int const r = index / Across, v = index % Across;
        sum[r][v] = load_lanes<V>(span.start + first + r * mix_columns + v * width);
      });
    int link = 0;
    if constexpr (Direction != 0) {
      add_near<Direction>(span, weights, source, sum);
      link = near_links;
    } else if (span.links > 0 && span.start == span.input && span.row_offsets[0] == 0) {
      // The rows that the sums start from are those of the first link.
      unrolled<Rows>([&](auto r) {
        V const weight = lanes::splat(weights[span.weight_offsets[0] + r * span.weight_pitch]);
        unrolled<Across>([&](auto v) { sum[r][v] = fused_lanes(weight, sum[r][v], sum[r][v]); });
      });
      link = 1;
    }
    for (; link < span.links; ++link)
      unrolled<Rows>([&](auto r) {
        A const* const row = source + span.row_offsets[link] + r * mix_columns;
        V const weight = lanes::splat(weights[span.weight_offsets[link] + r * span.weight_pitch]);
        unrolled<Across>([&](auto v) {
          sum[r][v] = fused_lanes(weight, load_lanes<V>(row + v * width), sum[r][v]);
        });
      });
    if (span.stream != nullptr) {
      T* const stream = span.stream + tensor_row * span.stream_pitch + column;
      unrolled<Rows * Across>([&](auto index) {
        int const r = index / Across, v = index % Across;
        lanes::template store<true>(stream + r * span.stream_pitch + v * width, sum[r][v]);
      });
      if (span.output == nullptr) return;
    }
    if (span.rounds_sums && !std::is_same_v<T, A>)
      unrolled<Rows * Across>([&](auto index) {
        int const r = index / Across, v = index % Across;
        sum[r][v] = lanes::rounded(sum[r][v]);
      });
    unrolled<Rows * Across>([&](auto index) {
      int const r = index / Across, v = index % Across;
      store_lanes(span.output + (output_row + r) * mix_columns + column + v * width, sum[r][v]);
    });
  }
  // Adds the near links of all rows. Loads each linked row once, nearest first, which is the order
  // of summation.
  template <int Direction>
  static SLICESORT_INLINE void add_near(row_span<T> const& span, A const* weights, A const* source,
                                        V (&sum)[std::size_t{rows}][std::size_t{vectors_across}]) {
    unrolled<near_rows>([&](auto step) {
      constexpr int row_offset = Direction == 1 ? step : rows - 1 - step;
      V row[std::size_t{vectors_across}];
      unrolled<vectors_across>([&](auto v) {
        row[v] = load_lanes<V>(source + row_offset * mix_columns + v * lanes::count);
#if SLICESORT_VECTOR_BYTES == 64
        // Otherwise GCC loads the row again for every sum.
        __asm__("" : "+v"(row[v]));
#endif
      });
      unrolled<near_links>([&](auto k) {
        constexpr int row_index = row_offset - Direction * near_row(k);
        if constexpr (0 <= row_index && row_index < rows) {
          V const weight =
              lanes::splat(weights[span.weight_offsets[k] + row_index * span.weight_pitch]);
          unrolled<vectors_across>(
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

  // Product s of a round multiplies the rows at a + offsets.a[s] and b + offsets.b[s]. The next
  // round starts `rows_per_round` rows later and overwrites products `dots_per_round` and later.
  static void run(A const* a, A const* b, mix_dot_offsets const& offsets, int rounds, A* products) {
    if (offsets.a_is_one_row)
      run_rounds<true>(a, b, offsets, rounds, products);
    else
      run_rounds<false>(a, b, offsets, rounds, products);
  }

 private:
  template <bool AIsOneRow>
  static SLICESORT_INLINE void run_rounds(A const* a, A const* b, mix_dot_offsets const& offsets,
                                          int rounds, A* products) {
    for (; rounds > 0; --rounds, products += offsets.dots_per_round) {
      store_lanes(products, fold_products<AIsOneRow, 1, 0>(a, b, offsets));
      a += offsets.rows_per_round * mix_columns, b += offsets.rows_per_round * mix_columns;
    }
  }

  // Number of vectors that hold channel_lanes elements. sparse_mix/params.hpp defines the order of
  // summation.
  static constexpr int row_vectors = detail::channel_lanes / lanes::count;
  static_assert(row_vectors >= 1, "the lanes of a channel block fill vectors");

  // Lane l of the result is a partial sum of product Pair + l - l % Half, over the lanes congruent
  // to l modulo Half.
  template <bool AIsOneRow, int Half, int Pair>
  static SLICESORT_INLINE V fold_products(A const* a, A const* b, mix_dot_offsets const& offsets) {
    if constexpr (Half == lanes::count)
      return reduce_vectors<1, 0>(AIsOneRow ? a : a + offsets.a[Pair], b + offsets.b[Pair]);
    else
      return lanes::template fold<Half>(
          fold_products<AIsOneRow, 2 * Half, Pair>(a, b, offsets),
          fold_products<AIsOneRow, 2 * Half, Pair + Half>(a, b, offsets));
  }
  // Returns vector `Vector` of a row's products, reduced to `Count` vectors.
  template <int Count, int Vector>
  static SLICESORT_INLINE V reduce_vectors(A const* a, A const* b) {
    if constexpr (Count == row_vectors) {
      constexpr int near_half = Vector * lanes::count,
                    far_half = (row_vectors + Vector) * lanes::count;
      return fused_lanes(
          load_lanes<V>(a + far_half), load_lanes<V>(b + far_half),
          fused_lanes(load_lanes<V>(a + near_half), load_lanes<V>(b + near_half), V{}));
    } else {
      return lanes::plus(reduce_vectors<2 * Count, Vector>(a, b),
                         reduce_vectors<2 * Count, Vector + Count>(a, b));
    }
  }
};

// Adds `count` values to sums. With `overwrite`, the sums start at 0.
template <class T>
struct mix_add {
  using lanes = value_lanes<detail::accumulator_t<T>>;
  using A = typename lanes::A;
  using V = typename lanes::V;

  static void run(A const* values, index_t count, A* sums, bool overwrite) {
    index_t i = 0;
    for (; i + lanes::count <= count; i += lanes::count)
      lanes::template store<false>(sums + i, lanes::plus(overwrite ? V{} : load_lanes<V>(sums + i),
                                                         load_lanes<V>(values + i)));
    for (; i < count; ++i) sums[i] = detail::rounded<A>((overwrite ? A(0) : sums[i]) + values[i]);
  }
};

template <class T>
void choose_kernels(target, mix_kernels<T>& table) {
  using transfer = simd_rows<T, mix_columns>;
  table.mix_rows = mix_sums<T>::run;
  table.dot_rows = mix_dots<T>::run;
  table.max_dots_per_round = value_lanes<T>::count;
  table.add_values = mix_add<T>::run;
  table.load = transfer::load;
  table.store = transfer::template store<false>;
  table.stream = transfer::template store<true>;
  table.add = transfer::add;
}
