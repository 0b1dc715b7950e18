// SPDX-License-Identifier: Apache-2.0
// Kernels on the rows of a tile, with the summation orders of params.hpp. Included once per
// instruction set, after lane_values.inl.

template <class A>
class tile_rows {
  using lane_ops = lane_values<A>;
  using math = feature_math<lane_ops>;
  using lanes = value_lanes<A>;
  using V = typename lanes::V;
  using bits = typename lane_ops::bits;
  static constexpr int count = lanes::count, partials = detail::partials_per_row;
  static constexpr int vectors = partials / count;  // vectors that hold the partial sums of a row
  static_assert(partials % count == 0 && product_columns % partials == 0);

 public:
  static void compute_row_dots(row_dots_params<A> const& params) {
    int i = 0;
    for (; i + count <= params.size.rows; i += count) dot_rows(params, i, i + count);
    if (i < params.size.rows) dot_rows(params, i, params.size.rows);
  }

  static void add_column_sums(add_column_sums_params<A> const& params) {
    index_t c = 0;
    for (; c + 4 * count <= params.size.columns; c += 4 * count) add_columns<4>(params, c);
    for (; c < params.size.columns; c += count) add_columns<1>(params, c);
  }

  static void scale_rows(scale_rows_params<A> const& params) {
    for (int i = 0; i < params.size.rows; ++i) {
      V const factor = lanes::splat(params.factors[i]);
      for (index_t c = 0; c < params.size.columns; c += count)
        store_lanes(
            params.to.data + i * params.to.pitch + c,
            math::product(lane_ops{}, load_lanes<V>(params.from.data + i * params.from.pitch + c),
                          factor));
    }
  }

  template <bool Stream, class T>
  static void store_scaled(A const* from, index_t pitch, int rows, index_t width, A const* factors,
                           T* to, index_t to_pitch) {
    for (int i = 0; i < rows; ++i, from += pitch, to += to_pitch) {
      V const factor = lanes::splat(factors[i]);
      index_t c = 0;
      for (; c + count <= width; c += count)
        value_lanes<T>::template store<Stream>(
            to + c, math::product(lane_ops{}, load_lanes<V>(from + c), factor));
      if (c == width) continue;
      A last_values[std::size_t{count}];
      store_lanes(last_values, math::product(lane_ops{}, load_lanes<V>(from + c), factor));
      for (index_t l = 0; c + l < width; ++l) to[c + l] = detail::rounded<T>(last_values[l]);
    }
  }

  static void add_scaled_rows(add_scaled_rows_params<A> const& params) {
    for (int i = 0; i < params.size.rows; ++i) {
      V const factor = lanes::splat(params.factors[i]);
      A const* const addend = params.addend.data + i * params.addend.pitch;
      A* const sums = params.sums.data + i * params.sums.pitch;
      for (index_t c = 0; c < params.size.columns; c += count)
        store_lanes(sums + c,
                    fused_lanes(factor, load_lanes<V>(addend + c), load_lanes<V>(sums + c)));
    }
  }

  static void compute_running_sums(running_sums_params<A> const& params) {
    for (index_t c = 0; c < params.size.columns; c += count) {
      V sum = load_lanes<V>(params.start + c);
      for (int i = 0; i < params.size.rows; ++i) {
        if (i < params.added.count) {
          V const decay =
              lanes::splat(params.added.decay == nullptr ? A(1) : params.added.decay[i]);
          sum =
              fused_lanes(sum, decay, load_lanes<V>(params.from.data + i * params.from.pitch + c));
        }
        store_lanes(params.out + i * params.from.pitch + c, sum);
      }
    }
  }

  static void mask_weights(mask_weights_params<A> const& params) {
    constexpr int pitch = detail::linear_tile;
    lane_ops const ops{};
    typename lane_ops::integer lane_index[std::size_t{count}];
    for (int l = 0; l < count; ++l) lane_index[l] = static_cast<typename lane_ops::integer>(l);
    bits const lane = load_lanes<bits>(lane_index);
    bool const masks_only = params.addends == nullptr && params.maxima == nullptr;
    for (int i = 0; i < params.rows; ++i) {
      A* const row = params.weights + i * pitch;
      int const own_key = i + params.first_query;
      int const diagonal = own_key / product_columns * product_columns;
      int const columns = detail::weight_columns(i / product_columns * product_columns, params.rows,
                                                 params.first_query);
      for (int c = masks_only ? diagonal : 0; c < columns; c += count) {
        V weight = load_lanes<V>(row + c);
        if (params.addends != nullptr)
          weight = math::sum(ops, weight, lanes::splat(params.addends[i]));
        if (params.maxima != nullptr) {
          V const exponent = math::sum(ops, load_lanes<V>(params.maxima + c),
                                       lanes::splat(-params.maxima[own_key]));
          weight = math::product(ops, weight, math::exponential(ops, exponent));
        }
        if (c >= diagonal) {
          auto const visible_count =
              static_cast<typename lane_ops::integer>(std::max(own_key + 1 - c, 0));
          weight = math::mask_bits(ops, greater(ops.splat_bits(visible_count), lane), weight);
        }
        store_lanes(row + c, weight);
      }
    }
  }

