// SPDX-License-Identifier: Apache-2.0
// sparse_mix on the host. A task applies all factors to 32 channels of a sample, in cache.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/sparse_mix/host/chain.hpp>
#include <slicesort/detail/sparse_mix/host/simd_table.hpp>
#include <slicesort/detail/sparse_mix/host/states.hpp>
#include <slicesort/detail/sparse_mix/host/tile.hpp>
#include <slicesort/detail/sparse_mix/host/weight_gradient.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

SLICESORT_DETAIL_BEGIN

template <>
struct host_implementation<sparse_mix_op> {
  template <class T>
  static void plan(host_exec const& exec, mix_shape const& shape, arena& memory) {
    (void)layout<T>(memory, exec, shape);
  }

  template <class T>
  static void forward(host_exec const& exec, sparse_mix_forward<T> const& params, workspace w);
  template <class T>
  static void backward(host_exec const& exec, sparse_mix_backward<T> const& params, workspace w);

 private:
  // A chain without factors copies rows and needs no workspace.
  template <class T>
  struct layout {
    index_t* offsets;
    mix_products<T> products;
    per_thread<mix_scratch<T>, index_t, index_t> threads;

    layout(arena& memory, host_exec const& exec, mix_shape const& shape)
        : offsets(memory.take<index_t>(
              static_cast<std::size_t>(shape.extents.empty() ? 0 : shape.factors * shape.links))),
          products(memory, shape.extents.empty() ? mix_shape{} : shape, exec.threads),
          threads(memory, exec.threads,
                  shape.extents.empty() || shape.factors == 0
                      ? 0
                      : shape.extents.batch * products.tiles(),
                  shape.extents.length, shape.links) {}
  };

  template <class T>
  static mix_call<T> make_call(isa instructions, mix_config const& config, index_t* offsets,
                               tensor_stack<T const> weights, tensor1<index_t const> lengths) {
    for (index_t factor = 0; factor < config.factors; ++factor)
      for (index_t k = 0; k < config.links; ++k)
        offsets[factor * config.links + k] = config.offset(k, factor);
    return {mix_kernels<T>(fused_isa(instructions)), config, offsets, weights, lengths};
  }

  template <class T>
  static void clear(tensor_stack<T> t) {
    stack_extents const e = t.extents();
    for (index_t factor = 0; factor < e.outer; ++factor)
      for (index_t b = 0; b < e.batch; ++b)
        for (index_t i = 0; i < e.length; ++i)
          for (index_t k = 0; k < e.channels; ++k) t(factor, b, i, k) = T(0.0F);
  }
  // Calls f(thread, chunk) for every chunk of channels, sample by sample.
  template <class F>
  static void for_each_tile(host_exec const& exec, extents3 e, F const& f) {
    index_t const tiles = (e.channels + mix_columns - 1) / mix_columns;
    for_each_task(exec, e.batch * tiles, [&](unsigned thread, index_t task) {
      index_t const channel = task % tiles * mix_columns;
      f(thread,
        column_chunk{task / tiles, channel, std::min<index_t>(mix_columns, e.channels - channel)});
    });
  }
};

// Defined outside of the class, so programs can declare them `extern template`.
template <class T>
void host_implementation<sparse_mix_op>::forward(host_exec const& exec,
                                                 sparse_mix_forward<T> const& params, workspace w) {
  using A = accumulator_t<T>;
  extents3 const e = params.x.extents();
  if (e.empty()) return;
  arena memory(w);
  layout<T> const buffers(memory, exec, params.shape());
  index_t const factors = params.config.factors;
  mix_call<T> const call = make_call<T>(exec.instructions, params.config, buffers.offsets,
                                        params.weights, params.lengths);
  for_each_tile(exec, e, [&](unsigned thread, column_chunk chunk) {
    if (factors == 0)
      return transfer_rows(params.x, params.y, chunk, 0, e.length, grad_mode::overwrite);
    mix_scratch<T> const scratch = buffers.threads[thread];
    mix_chain<T> const chain(call, chunk, e.length, scratch.staged);
    A *input = scratch.first, *output = scratch.second;
    chain.load(params.x, input);
    for (index_t factor = 0; factor < factors; ++factor) {
      bool const last = factor + 1 == factors;
      bool const saved = params.saving && !last && params.config.every > 0 &&
                         (factor + 1) % params.config.every == 0;
      tensor3<T> const target = last    ? params.y
                                : saved ? params.states[(factor + 1) / params.config.every - 1]
                                        : tensor3<T>{};
      bool const streams = (last || saved) && chain.mixes_into(target);
      mix_forward(chain, params.x, factor, input, output, streams ? &target : nullptr, last);
      std::swap(input, output);
      if (!last && !saved) continue;
      if (!streams) chain.store(input, target, grad_mode::overwrite);
      transfer_rows(params.x, target, chunk, chain.rows(), e.length, grad_mode::overwrite);
    }
  });
}

template <class T>
void host_implementation<sparse_mix_op>::backward(host_exec const& exec,
                                                  sparse_mix_backward<T> const& params,
                                                  workspace w) {
  using A = accumulator_t<T>;
  extents3 const e = params.dy.extents();
  arena memory(w);
  layout<T> buffers(memory, exec, params.shape());
  if (e.empty()) {  // without channels, the weight gradients are 0
    if (params.needs_weight_gradient && params.mode == grad_mode::overwrite) clear(params.dweights);
    return;
  }
  if (params.needs_weight_gradient) buffers.products.begin(params.dweights, params.mode);
  mix_call<T> const call = make_call<T>(exec.instructions, params.config, buffers.offsets,
                                        params.weights, params.lengths);
  bool const initial = params.config.residual == residual_form::initial;
  for_each_tile(exec, e, [&](unsigned thread, column_chunk chunk) {
    if (params.config.factors == 0)
      return transfer_rows(params.dy, params.dx, chunk, 0, e.length, params.mode);
    mix_scratch<T> const scratch = buffers.threads[thread];
    mix_chain<T> const chain(call, chunk, e.length, scratch.staged);
    A *dz = scratch.first, *const sum = scratch.fourth;
    mix_states<T> states(chain, params.x, params.states, scratch.second, scratch.third,
                         initial ? nullptr : scratch.fourth);
    index_t const size = chain.rows() * mix_columns;
    chain.load(params.dy, dz);
    if (initial) std::fill_n(sum, size, A(0));
    for (index_t factor = params.config.factors; factor-- > 0;) {
      if (params.needs_weight_gradient)
        buffers.products.add(chain, factor, dz, states.input_of(factor));
      if (initial)
        for (index_t i = 0; i < size; ++i) sum[i] += dz[i];
      A const* const start = params.config.residual == residual_form::per_factor ? dz
                             : initial && factor == 0                            ? sum
                                                                                 : nullptr;
      A* const output = states.exchange(dz);
      bool const streams =
          factor == 0 && params.mode == grad_mode::overwrite && chain.mixes_into(params.dx);
      chain.mix(mix_direction::backward, factor, start, dz, output, factor > 0,
                streams ? &params.dx : nullptr, streams);
      dz = output;
      if (factor == 0 && !streams) chain.store(dz, params.dx, params.mode);
    }
    transfer_rows(params.dy, params.dx, chunk, chain.rows(), e.length, params.mode);
  });
}

SLICESORT_DETAIL_END
