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
  static void map(feature_params<A> const& params) {
    using kind = detail::feature_kind;
    switch (params.config->kind) {
      case kind::elu_plus_one:
        return for_each_row(params, [](tile_row const& row) { elu_plus_one(row); });
      case kind::relu:
        return for_each_row(params, [](tile_row const& row) { relu(row); });
      case kind::cosine_reweighted:
        return for_each_row(params, [](tile_row const& row) { cosine_reweighted(row); });
      case kind::random_exp:
        return for_each_row(params, [](tile_row const& row) { random_exp(row); });
      case kind::random_relu:
        return for_each_row(params, [](tile_row const& row) { random_relu(row); });
      case kind::random_fourier:
        return for_each_row(params, [](tile_row const& row) { random_fourier(row); });
      case kind::custom:
        return;
    }
  }
  static void map_backward(feature_gradient_params<A> const& params) {
    using kind = detail::feature_kind;
    switch (params.forward.config->kind) {
      case kind::elu_plus_one:
        return for_each_gradient(params, [](tile_row const& row, A const* dphi, A* dx) {
          elu_plus_one_gradient(row, dphi, dx);
        });
      case kind::relu:
        return for_each_gradient(params, [](tile_row const& row, A const* dphi, A* dx) {
          relu_gradient(row, dphi, dx);
        });
      case kind::cosine_reweighted:
        return for_each_gradient(params, [](tile_row const& row, A const* dphi, A* dx) {
          cosine_reweighted_gradient(row, dphi, dx);
        });
      case kind::random_exp:
      case kind::random_relu:
        return for_each_gradient(params, [](tile_row const& row, A const* dphi, A* dx) {
          slope_gradient(row, dphi, dx);
        });
      case kind::random_fourier:
        return for_each_gradient(params, [](tile_row const& row, A const* dphi, A* dx) {
          random_fourier_gradient(row, dphi, dx);
        });
      case kind::custom:
        return;
    }
  }

  // Computes the maximum of the first `width` elements of each row, ignoring NaN.
  static void compute_row_maxima(A const* from, index_t pitch, index_t width, int rows, A* maxima) {
    A const minus_infinity = detail::minus_infinity<A>();
    index_t const full_width = width / count * count;
    for (int i = 0; i < rows; ++i, from += pitch) {
      V maximum = lanes::splat(minus_infinity);
      for (index_t c = 0; c < full_width; c += count)
        maximum = max_lanes(maximum, load_lanes<V>(from + c));
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
  struct tile_row {
    feature_params<A> const& params;
    int index;
    A const *x, *wz;
    A *phi, *slope;

    tile_row(feature_params<A> const& tile_params, int row_index)
        : params(tile_params),
          index(row_index),
          x(tile_params.x.data + row_index * tile_params.x.pitch),
          wz(tile_params.wz.data == nullptr
                 ? nullptr
                 : tile_params.wz.data + row_index * tile_params.wz.pitch),
          phi(tile_params.phi.data + row_index * tile_params.phi.pitch),
          slope(tile_params.slope == nullptr
                    ? nullptr
                    : tile_params.slope + row_index * tile_params.wz.pitch) {}
  };
  template <class F>
  static SLICESORT_INLINE void for_each_row(feature_params<A> const& params, F const& f) {
    index_t const padded = padded_columns(params.config->count);
    for (int i = 0; i < params.rows; ++i) {
      tile_row const row(params, i);
      f(row);
      for (index_t c = params.config->count; c < padded; ++c) row.phi[c] = A(0);
    }
  }
  // Stores the lanes below `width`, or all lanes if width >= count.
  static SLICESORT_INLINE void store_below(A* to, V const& v, index_t width) {
    if (width >= count) return store_lanes(to, v);
    A lane[std::size_t{count}];
    store_lanes(lane, v);
    for (index_t l = 0; l < width; ++l) to[l] = lane[l];
  }

  static SLICESORT_INLINE void elu_plus_one(tile_row const& row) {
    lane_ops const ops{};
    for (index_t c = 0; c < row.params.config->channels; c += count) {
      V const x = load_lanes<V>(row.x + c);
      store_lanes(row.phi + c,
                  math::select(ops, ops.positive(x), math::sum(ops, x, lanes::splat(A(1))),
                               math::exponential(ops, x)));
    }
  }
  static SLICESORT_INLINE void relu(tile_row const& row) {
    V const eps = lanes::splat(row.params.config->eps);
    for (index_t c = 0; c < row.params.config->channels; c += count)
      store_lanes(row.phi + c,
                  math::sum(lane_ops{}, max_lanes(load_lanes<V>(row.x + c), V{}), eps));
  }
  static SLICESORT_INLINE void cosine_reweighted(tile_row const& row) {
    store_scaled_positive_part(row, row.params.row_scalars->cosine[row.index], row.phi);
    store_scaled_positive_part(row, row.params.row_scalars->sine[row.index],
                               row.phi + row.params.config->channels);
  }
  static SLICESORT_INLINE void store_scaled_positive_part(tile_row const& row, A factor, A* to) {
    index_t const channels = row.params.config->channels;
    V const factors = lanes::splat(factor);
    for (index_t c = 0; c < channels; c += count)
      store_below(to + c,
                  math::product(lane_ops{}, max_lanes(load_lanes<V>(row.x + c), V{}), factors),
                  channels - c);
  }
  static SLICESORT_INLINE void random_exp(tile_row const& row) {
    lane_ops const ops{};
    V const minus_maximum = lanes::splat(-row.params.row_scalars->maximum[row.index]),
            minus_half = lanes::splat(-row.params.row_scalars->half_square[row.index]),
            scale = lanes::splat(row.params.config->scale),
            eps = lanes::splat(row.params.config->scaled_eps);
    for (index_t f = 0; f < row.params.config->w_rows; f += count) {
      V const exponent =
          math::sum(ops, math::sum(ops, load_lanes<V>(row.wz + f), minus_maximum), minus_half);
      V const e = math::exponential(ops, exponent);
      store_lanes(row.phi + f, ops.fused(e, scale, eps));
      if (row.slope != nullptr) store_lanes(row.slope + f, math::product(ops, e, scale));
    }
  }
  static SLICESORT_INLINE void random_relu(tile_row const& row) {
    lane_ops const ops{};
    V const scale = lanes::splat(row.params.config->scale),
            eps = lanes::splat(row.params.config->eps);
    for (index_t f = 0; f < row.params.config->w_rows; f += count) {
      V const scaled = math::product(ops, load_lanes<V>(row.wz + f), scale);
      store_lanes(row.phi + f, math::sum(ops, max_lanes(scaled, V{}), eps));
      if (row.slope != nullptr)
        store_lanes(row.slope + f, math::mask_bits(ops, ops.positive(scaled), scale));
    }
  }
  static SLICESORT_INLINE void random_fourier(tile_row const& row) {
    lane_ops const ops{};
    V const scale = lanes::splat(row.params.config->scale);
    index_t const width = row.params.config->w_rows;
    for (index_t f = 0; f < width; f += count) {
      auto const angle = math::sincos(ops, load_lanes<V>(row.wz + f));
      store_below(row.phi + f, math::product(ops, angle.sine, scale), width - f);
      store_below(row.phi + width + f, math::product(ops, angle.cosine, scale), width - f);
    }
  }

  // Calls f(row, dphi, dx) for each row. dx is the gradient of x or <w, z>.
  template <class F>
  static SLICESORT_INLINE void for_each_gradient(feature_gradient_params<A> const& params,
                                                 F const& f) {
    for (int i = 0; i < params.forward.rows; ++i)
      f(tile_row(params.forward, i), params.dphi + i * params.forward.phi.pitch,
        params.dx.data + i * params.dx.pitch);
  }
  static SLICESORT_INLINE void elu_plus_one_gradient(tile_row const& row, A const* dphi, A* dx) {
    lane_ops const ops{};
    V const unit = lanes::splat(A(1));
    for (index_t c = 0; c < row.params.config->channels; c += count) {
      V const slope = math::select(ops, ops.positive(load_lanes<V>(row.x + c)), unit,
                                   load_lanes<V>(row.phi + c));
      store_lanes(dx + c, math::product(ops, load_lanes<V>(dphi + c), slope));
    }
  }
  static SLICESORT_INLINE void relu_gradient(tile_row const& row, A const* dphi, A* dx) {
    lane_ops const ops{};
    for (index_t c = 0; c < row.params.config->channels; c += count)
      store_lanes(dx + c, math::mask_bits(ops, ops.positive(load_lanes<V>(row.x + c)),
                                          load_lanes<V>(dphi + c)));
  }
  static SLICESORT_INLINE void cosine_reweighted_gradient(tile_row const& row, A const* dphi,
                                                          A* dx) {
    lane_ops const ops{};
    V const cosine = lanes::splat(row.params.row_scalars->cosine[row.index]),
            sine = lanes::splat(row.params.row_scalars->sine[row.index]);
    for (index_t c = 0; c < row.params.config->channels; c += count) {
      V const dpositive = ops.fused(load_lanes<V>(dphi + row.params.config->channels + c), sine,
                                    math::product(ops, load_lanes<V>(dphi + c), cosine));
      store_lanes(dx + c, math::mask_bits(ops, ops.positive(load_lanes<V>(row.x + c)), dpositive));
    }
  }
  static SLICESORT_INLINE void slope_gradient(tile_row const& row, A const* dphi, A* dx) {
    for (index_t f = 0; f < row.params.config->w_rows; f += count)
      store_lanes(dx + f,
                  math::product(lane_ops{}, load_lanes<V>(dphi + f), load_lanes<V>(row.slope + f)));
    clear_padding(row, dx);
  }
  static SLICESORT_INLINE void random_fourier_gradient(tile_row const& row, A const* dphi, A* dx) {
    lane_ops const ops{};
    index_t const width = row.params.config->w_rows;
    for (index_t f = 0; f < width; f += count) {
      V const cosine_gradient =
          math::product(ops, load_lanes<V>(dphi + width + f), load_lanes<V>(row.phi + f));
      store_lanes(dx + f, ops.fused(load_lanes<V>(dphi + f), load_lanes<V>(row.phi + width + f),
                                    math::negated(ops, cosine_gradient)));
    }
    clear_padding(row, dx);
  }
  // Clears the padding after the last row of w, because later sums include it.
  static SLICESORT_INLINE void clear_padding(tile_row const& row, A* dx) {
    for (index_t f = row.params.config->w_rows; f < row.params.wz.pitch; ++f) dx[f] = A(0);
  }
};