  static bool has_non_finite(pitched_rows<A const> matrix, tile_extent size) {
    lane_ops const ops{};
    constexpr auto sign = detail::sign_bit<detail::bits_t<A>>;
    bits const magnitude = ops.splat_bits(static_cast<typename lane_ops::integer>(~sign));
    bits largest{};
    for (int i = 0; i < size.rows; ++i)
      for (index_t c = 0; c < size.columns; c += count)
        largest =
            max_lanes(largest, load_lanes<bits>(matrix.data + i * matrix.pitch + c) & magnitude);
    return any_set(greater(largest, ops.splat_bits(dtype_traits<A>::infinity - 1)));
  }

  static void exponentiate(A* x, index_t size) {
    for (index_t c = 0; c < size; c += count)
      store_lanes(x + c, math::exponential(lane_ops{}, load_lanes<V>(x + c)));
  }

  // Computes detail::angle_of_row of the rows from `first` on.
  static void compute_angles(index_t first, index_t length, int rows, A* cosine, A* sine) {
    using wide_lane_ops = lane_values<double>;
    using wide_math = feature_math<wide_lane_ops>;
    constexpr int wide_count = value_lanes<double>::count;
    wide_lane_ops const ops{};
    double fraction[std::size_t{wide_count}], cosines[std::size_t{wide_count}],
        sines[std::size_t{wide_count}];
    for (int i = 0; i < rows; i += wide_count) {
      for (int l = 0; l < wide_count; ++l)
        fraction[l] = static_cast<double>(first + i + l + 1) / static_cast<double>(2 * length);
      auto const angle = wide_math::sincos(
          ops, wide_math::product(ops, load_lanes<typename wide_lane_ops::value>(fraction),
                                  ops.splat(3.14159265358979323846)));
      store_lanes(cosines, angle.cosine);
      store_lanes(sines, angle.sine);
      for (int l = 0; l < wide_count && i + l < rows; ++l) {
        cosine[i + l] = static_cast<A>(cosines[l]);
        sine[i + l] = static_cast<A>(sines[l]);
      }
    }
  }

  // [rows, columns] -> [columns, rows]. Both extents must be multiples of product_columns.
  static void transpose(A const* from, index_t pitch, index_t rows, index_t columns, A* to,
                        index_t to_pitch) {
    for (index_t r = 0; r < rows; r += count)
      for (index_t c = 0; c < columns; c += count)
        transpose_square<bits>(from + r * pitch + c, pitch, to + c * to_pitch + r, to_pitch);
  }

 private:
  // Computes the dot products of at most `count` rows, [first, last). Folding their partial sums
  // pairwise puts the result of row first + l in lane l.
  static SLICESORT_INLINE void dot_rows(row_dots_params<A> const& params, int first, int last) {
    V folded[std::size_t{count}];
    for (int l = 0; l < count; ++l) {
      int const i = first + l < last ? first + l : last - 1;
      folded[l] = partial_sums(params.a.data + i * params.a.pitch,
                               params.b.data + i * params.b.pitch, params.size.columns);
    }
    fold_rows<count / 2>(folded);
    A dots[std::size_t{count}];
    store_lanes(dots, folded[0]);
    for (int i = first; i < last; ++i) params.out[i] = dots[i - first];
  }
  static SLICESORT_INLINE V partial_sums(A const* a, A const* b, index_t depth) {
    V sum[std::size_t{vectors}];
    for (V& x : sum) x = V{};
    for (index_t k = 0; k < depth; k += partials)
      for (int n = 0; n < vectors; ++n)
        sum[n] =
            fused_lanes(load_lanes<V>(a + k + n * count), load_lanes<V>(b + k + n * count), sum[n]);
    for (int half = vectors / 2; half > 0; half /= 2)
      for (int n = 0; n < half; ++n) sum[n] = math::sum(lane_ops{}, sum[n], sum[n + half]);
    return sum[0];
  }
  template <int Half>
  static SLICESORT_INLINE void fold_rows(V* x) {
    if constexpr (Half > 0) {
      for (int l = 0; l < Half; ++l) x[l] = lanes::template fold<Half>(x[l], x[l + Half]);
      fold_rows<Half / 2>(x);
    }
  }

  template <int Vectors>
  static SLICESORT_INLINE void add_columns(add_column_sums_params<A> const& params, index_t c) {
    V sum[std::size_t{Vectors}];
    for (V& x : sum) x = V{};
    for (int i = 0; i < params.size.rows; ++i) {
      V const weight = lanes::splat(params.weights[i]);
      for (int n = 0; n < Vectors; ++n)
        sum[n] =
            fused_lanes(load_lanes<V>(params.from.data + i * params.from.pitch + c + n * count),
                        weight, sum[n]);
    }
    V const decay = lanes::splat(params.decay);
    for (int n = 0; n < Vectors; ++n)
      store_lanes(params.sums + c + n * count,
                  fused_lanes(load_lanes<V>(params.sums + c + n * count), decay, sum[n]));
  }
};
