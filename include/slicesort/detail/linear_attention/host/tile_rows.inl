// SPDX-License-Identifier: Apache-2.0
// Sums over the rows and columns of a tile, in the orders that problem.hpp fixes. Included once per
// instruction set, after lane_numbers.inl.

template <class A>
class tile_rows {
  using lane_ops = lane_numbers<A>;
  using math = feature_math<lane_ops>;
  using lanes = number_lanes<A>;
  using V = typename lanes::V;
  using bits = typename lane_ops::bits;
  static constexpr int count = lanes::count, parts = detail::row_parts;
  static constexpr int vectors = parts / count;  // of the parts of a row
  static_assert(parts % count == 0 && product_columns % parts == 0);

 public:
  static void row_dots(row_dots_call<A> const& p) {
    int i = 0;
    for (; i + count <= p.size.rows; i += count) dots_of(p, i, i + count);
    if (i < p.size.rows) dots_of(p, i, p.size.rows);
  }

  static void column_sums(column_sums_call<A> const& p) {
    index_t c = 0;
    for (; c + 4 * count <= p.size.columns; c += 4 * count) sums_of<4>(p, c);
    for (; c < p.size.columns; c += count) sums_of<1>(p, c);
  }

  static void scale_rows(scale_rows_call<A> const& p) {
    for (int i = 0; i < p.size.rows; ++i) {
      V const factor = lanes::splat(p.factors[i]);
      for (index_t c = 0; c < p.size.columns; c += count)
        store_lanes(
            p.to.data + i * p.to.pitch + c,
            math::product(lane_ops{}, load_lanes<V>(p.from.data + i * p.from.pitch + c), factor));
    }
  }

  template <bool Stream, class T>
  static void store_scaled(A const* from, index_t pitch, int rows, index_t width, A const* factors,
                           T* to, index_t to_pitch) {
    for (int i = 0; i < rows; ++i, from += pitch, to += to_pitch) {
      V const factor = lanes::splat(factors[i]);
      index_t c = 0;
      for (; c + count <= width; c += count)
        number_lanes<T>::template store<Stream>(
            to + c, math::product(lane_ops{}, load_lanes<V>(from + c), factor));
      if (c == width) continue;
      A rest[std::size_t{count}];
      store_lanes(rest, math::product(lane_ops{}, load_lanes<V>(from + c), factor));
      for (index_t l = 0; c + l < width; ++l) to[c + l] = detail::rounded<T>(rest[l]);
    }
  }

  static void add_rows_times(add_rows_times_call<A> const& p) {
    for (int i = 0; i < p.size.rows; ++i) {
      V const factor = lanes::splat(p.factors[i]);
      A const* const other = p.other.data + i * p.other.pitch;
      A* const to = p.to.data + i * p.to.pitch;
      for (index_t c = 0; c < p.size.columns; c += count)
        store_lanes(to + c, fused_lanes(factor, load_lanes<V>(other + c), load_lanes<V>(to + c)));
    }
  }

  static void running_sums(running_sums_call<A> const& p) {
    for (index_t c = 0; c < p.size.columns; c += count) {
      V sum = load_lanes<V>(p.start + c);
      for (int i = 0; i < p.size.rows; ++i) {
        if (i < p.of.added) {
          V const kept = lanes::splat(p.of.kept == nullptr ? A(1) : p.of.kept[i]);
          sum = fused_lanes(sum, kept, load_lanes<V>(p.from.data + i * p.from.pitch + c));
        }
        store_lanes(p.to + i * p.from.pitch + c, sum);
      }
    }
  }

  static void causal_weights(causal_weights_call<A> const& p) {
    constexpr int pitch = detail::linear_attention_tile;
    lane_ops const ops{};
    typename lane_ops::integer lane_index[std::size_t{count}];
    for (int l = 0; l < count; ++l) lane_index[l] = static_cast<typename lane_ops::integer>(l);
    bits const lane = load_lanes<bits>(lane_index);
    bool const only_masks = p.plus == nullptr && p.maxima == nullptr;
    for (int i = 0; i < p.rows; ++i) {
      A* const row = p.weights + i * pitch;
      int const diagonal = i / product_columns * product_columns;
      for (int c = only_masks ? diagonal : 0; c < diagonal + product_columns; c += count) {
        V weight = load_lanes<V>(row + c);
        if (p.plus != nullptr) weight = math::sum(ops, weight, lanes::splat(p.plus[i]));
        if (p.maxima != nullptr) {
          V const lower = math::sum(ops, load_lanes<V>(p.maxima + c), lanes::splat(-p.maxima[i]));
          weight = math::product(ops, weight, math::exponential(ops, lower));
        }
        if (c >= diagonal) {
          auto const kept = static_cast<typename lane_ops::integer>(std::max(i + 1 - c, 0));
          weight = math::masked(ops, greater(ops.every_bits(kept), lane), weight);
        }
        store_lanes(row + c, weight);
      }
    }
  }

