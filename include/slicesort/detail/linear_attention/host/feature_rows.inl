// SPDX-License-Identifier: Apache-2.0
// Built-in feature maps for the rows of a tile. Included once per instruction set, after
// lane_values.inl.

template <class A>
class feature_rows {
  using lane_ops = lane_values<A>;
  using math = feature_math<lane_ops>;
  using lanes = value_lanes<A>;
  using V = typename lanes::V;
  using bits = typename lane_ops::bits;
  static constexpr int count = lanes::count;

 public:
  static void map(feature_call<A> const& p) {
    using kind = detail::feature_kind;
    switch (p.config->kind) {
      case kind::elu_plus_one:
        return for_each_row(p, [](row const& r) { elu_plus_one(r); });
      case kind::relu:
        return for_each_row(p, [](row const& r) { relu(r); });
      case kind::cosine_reweighted:
        return for_each_row(p, [](row const& r) { cosine_reweighted(r); });
      case kind::random_exp:
        return for_each_row(p, [](row const& r) { random_exp(r); });
      case kind::random_relu:
        return for_each_row(p, [](row const& r) { random_relu(r); });
      case kind::random_fourier:
        return for_each_row(p, [](row const& r) { random_fourier(r); });
      case kind::custom:
        return;
    }
  }
  static void map_backward(feature_gradient_call<A> const& p) {
    using kind = detail::feature_kind;
    switch (p.forward.config->kind) {
      case kind::elu_plus_one:
        return for_each_gradient(
            p, [](row const& r, A const* dphi, A* dx) { elu_plus_one_gradient(r, dphi, dx); });
      case kind::relu:
        return for_each_gradient(
            p, [](row const& r, A const* dphi, A* dx) { relu_gradient(r, dphi, dx); });
      case kind::cosine_reweighted:
        return for_each_gradient(
            p, [](row const& r, A const* dphi, A* dx) { cosine_reweighted_gradient(r, dphi, dx); });
      case kind::random_exp:
      case kind::random_relu:
        return for_each_gradient(
            p, [](row const& r, A const* dphi, A* dx) { slope_gradient(r, dphi, dx); });
      case kind::random_fourier:
        return for_each_gradient(
            p, [](row const& r, A const* dphi, A* dx) { random_fourier_gradient(r, dphi, dx); });
      case kind::custom:
        return;
    }
  }

  // Maximum of the first `width` elements of each row; ignores NaN.
  static void row_maxima(A const* from, index_t pitch, index_t width, int rows, A* maxima) {
    constexpr A minus_infinity = -std::numeric_limits<A>::infinity();
    index_t const full_width = width / count * count;
    for (int i = 0; i < rows; ++i, from += pitch) {
      V maximum = lanes::splat(minus_infinity);
      for (index_t c = 0; c < full_width; c += count)
        maximum = higher(maximum, load_lanes<V>(from + c));
      A lane[std::size_t{count}];
      store_lanes(lane, maximum);
      for (index_t c = full_width; c < width; ++c)
        lane[c - full_width] = lane[c - full_width] < from[c] ? from[c] : lane[c - full_width];
      A row_maximum = minus_infinity;
      for (A const x : lane) row_maximum = row_maximum < x ? x : row_maximum;
      maxima[i] = row_maximum;
    }
  }

 private:
  // Operands and results of one row.
  struct row {
    feature_call<A> const& p;
    int i;
    A const *x, *u;
    A *phi, *slope;

    row(feature_call<A> const& call, int index)
        : p(call),
          i(index),
          x(call.x.data + index * call.x.pitch),
          u(call.u.data == nullptr ? nullptr : call.u.data + index * call.u.pitch),
          phi(call.phi.data + index * call.phi.pitch),
          slope(call.slope == nullptr ? nullptr : call.slope + index * call.u.pitch) {}
  };
  template <class F>
  static SLICESORT_INLINE void for_each_row(feature_call<A> const& p, F const& f) {
    index_t const padded = padded_columns(p.config->count);
    for (int i = 0; i < p.rows; ++i) {
      row const r(p, i);
      f(r);
      for (index_t c = p.config->count; c < padded; ++c) r.phi[c] = A(0);
    }
  }
  // Stores the lanes below `width`, or all lanes if width >= count.
  static SLICESORT_INLINE void store_below(A* to, V const& v, index_t width) {
    if (width >= count) return store_lanes(to, v);
    A lane[std::size_t{count}];
    store_lanes(lane, v);
    for (index_t l = 0; l < width; ++l) to[l] = lane[l];
  }

