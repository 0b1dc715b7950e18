// SPDX-License-Identifier: Apache-2.0
// Host backend of pointwise_attention.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/pointwise_attention/params.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <class Mask, class Function>
struct host_implementation<pointwise_attention_op<Mask, Function>> {
  template <class T>
  static void plan(host_exec const& exec, attention_shape const& shape, arena& memory);
  template <class Params>
  static void forward(host_exec const& exec, Params const& params, workspace workspace_memory);
  template <class Params>
  static void backward(host_exec const& exec, Params const& params, workspace workspace_memory);
};

SLICESORT_DETAIL_END
