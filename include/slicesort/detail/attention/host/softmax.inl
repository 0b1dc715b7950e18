// SPDX-License-Identifier: Apache-2.0
// Softmax and its gradient, for tiles whose lanes are queries and for rows of keys. All arithmetic
// uses fused multiply-adds, so every instruction set gives the same bits. Included once per
// instruction set, after value_lanes.inl.

template <class A>
struct attention_rows {
  using lanes = value_lanes<A>;
  using V = typename lanes::V;
  using uint_lanes = vec<lane_uint<A>, lanes::count>;
  static constexpr int pitch = tile_queries;

  static void mask_scores(mask_scores_params<A> const& params) {
    if (params.mask.unmasked) return add_bias(params);
    for (int column = params.lanes.first; column < params.lanes.last; column += lanes::count) {
      uint_lanes const first = load_lanes<uint_lanes>(params.mask.first + column),
                       last = load_lanes<uint_lanes>(params.mask.last + column);
      V const scale = lanes::splat(params.scale);
      A* s = params.scores + column;
      for (int j = 0; j < params.keys; ++j, s += pitch) {
        uint_lanes const row = broadcast<uint_lanes>(static_cast<lane_uint<A>>(j));
        uint_lanes keep = greater(last, row) & ~greater(first, row);
        if (params.mask.allowed_bits != nullptr)
          keep = keep & expand_lane_bits(params.mask.allowed_bits[j] >> column);
        V score = load_lanes<V>(s);
        if (params.bias.data != nullptr)
          score = fused_lanes(score, scale,
                              load_lanes<V>(params.bias.data + j * params.bias.pitch + column));
        store_lanes(s, select(keep, as<uint_lanes>(score), splat_uint(minus_infinity_bits)));
      }
    }
  }

  static void add_bias(mask_scores_params<A> const& params) {
    V const scale = lanes::splat(params.scale);
    for (int j = 0; j < params.keys; ++j)
      for (int column = params.lanes.first; column < params.lanes.last; column += lanes::count) {
        A* const s = params.scores + j * pitch + column;
        store_lanes(s,
                    fused_lanes(load_lanes<V>(s), scale,
                                load_lanes<V>(params.bias.data + j * params.bias.pitch + column)));
      }
  }

  static void update_softmax(online_softmax_params<A> const& params) {
    for (int column = params.lanes.first; column < params.lanes.last; column += lanes::count) {
      A* const s = params.scores + column;
      V const old_max = load_lanes<V>(params.row_max + column);
      V const max = row_maximum(old_max, s, params.keys);
      store_lanes(params.row_max + column, max);
      V const minus_max = negate_finite(max);
      V const rescale = exponential(fma_sum(old_max, minus_max));
      store_lanes(params.rescale + column, rescale);
      V row_sum = fma_product(load_lanes<V>(params.row_sum + column), rescale);
      for (int j = 0; j < params.keys; ++j) {
        V const weight = exponential(fma_sum(load_lanes<V>(s + j * pitch), minus_max));
        store_lanes(s + j * pitch, weight);
        row_sum = lanes::plus(row_sum, weight);
      }
      store_lanes(params.row_sum + column, row_sum);
    }
  }

  static void apply_dropout(A* scores, int rows, std::uint64_t const* keep, lane_range range) {
    for (int column = range.first; column < range.last; column += lanes::count) {
      A* s = scores + column;
      for (int j = 0; j < rows; ++j, s += pitch)
        store_lanes(s,
                    as<V>(as<uint_lanes>(load_lanes<V>(s)) & expand_lane_bits(keep[j] >> column)));
    }
  }

  static void compute_score_grads(score_grad_params<A> const& params) {
    if (params.dropout.keep == nullptr)
      compute_tile_score_grads<false>(params);
    else
      compute_tile_score_grads<true>(params);
  }
  static void add_rows(add_rows_params<A> const& params) {
    int const full = params.lanes.first + params.lanes.count() / lanes::count * lanes::count;
    for (int j = 0; j < params.rows; ++j) {
      A const* const from = params.from + j * pitch;
      A* const to = params.to + j * params.pitch;
      int column = params.lanes.first;
      for (; column < full; column += lanes::count)
        store_lanes(to + column,
                    lanes::plus(load_lanes<V>(to + column), load_lanes<V>(from + column)));
      for (; column < params.lanes.last; ++column) to[column] += from[column];
    }
  }

