// SPDX-License-Identifier: Apache-2.0
// The library's feature maps for rows of a tile. Included once per instruction set, after
// lane_numbers.inl.

template <class A>
class feature_rows {
  using lane_ops = lane_numbers<A>;
  using math = feature_math<lane_ops>;
  using lanes = number_lanes<A>;
  using V = typename lanes::V;
  using bits = typename lane_ops::bits;
  static constexpr int count = lanes::count;

 public:
  static void map(feature_call<A> const& p) {
    using kind = detail::feature_kind;
    switch (p.of->kind) {
      case kind::elu_plus_one:
        return each_row(p, [](row const& r) { elu_plus_one(r); });
      case kind::relu:
        return each_row(p, [](row const& r) { relu(r); });
      case kind::cosine_reweighted:
        return each_row(p, [](row const& r) { cosine_reweighted(r); });
      case kind::random_exp:
        return each_row(p, [](row const& r) { random_exp(r); });
      case kind::random_relu:
        return each_row(p, [](row const& r) { random_relu(r); });
      case kind::random_fourier:
        return each_row(p, [](row const& r) { random_fourier(r); });
      case kind::own:
        return;
    }
  }
  static void pull(pull_call<A> const& p) {
    using kind = detail::feature_kind;
    switch (p.forward.of->kind) {
      case kind::elu_plus_one:
        return each_gradient(p,
                             [](row const& r, A const* d, A* to) { pull_elu_plus_one(r, d, to); });
      case kind::relu:
        return each_gradient(p, [](row const& r, A const* d, A* to) { pull_relu(r, d, to); });
      case kind::cosine_reweighted:
        return each_gradient(
            p, [](row const& r, A const* d, A* to) { pull_cosine_reweighted(r, d, to); });
      case kind::random_exp:
      case kind::random_relu:
        return each_gradient(p, [](row const& r, A const* d, A* to) { pull_by_slope(r, d, to); });
      case kind::random_fourier:
        return each_gradient(
            p, [](row const& r, A const* d, A* to) { pull_random_fourier(r, d, to); });
      case kind::own:
        return;
    }
  }

  // The largest of the first `width` numbers of each row that are no NaN.
  static void row_maxima(A const* from, index_t pitch, index_t width, int rows, A* to) {
    constexpr A least = -std::numeric_limits<A>::infinity();
    index_t const whole = width / count * count;
    for (int i = 0; i < rows; ++i, from += pitch) {
      V most = lanes::splat(least);
      for (index_t c = 0; c < whole; c += count) most = higher(most, load_lanes<V>(from + c));
      A each[std::size_t{count}];
      store_lanes(each, most);
      for (index_t c = whole; c < width; ++c)
        each[c - whole] = each[c - whole] < from[c] ? from[c] : each[c - whole];
      A of_row = least;
      for (A const one : each) of_row = of_row < one ? one : of_row;
      to[i] = of_row;
    }
  }

 private:
  // The numbers of one row, and where its results go.
  struct row {
    feature_call<A> const& p;
    int i;
    A const *x, *u;
    A *phi, *slope;

    row(feature_call<A> const& call, int number)
        : p(call),
          i(number),
          x(call.x.data + number * call.x.pitch),
          u(call.u.data == nullptr ? nullptr : call.u.data + number * call.u.pitch),
          phi(call.phi.data + number * call.phi.pitch),
          slope(call.slope == nullptr ? nullptr : call.slope + number * call.u.pitch) {}
  };
  template <class F>
  static SLICESORT_INLINE void each_row(feature_call<A> const& p, F const& f) {
    index_t const padded = padded_columns(p.of->count);
    for (int i = 0; i < p.rows; ++i) {
      row const one(p, i);
      f(one);
      for (index_t c = p.of->count; c < padded; ++c) one.phi[c] = A(0);
    }
  }
  // Stores the lanes below `width`; all of them if there is one more block of them.
  static SLICESORT_INLINE void store_some(A* to, V const& v, index_t width) {
    if (width >= count) return store_lanes(to, v);
    A some[std::size_t{count}];
    store_lanes(some, v);
    for (index_t l = 0; l < width; ++l) to[l] = some[l];
  }