  static bool any_special(pitched_rows<A const> of, tile_extent size) {
    lane_ops const ops{};
    constexpr auto sign = detail::sign_bit<detail::bits_t<A>>;
    bits const magnitude = ops.every_bits(static_cast<typename lane_ops::integer>(~sign));
    bits most{};
    for (int i = 0; i < size.rows; ++i)
      for (index_t c = 0; c < size.columns; c += count)
        most = higher(most, load_lanes<bits>(of.data + i * of.pitch + c) & magnitude);
    return any_set(greater(most, ops.every_bits(dtype_traits<A>::infinity - 1)));
  }

  static void exponentials(A* x, index_t amount) {
    for (index_t c = 0; c < amount; c += count)
      store_lanes(x + c, math::exponential(lane_ops{}, load_lanes<V>(x + c)));
  }

  // The angles of cosine_reweighted in rows first, first + 1, ..: see detail::angle_of_row.
  static void angles(index_t first, index_t length, int rows, A* cosine, A* sine) {
    using wide_lane_ops = lane_numbers<double>;
    using wide_math = feature_math<wide_lane_ops>;
    constexpr int wide = number_lanes<double>::count;
    wide_lane_ops const ops{};
    double part[std::size_t{wide}], cosines[std::size_t{wide}], sines[std::size_t{wide}];
    for (int i = 0; i < rows; i += wide) {
      for (int l = 0; l < wide; ++l)
        part[l] = static_cast<double>(first + i + l + 1) / static_cast<double>(2 * length);
      auto const at = wide_math::sincos(
          ops, wide_math::product(ops, load_lanes<typename wide_lane_ops::number>(part),
                                  ops.every(3.14159265358979323846)));
      store_lanes(cosines, at.cosine);
      store_lanes(sines, at.sine);
      for (int l = 0; l < wide && i + l < rows; ++l) {
        cosine[i + l] = static_cast<A>(cosines[l]);
        sine[i + l] = static_cast<A>(sines[l]);
      }
    }
  }

  // to[c][r] = from[r][c]; rows and columns in whole blocks of product_columns.
  static void transposed(A const* from, index_t pitch, index_t rows, index_t columns, A* to,
                         index_t to_pitch) {
    for (index_t r = 0; r < rows; r += count)
      for (index_t c = 0; c < columns; c += count)
        transpose_square<bits>(from + r * pitch + c, pitch, to + c * to_pitch + r, to_pitch);
  }

 private:
  // Rows [first, last), `count` at the most. Row r's parts are folded with those of the other rows
  // such that lane l of the last vector is row first + l.
  static SLICESORT_INLINE void dots_of(row_dots_call<A> const& p, int first, int last) {
    V folded[std::size_t{count}];
    for (int l = 0; l < count; ++l) {
      int const i = first + l < last ? first + l : last - 1;
      folded[l] = parts_of(p.a.data + i * p.a.pitch, p.b.data + i * p.b.pitch, p.size.columns);
    }
    fold_rows<count / 2>(folded);
    A each[std::size_t{count}];
    store_lanes(each, folded[0]);
    for (int i = first; i < last; ++i) p.to[i] = each[i - first];
  }
  static SLICESORT_INLINE V parts_of(A const* a, A const* b, index_t depth) {
    V part[std::size_t{vectors}];
    for (V& one : part) one = V{};
    for (index_t k = 0; k < depth; k += parts)
      for (int n = 0; n < vectors; ++n)
        part[n] = fused_lanes(load_lanes<V>(a + k + n * count), load_lanes<V>(b + k + n * count),
                              part[n]);
    for (int half = vectors / 2; half > 0; half /= 2)
      for (int n = 0; n < half; ++n) part[n] = math::sum(lane_ops{}, part[n], part[n + half]);
    return part[0];
  }
  template <int Half>
  static SLICESORT_INLINE void fold_rows(V* x) {
    if constexpr (Half > 0) {
      for (int l = 0; l < Half; ++l) x[l] = lanes::template fold<Half>(x[l], x[l + Half]);
      fold_rows<Half / 2>(x);
    }
  }

  template <int Vectors>
  static SLICESORT_INLINE void sums_of(column_sums_call<A> const& p, index_t c) {
    V sum[std::size_t{Vectors}];
    for (V& one : sum) one = V{};
    for (int i = 0; i < p.size.rows; ++i) {
      V const weight = lanes::splat(p.weights[i]);
      for (int n = 0; n < Vectors; ++n)
        sum[n] = fused_lanes(load_lanes<V>(p.from.data + i * p.from.pitch + c + n * count), weight,
                             sum[n]);
    }
    V const kept = lanes::splat(p.kept);
    for (int n = 0; n < Vectors; ++n)
      store_lanes(p.to + c + n * count,
                  fused_lanes(load_lanes<V>(p.to + c + n * count), kept, sum[n]));
  }
};
