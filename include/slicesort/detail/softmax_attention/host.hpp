// SPDX-License-Identifier: Apache-2.0
// Host backend of softmax_attention. The files in host/ do not depend on the mask type and are
// compiled once per element type.
#pragma once

#include <slicesort/detail/attention/host/backward.hpp>
#include <slicesort/detail/attention/host/forward.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/softmax_attention/host/materialized.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <class Mask>
struct host_implementation<streaming_attention_op<Mask>> {
  template <class T>
  static void plan(host_exec const& exec, attention_shape const& shape, arena& memory) {
    streaming_plan<T>(exec, shape, is_sparse<Mask>, memory);
  }

  template <class Params>
  static void forward(host_exec const& exec, Params const& params, workspace workspace_memory);
  template <class Params>
  static void backward(host_exec const& exec, Params const& params, workspace workspace_memory);
};

template <class Mask>
template <class Params>
void host_implementation<streaming_attention_op<Mask>>::forward(host_exec const& exec,
                                                                Params const& params,
                                                                workspace workspace_memory) {
  streaming_forward(exec, attention_config::make(params), params.in, params.y, params.state,
                    workspace_memory);
}
template <class Mask>
template <class Params>
void host_implementation<streaming_attention_op<Mask>>::backward(host_exec const& exec,
                                                                 Params const& params,
                                                                 workspace workspace_memory) {
  streaming_backward(exec, attention_config::make(params), params.in, params.state,
                     {params.dy, params.y, params.grads, params.mode}, workspace_memory);
}

template <class Mask>
struct host_implementation<materialized_attention_op<Mask>> {
  template <class T>
  static void plan(host_exec const& exec, attention_shape const& shape, arena& memory) {
    memory.overlap([&](arena& head_pass) { (void)attention_map_layout<T>(head_pass, exec, shape); },
                   [&](arena& shared_bias_pass) {
                     (void)shared_bias_map_layout<T>(shared_bias_pass, exec, shape);
                   });
  }

  template <class Params>
  static void forward(host_exec const& exec, Params const& params, workspace workspace_memory);
  template <class Params>
  static void backward(host_exec const& exec, Params const& params, workspace workspace_memory);
};

template <class Mask>
template <class Params>
void host_implementation<materialized_attention_op<Mask>>::forward(host_exec const& exec,
                                                                   Params const& params,
                                                                   workspace workspace_memory) {
  materialized_forward(exec, attention_config::make(params), params.in, params.y, params.state,
                       workspace_memory);
}
template <class Mask>
template <class Params>
void host_implementation<materialized_attention_op<Mask>>::backward(host_exec const& exec,
                                                                    Params const& params,
                                                                    workspace workspace_memory) {
  materialized_backward(exec, attention_config::make(params), params.in, params.state,
                        {params.dy, params.y, params.grads, params.mode}, workspace_memory);
}

SLICESORT_DETAIL_END