  static SLICESORT_INLINE void elu_plus_one(row const& r) {
    lane_ops const ops{};
    for (index_t c = 0; c < r.p.of->channels; c += count) {
      V const x = load_lanes<V>(r.x + c);
      store_lanes(r.phi + c,
                  math::either(ops, ops.positive(x), math::sum(ops, x, lanes::splat(A(1))),
                               math::exponential(ops, x)));
    }
  }
  static SLICESORT_INLINE void relu(row const& r) {
    V const eps = lanes::splat(r.p.of->eps);
    for (index_t c = 0; c < r.p.of->channels; c += count)
      store_lanes(r.phi + c, math::sum(lane_ops{}, higher(load_lanes<V>(r.x + c), V{}), eps));
  }
  static SLICESORT_INLINE void cosine_reweighted(row const& r) {
    positive_part_times(r, r.p.row->cosine[r.i], r.phi);
    positive_part_times(r, r.p.row->sine[r.i], r.phi + r.p.of->channels);
  }
  static SLICESORT_INLINE void positive_part_times(row const& r, A factor, A* to) {
    index_t const channels = r.p.of->channels;
    V const by = lanes::splat(factor);
    for (index_t c = 0; c < channels; c += count)
      store_some(to + c, math::product(lane_ops{}, higher(load_lanes<V>(r.x + c), V{}), by),
                 channels - c);
  }
  static SLICESORT_INLINE void random_exp(row const& r) {
    lane_ops const ops{};
    V const minus_maximum = lanes::splat(-r.p.row->maximum[r.i]),
            minus_half = lanes::splat(-r.p.row->half_square[r.i]),
            scale = lanes::splat(r.p.of->scale), eps = lanes::splat(r.p.of->scaled_eps);
    for (index_t f = 0; f < r.p.of->rows_of_w; f += count) {
      V const power =
          math::sum(ops, math::sum(ops, load_lanes<V>(r.u + f), minus_maximum), minus_half);
      V const e = math::exponential(ops, power);
      store_lanes(r.phi + f, ops.fused(e, scale, eps));
      if (r.slope != nullptr) store_lanes(r.slope + f, math::product(ops, e, scale));
    }
  }
  static SLICESORT_INLINE void random_relu(row const& r) {
    lane_ops const ops{};
    V const scale = lanes::splat(r.p.of->scale), eps = lanes::splat(r.p.of->eps);
    for (index_t f = 0; f < r.p.of->rows_of_w; f += count) {
      V const a = math::product(ops, load_lanes<V>(r.u + f), scale);
      store_lanes(r.phi + f, math::sum(ops, higher(a, V{}), eps));
      if (r.slope != nullptr) store_lanes(r.slope + f, math::masked(ops, ops.positive(a), scale));
    }
  }
  static SLICESORT_INLINE void random_fourier(row const& r) {
    lane_ops const ops{};
    V const scale = lanes::splat(r.p.of->scale);
    index_t const width = r.p.of->rows_of_w;
    for (index_t f = 0; f < width; f += count) {
      auto const at = math::sincos(ops, load_lanes<V>(r.u + f));
      store_some(r.phi + f, math::product(ops, at.sine, scale), width - f);
      store_some(r.phi + width + f, math::product(ops, at.cosine, scale), width - f);
    }
  }

  // One row of a gradient: of x, or of u, from that of the features.
  template <class F>
  static SLICESORT_INLINE void each_gradient(pull_call<A> const& p, F const& f) {
    for (int i = 0; i < p.forward.rows; ++i)
      f(row(p.forward, i), p.dphi + i * p.forward.phi.pitch, p.to.data + i * p.to.pitch);
  }
  static SLICESORT_INLINE void pull_elu_plus_one(row const& r, A const* d, A* to) {
    lane_ops const ops{};
    V const one = lanes::splat(A(1));
    for (index_t c = 0; c < r.p.of->channels; c += count) {
      V const slope =
          math::either(ops, ops.positive(load_lanes<V>(r.x + c)), one, load_lanes<V>(r.phi + c));
      store_lanes(to + c, math::product(ops, load_lanes<V>(d + c), slope));
    }
  }
  static SLICESORT_INLINE void pull_relu(row const& r, A const* d, A* to) {
    lane_ops const ops{};
    for (index_t c = 0; c < r.p.of->channels; c += count)
      store_lanes(to + c,
                  math::masked(ops, ops.positive(load_lanes<V>(r.x + c)), load_lanes<V>(d + c)));
  }
  static SLICESORT_INLINE void pull_cosine_reweighted(row const& r, A const* d, A* to) {
    lane_ops const ops{};
    V const cosine = lanes::splat(r.p.row->cosine[r.i]), sine = lanes::splat(r.p.row->sine[r.i]);
    for (index_t c = 0; c < r.p.of->channels; c += count) {
      V const both = ops.fused(load_lanes<V>(d + r.p.of->channels + c), sine,
                               math::product(ops, load_lanes<V>(d + c), cosine));
      store_lanes(to + c, math::masked(ops, ops.positive(load_lanes<V>(r.x + c)), both));
    }
  }
  static SLICESORT_INLINE void pull_by_slope(row const& r, A const* d, A* to) {
    for (index_t f = 0; f < r.p.of->rows_of_w; f += count)
      store_lanes(to + f,
                  math::product(lane_ops{}, load_lanes<V>(d + f), load_lanes<V>(r.slope + f)));
    clear_rest(r, to);
  }
  static SLICESORT_INLINE void pull_random_fourier(row const& r, A const* d, A* to) {
    lane_ops const ops{};
    index_t const width = r.p.of->rows_of_w;
    for (index_t f = 0; f < width; f += count) {
      V const of_cosine =
          math::product(ops, load_lanes<V>(d + width + f), load_lanes<V>(r.phi + f));
      store_lanes(to + f, ops.fused(load_lanes<V>(d + f), load_lanes<V>(r.phi + width + f),
                                    math::negated(ops, of_cosine)));
    }
    clear_rest(r, to);
  }
  // What lies behind the last row of w is summed with the others.
  static SLICESORT_INLINE void clear_rest(row const& r, A* to) {
    for (index_t f = r.p.of->rows_of_w; f < r.p.u.pitch; ++f) to[f] = A(0);
  }
};