  static SLICESORT_INLINE void elu_plus_one(row const& r) {
    lane_ops const ops{};
    for (index_t c = 0; c < r.p.config->channels; c += count) {
      V const x = load_lanes<V>(r.x + c);
      store_lanes(r.phi + c,
                  math::select(ops, ops.positive(x), math::sum(ops, x, lanes::splat(A(1))),
                               math::exponential(ops, x)));
    }
  }
  static SLICESORT_INLINE void relu(row const& r) {
    V const eps = lanes::splat(r.p.config->eps);
    for (index_t c = 0; c < r.p.config->channels; c += count)
      store_lanes(r.phi + c, math::sum(lane_ops{}, higher(load_lanes<V>(r.x + c), V{}), eps));
  }
  static SLICESORT_INLINE void cosine_reweighted(row const& r) {
    positive_part_times(r, r.p.row->cosine[r.i], r.phi);
    positive_part_times(r, r.p.row->sine[r.i], r.phi + r.p.config->channels);
  }
  static SLICESORT_INLINE void positive_part_times(row const& r, A factor, A* to) {
    index_t const channels = r.p.config->channels;
    V const factors = lanes::splat(factor);
    for (index_t c = 0; c < channels; c += count)
      store_below(to + c, math::product(lane_ops{}, higher(load_lanes<V>(r.x + c), V{}), factors),
                  channels - c);
  }
  static SLICESORT_INLINE void random_exp(row const& r) {
    lane_ops const ops{};
    V const minus_maximum = lanes::splat(-r.p.row->maximum[r.i]),
            minus_half = lanes::splat(-r.p.row->half_square[r.i]),
            scale = lanes::splat(r.p.config->scale), eps = lanes::splat(r.p.config->scaled_eps);
    for (index_t f = 0; f < r.p.config->w_rows; f += count) {
      V const power =
          math::sum(ops, math::sum(ops, load_lanes<V>(r.u + f), minus_maximum), minus_half);
      V const e = math::exponential(ops, power);
      store_lanes(r.phi + f, ops.fused(e, scale, eps));
      if (r.slope != nullptr) store_lanes(r.slope + f, math::product(ops, e, scale));
    }
  }
  static SLICESORT_INLINE void random_relu(row const& r) {
    lane_ops const ops{};
    V const scale = lanes::splat(r.p.config->scale), eps = lanes::splat(r.p.config->eps);
    for (index_t f = 0; f < r.p.config->w_rows; f += count) {
      V const a = math::product(ops, load_lanes<V>(r.u + f), scale);
      store_lanes(r.phi + f, math::sum(ops, higher(a, V{}), eps));
      if (r.slope != nullptr) store_lanes(r.slope + f, math::masked(ops, ops.positive(a), scale));
    }
  }
  static SLICESORT_INLINE void random_fourier(row const& r) {
    lane_ops const ops{};
    V const scale = lanes::splat(r.p.config->scale);
    index_t const width = r.p.config->w_rows;
    for (index_t f = 0; f < width; f += count) {
      auto const turn = math::sincos(ops, load_lanes<V>(r.u + f));
      store_below(r.phi + f, math::product(ops, turn.sine, scale), width - f);
      store_below(r.phi + width + f, math::product(ops, turn.cosine, scale), width - f);
    }
  }

  // Calls f(row, dphi, dx) for each row. dx is the gradient of x or u.
  template <class F>
  static SLICESORT_INLINE void for_each_gradient(feature_gradient_call<A> const& p, F const& f) {
    for (int i = 0; i < p.forward.rows; ++i)
      f(row(p.forward, i), p.dphi + i * p.forward.phi.pitch, p.dx.data + i * p.dx.pitch);
  }
  static SLICESORT_INLINE void elu_plus_one_gradient(row const& r, A const* dphi, A* dx) {
    lane_ops const ops{};
    V const unit = lanes::splat(A(1));
    for (index_t c = 0; c < r.p.config->channels; c += count) {
      V const slope =
          math::select(ops, ops.positive(load_lanes<V>(r.x + c)), unit, load_lanes<V>(r.phi + c));
      store_lanes(dx + c, math::product(ops, load_lanes<V>(dphi + c), slope));
    }
  }
  static SLICESORT_INLINE void relu_gradient(row const& r, A const* dphi, A* dx) {
    lane_ops const ops{};
    for (index_t c = 0; c < r.p.config->channels; c += count)
      store_lanes(dx + c,
                  math::masked(ops, ops.positive(load_lanes<V>(r.x + c)), load_lanes<V>(dphi + c)));
  }
  static SLICESORT_INLINE void cosine_reweighted_gradient(row const& r, A const* dphi, A* dx) {
    lane_ops const ops{};
    V const cosine = lanes::splat(r.p.row->cosine[r.i]), sine = lanes::splat(r.p.row->sine[r.i]);
    for (index_t c = 0; c < r.p.config->channels; c += count) {
      V const d = ops.fused(load_lanes<V>(dphi + r.p.config->channels + c), sine,
                            math::product(ops, load_lanes<V>(dphi + c), cosine));
      store_lanes(dx + c, math::masked(ops, ops.positive(load_lanes<V>(r.x + c)), d));
    }
  }
  static SLICESORT_INLINE void slope_gradient(row const& r, A const* dphi, A* dx) {
    for (index_t f = 0; f < r.p.config->w_rows; f += count)
      store_lanes(dx + f,
                  math::product(lane_ops{}, load_lanes<V>(dphi + f), load_lanes<V>(r.slope + f)));
    clear_padding(r, dx);
  }
  static SLICESORT_INLINE void random_fourier_gradient(row const& r, A const* dphi, A* dx) {
    lane_ops const ops{};
    index_t const width = r.p.config->w_rows;
    for (index_t f = 0; f < width; f += count) {
      V const cosine_gradient =
          math::product(ops, load_lanes<V>(dphi + width + f), load_lanes<V>(r.phi + f));
      store_lanes(dx + f, ops.fused(load_lanes<V>(dphi + f), load_lanes<V>(r.phi + width + f),
                                    math::negated(ops, cosine_gradient)));
    }
    clear_padding(r, dx);
  }
  // Clears the padding after the last row of w, because later sums include it.
  static SLICESORT_INLINE void clear_padding(row const& r, A* dx) {
    for (index_t f = r.p.config->w_rows; f < r.p.u.pitch; ++f) dx[f] = A(0);
  }
};
