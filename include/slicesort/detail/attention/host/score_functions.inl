// SPDX-License-Identifier: Apache-2.0
// Functions of scores and their slopes, for tiles whose lanes are queries. Included once per
// instruction set, after lane_values.inl.

#define SLICESORT_MATH_INLINE SLICESORT_INLINE
// clang-format off
#include <slicesort/detail/math/error_function.inl>
// clang-format on
#undef SLICESORT_MATH_INLINE

template <class A>
struct score_functions {
  using Ops = lane_values<A>;
  using V = typename Ops::value;
  using math = elementary<Ops>;

  static void weigh_scores(weigh_scores_params<A> const& params) {
    using kind = detail::score_weights::function_kind;
    if (params.weights.kind == kind::laplace)
      weigh(params, laplace{detail::normal_constants<A>::make(params.weights.mean,
                                                              params.weights.deviation)});
    else if (params.weights.kind == kind::squared_relu)
      weigh(params, squared_relu{});
    else
      for (int j = 0; j < params.keys; ++j) {
        int const first = j * tile_queries + params.lanes.first;
        params.weights.apply(params.weights.function, params.scores + first,
                             params.products != nullptr ? params.products + first : nullptr,
                             params.lanes.count());
      }
  }

 private:
  struct laplace {
    detail::normal_constants<A> constants;

    SLICESORT_INLINE V value(Ops const& ops, V const& score) const {
      return error_function<Ops>::distribution(ops, constants, score);
    }
    SLICESORT_INLINE V slope(Ops const& ops, V const& score) const {
      return error_function<Ops>::density(ops, constants, score);
    }
  };
  struct squared_relu {
    SLICESORT_INLINE V value(Ops const& ops, V const& score) const {
      V const positive = ops.max(score, V{});
      return math::product(ops, positive, positive);
    }
    SLICESORT_INLINE V slope(Ops const& ops, V const& score) const {
      V const positive = ops.max(score, V{});
      return math::sum(ops, positive, positive);
    }
  };

  template <class Function>
  static SLICESORT_INLINE void weigh(weigh_scores_params<A> const& params,
                                     Function const& function) {
    if (params.products == nullptr)
      weigh_lanes<false>(params, function);
    else
      weigh_lanes<true>(params, function);
  }
  template <bool HasProducts, class Function>
  static SLICESORT_INLINE void weigh_lanes(weigh_scores_params<A> const& params,
                                           Function const& function) {
    using bits = typename Ops::bits;
    Ops const ops;
    bits const minus_infinity =
        ops.splat_bits(~typename Ops::integer{0} << detail::binary_format<A>::fraction_bits);
    for (int j = 0; j < params.keys; ++j)
      for (int c = params.lanes.first; c < params.lanes.last; c += Ops::count) {
        A* const s = params.scores + j * tile_queries + c;
        V const score = ops.load(s);
        bits const visible = ~equal(ops.bits_of(score), minus_infinity);
        ops.store(ops.value_of(ops.bits_of(function.value(ops, score)) & visible), s);
        if constexpr (HasProducts) {
          A* const p = params.products + j * tile_queries + c;
          V const grad = math::product(ops, function.slope(ops, score), ops.load(p));
          ops.store(ops.value_of(ops.bits_of(grad) & visible), p);
        }
      }
  }
};