  template <bool HasDropout>
  static void compute_tile_score_grads(score_grad_params<A> const& params) {
    for (int column = params.lanes.first; column < params.lanes.last; column += lanes::count) {
      A* s = params.scores + column;
      A* products = params.products + column;
      V const minus_max = negate_finite(load_lanes<V>(params.stats.row_max + column));
      V const inv_sum = load_lanes<V>(params.stats.inv_sum + column);
      V const delta = load_lanes<V>(params.stats.delta + column);
      for (int j = 0; j < params.keys; ++j, s += pitch, products += pitch) {
        V const weight = fma_product(exponential(fma_sum(load_lanes<V>(s), minus_max)), inv_sum);
        V dot = load_lanes<V>(products);
        if constexpr (HasDropout) {
          uint_lanes const keep = expand_lane_bits(params.dropout.keep[j] >> column);
          dot = as<V>(as<uint_lanes>(fma_product(dot, lanes::splat(params.dropout.scale))) & keep);
          store_lanes(s, as<V>(as<uint_lanes>(weight) & keep));
        } else {
          store_lanes(s, weight);
        }
        store_lanes(products, score_grads_of(weight, dot, delta));
      }
    }
  }

  // sums[c] = sum over k of a[k][c] * b[k][c]
  static void dot_rows(A const* a, A const* b, index_t depth, A* sums) {
    for (int column = 0; column < pitch; column += lanes::count) {
      V sum{};
      for (index_t k = 0; k < depth; ++k)
        sum = fused_lanes(load_lanes<V>(a + k * pitch + column),
                          load_lanes<V>(b + k * pitch + column), sum);
      store_lanes(sums + column, sum);
    }
  }

  // Replaces scores by exp(score - maximum) and returns the sum of the results.
  static A exponentiate_row(A* row, index_t count) {
    V max = as<V>(splat_uint(minus_infinity_bits));
    A last_scores[row_lanes];
    index_t const full = count / row_lanes * row_lanes;
    for (int i = 0; i < row_lanes; ++i)
      last_scores[i] = full + i < count ? row[full + i] : detail::minus_infinity<A>();
    for (index_t j = 0; j < full; j += lanes::count) max = max_lanes(max, load_lanes<V>(row + j));
    for (int j = 0; j < row_lanes; j += lanes::count)
      max = max_lanes(max, load_lanes<V>(last_scores + j));
    A values[lanes::count];
    store_lanes(values, max);
    for (A const value : values) max = max_lanes(max, lanes::splat(value));
    V const minus_max = negate_finite(max);
    A sums[row_lanes] = {};
    for (index_t j = 0; j < full; j += row_lanes) exponentiate_chunk(row + j, minus_max, sums);
    exponentiate_chunk(last_scores, minus_max, sums);
    for (index_t j = full; j < count; ++j) row[j] = last_scores[j - full];
    V row_sum = lanes::splat(sums[0]);
    for (int i = 1; i < row_lanes; ++i) row_sum = lanes::plus(row_sum, lanes::splat(sums[i]));
    store_lanes(values, row_sum);
    return values[0];
  }

  static void scale_row(A* row, index_t count, A factor) {
    index_t j = 0;
    V const factors = lanes::splat(factor);
    for (; j + lanes::count <= count; j += lanes::count)
      store_lanes(row + j, fma_product(load_lanes<V>(row + j), factors));
    for (; j < count; ++j) row[j] *= factor;
  }

  // products[j] = weights[j] * (products[j] - delta)
  static void compute_row_score_grads(A const* weights, A* products, index_t count, A delta) {
    index_t j = 0;
    V const deltas = lanes::splat(delta);
    for (; j + lanes::count <= count; j += lanes::count)
      store_lanes(products + j,
                  score_grads_of(load_lanes<V>(weights + j), load_lanes<V>(products + j), deltas));
    A last_weights[lanes::count] = {}, last_products[lanes::count] = {};
    for (index_t i = j; i < count; ++i)
      last_weights[i - j] = weights[i], last_products[i - j] = products[i];
    store_lanes(last_products,
                score_grads_of(load_lanes<V>(last_weights), load_lanes<V>(last_products), deltas));
    for (index_t i = j; i < count; ++i) products[i] = last_products[i - j];
  }

 private:
  using format = detail::binary_format<A>;
  static constexpr int row_lanes = 16;  // partial sums of a row, the same for every instruction set
  static constexpr lane_uint<A> minus_infinity_bits = (~lane_uint<A>{0} << format::fraction_bits);

