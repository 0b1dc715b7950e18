// SPDX-License-Identifier: Apache-2.0
// Device backend of pointwise_attention: the kernels of streaming attention, with weights that are
// functions of the score.
#pragma once

#include <slicesort/detail/attention/device/launch.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/pointwise_attention/device/weights.hpp>
#include <slicesort/detail/pointwise_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/workspace.hpp>

#include <utility>

SLICESORT_DETAIL_BEGIN

template <class Mask, class Function>
struct device_implementation<pointwise_attention_op<Mask, Function>> {
  template <class T, class Grid>
  static void plan(Grid const&, attention_shape const& shape, arena& memory) {
    (void)backward_layout<T>(memory, shape);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid,
                      pointwise_attention_forward<Mask, Function, T> const& params, workspace) {
    launch_attention_forward(grid, weights_of(params), params);
  }

  template <class Grid, class T>
  static void backward(Grid const& grid,
                       pointwise_attention_backward<Mask, Function, T> const& params,
                       workspace workspace_memory) {
    arena memory(workspace_memory);
    backward_layout<T> const layout(memory, params.shape());
    launch_attention_backward(grid, weights_of(params), params, layout);
  }

 private:
  template <class A>
  using prepared_function = decltype(prepare_score_function<A>(std::declval<Function const&>()));
  template <class T>
  using weights = pointwise_weights<prepared_function<accumulator_t<T>>, T>;
  template <class T>
  using backward_layout = attention_backward_layout<weights<T>, Mask>;

  template <class Params>
  static auto weights_of(Params const& params) {
    using T = typename Params::element;
    return weights<T>{prepare_score_function<accumulator_t<T>>(params.function), params.per_key};
  }
};

SLICESORT_DETAIL_END