  template <class To, class From>
  static SLICESORT_INLINE To as(From const& v) {
    return load_lanes<To>(&v);
  }
  static SLICESORT_INLINE uint_lanes splat_uint(lane_uint<A> value) {
    return broadcast<uint_lanes>(value);
  }
  static SLICESORT_INLINE V fma_sum(V const& a, V const& b) {
    return fused_lanes(a, lanes::splat(A(1)), b);
  }
  static SLICESORT_INLINE V fma_product(V const& a, V const& b) { return fused_lanes(a, b, V{}); }

  // Maximum of `start` and `rows` rows, in four independent dependency chains.
  static SLICESORT_INLINE V row_maximum(V const& start, A const* s, int rows) {
    V max0 = start, max1 = start, max2 = start, max3 = start;
    int j = 0;
    for (; j + 4 <= rows; j += 4, s += 4 * pitch) {
      max0 = max_lanes(max0, load_lanes<V>(s));
      max1 = max_lanes(max1, load_lanes<V>(s + pitch));
      max2 = max_lanes(max2, load_lanes<V>(s + 2 * pitch));
      max3 = max_lanes(max3, load_lanes<V>(s + 3 * pitch));
    }
    for (; j < rows; ++j, s += pitch) max0 = max_lanes(max0, load_lanes<V>(s));
    return max_lanes(max_lanes(max0, max1), max_lanes(max2, max3));
  }

  // Sets all bits of each lane whose bit is set in `bits`, and clears the other lanes.
  static SLICESORT_INLINE uint_lanes expand_lane_bits(std::uint64_t bits) {
    lane_uint<A> bit[lanes::count];
    for (int i = 0; i < lanes::count; ++i) bit[i] = lane_uint<A>{1} << i;
    return ~equal(splat_uint(static_cast<lane_uint<A>>(bits)) & load_lanes<uint_lanes>(bit),
                  uint_lanes{});
  }
  // Returns -m, or 0 if m is -infinity, because -infinity minus itself is NaN.
  static SLICESORT_INLINE V negate_finite(V const& m) {
    uint_lanes const bits = as<uint_lanes>(m),
                     sign = splat_uint(lane_uint<A>{1} << (8 * sizeof(A) - 1));
    return as<V>((bits ^ sign) & ~equal(bits, splat_uint(minus_infinity_bits)));
  }
  // Forces the gradient to 0 if the weight is 0, even if `dot` is NaN or infinite.
  static SLICESORT_INLINE V score_grads_of(V const& weight, V const& dot, V const& delta) {
    V const difference = fused_lanes(delta, lanes::splat(A(-1)), dot);
    uint_lanes const zero_weight = equal(as<uint_lanes>(weight), uint_lanes{});
    return as<V>(as<uint_lanes>(fma_product(weight, difference)) & ~zero_weight);
  }

  template <int K>
  static SLICESORT_INLINE V horner(V const& r, V const& partial) {
    if constexpr (K < 0)
      return partial;
    else
      return horner<K - 1>(
          r, fused_lanes(partial, r, lanes::splat(detail::reciprocal_factorial<A>(K))));
  }
  // exp(x) for x <= 0, with an error of up to 2 ulp. Subnormal results flush to 0; NaN propagates.
  // Unlike detail::exp_at_most_one, the rounded exponent includes the bias, so the lower clamp of x
  // yields a power of two that is 0.
  static SLICESORT_INLINE V exponential(V const& unclamped) {
    constexpr A shift = format::integer_shift + static_cast<A>(format::bias);
    constexpr A lowest = static_cast<A>(-format::bias * 0.6931471805599453);
    V const x = max_lanes(unclamped, lanes::splat(lowest));
    V const biased =
        fused_lanes(x, lanes::splat(static_cast<A>(1.4426950408889634)), lanes::splat(shift));
    V const power = fma_sum(biased, lanes::splat(-shift));
    V r = fused_lanes(power, lanes::splat(-format::log2_high), x);
    r = fused_lanes(power, lanes::splat(-format::log2_low), r);
    V const near_one = horner<format::exp_terms - 2>(
        r, lanes::splat(detail::reciprocal_factorial<A>(format::exp_terms - 1)));
    return fma_product(near_one, as<V>(as<uint_lanes>(biased) << format::fraction_bits));
  }

  static SLICESORT_INLINE void exponentiate_chunk(A* row, V const& minus_max, A* sums) {
    for (int i = 0; i < row_lanes; i += lanes::count) {
      V const weight = exponential(fma_sum(load_lanes<V>(row + i), minus_max));
      store_lanes(row + i, weight);
      store_lanes(sums + i, lanes::plus(load_lanes<V>(sums + i), weight));
    }
  }
};
