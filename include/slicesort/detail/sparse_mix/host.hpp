// SPDX-License-Identifier: Apache-2.0
// Host backend of sparse_mix. A task applies all factors to 32 channels of a sample, in cache.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/sparse_mix/host/chain.hpp>
#include <slicesort/detail/sparse_mix/host/group.hpp>
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
  static void forward(host_exec const& exec, sparse_mix_forward<T> const& params, workspace memory);
  template <class T>
  static void backward(host_exec const& exec, sparse_mix_backward<T> const& params,
                       workspace memory);

 private:
  // A chain without factors copies rows and needs no workspace.
  template <class T>
  struct layout {
    index_t* offsets;
    mix_weight_gradient<T> weight_gradient;
    per_thread<mix_scratch<T>, index_t, index_t> threads;

    layout(arena& memory, host_exec const& exec, mix_shape const& shape)
        : offsets(memory.take<index_t>(
              static_cast<std::size_t>(shape.extents.empty() ? 0 : shape.factors * shape.links))),
          weight_gradient(memory, shape.extents.empty() ? mix_shape{} : shape, exec.threads),
          threads(memory, exec.threads,
                  shape.extents.empty() || shape.factors == 0
                      ? 0
                      : shape.extents.batch * weight_gradient.tiles_per_sample(),
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
  static void zero_fill(tensor_stack<T> tensor) {
    stack_extents const e = tensor.extents();
    for (index_t factor = 0; factor < e.outer; ++factor)
      for (index_t b = 0; b < e.batch; ++b)
        for (index_t i = 0; i < e.length; ++i)
          for (index_t k = 0; k < e.channels; ++k) tensor(factor, b, i, k) = T(0.0F);
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
                                                 sparse_mix_forward<T> const& params,
                                                 workspace memory) {
  extents3 const e = params.x.extents();
  if (e.empty()) return;
  arena allocator(memory);
  layout<T> const buffers(allocator, exec, params.shape());
  index_t const factors = params.config.factors;
  mix_call<T> const call = make_call<T>(exec.instructions, params.config, buffers.offsets,
                                        params.weights, params.lengths);
  for_each_tile(exec, e, [&](unsigned thread, column_chunk chunk) {
    if (factors == 0)
      return transfer_rows(params.x, params.y, chunk, 0, e.length, grad_mode::overwrite);
    mix_scratch<T> const scratch = buffers.threads[thread];
    mix_chain<T> const chain(call, chunk, e.length, scratch.staged_weights);
    // Sets `target` to the tensor for a factor's rows; false if there is none.
    auto const find_target = [&](index_t factor, tensor3<T>& target) {
      if (factor + 1 == factors)
        target = params.y;
      else if (params.saving && params.config.every > 0 && (factor + 1) % params.config.every == 0)
        target = params.states[(factor + 1) / params.config.every - 1];
      else
        return false;
      return true;
    };
    auto const is_streamed = [&](index_t factor, tensor3<T>& target) {
      return find_target(factor, target) && chain.can_mix_into(target);
    };
    mix_group_chain<T> const groups(chain);
    accumulator_t<T>*tile = scratch.input, *spare = scratch.output, *rows = tile;
    chain.load(params.x, rows);
    for (index_t factor = 0; factor < factors;) {
      tensor3<T> target;
      index_t limit = 1;  // factors whose rows are not stored from a tile, and one more
      while (factor + limit < factors &&
             (!find_target(factor + limit - 1, target) || chain.can_mix_into(target)))
        ++limit;
      mix_group const group = groups.find(factor, limit, rows == tile);
      index_t const last = factor + group.factors - 1;
      bool const is_last_streamed = is_streamed(last, target),
                 stream_only = last + 1 == factors && is_last_streamed;
      if (group.factors > 1) {
        rows = groups.apply(group, factor, rows, spare, is_streamed, stream_only);
      } else {
        mix_forward(chain, params.x, factor, rows, spare, is_last_streamed ? &target : nullptr,
                    stream_only);
        std::swap(tile, spare);
        rows = tile;
      }
      for (; factor <= last; ++factor) {
        if (!find_target(factor, target)) continue;
        if (factor == last && !is_last_streamed) chain.store(rows, target, grad_mode::overwrite);
        transfer_rows(params.x, target, chunk, chain.rows(), e.length, grad_mode::overwrite);
      }
    }
  });
}

template <class T>
void host_implementation<sparse_mix_op>::backward(host_exec const& exec,
                                                  sparse_mix_backward<T> const& params,
                                                  workspace memory) {
  using A = accumulator_t<T>;
  extents3 const e = params.dy.extents();
  arena allocator(memory);
  layout<T> buffers(allocator, exec, params.shape());
  if (e.empty()) {  // without channels, the weight gradients are 0
    if (params.needs_weight_gradient && params.mode == grad_mode::overwrite)
      zero_fill(params.dweights);
    return;
  }
  if (params.needs_weight_gradient)
    buffers.weight_gradient.begin_call(params.dweights, params.mode);
  mix_call<T> const call = make_call<T>(exec.instructions, params.config, buffers.offsets,
                                        params.weights, params.lengths);
  bool const has_initial_residual = params.config.residual == residual_form::initial;
  for_each_tile(exec, e, [&](unsigned thread, column_chunk chunk) {
    if (params.config.factors == 0)
      return transfer_rows(params.dy, params.dx, chunk, 0, e.length, params.mode);
    mix_scratch<T> const scratch = buffers.threads[thread];
    mix_chain<T> const chain(call, chunk, e.length, scratch.staged_weights);
    A *dz = scratch.input, *const sum = scratch.state_or_sum;
    mix_states<T> states(chain, params.x, params.states, scratch.output, scratch.state,
                         has_initial_residual ? nullptr : scratch.state_or_sum);
    index_t const size = chain.rows() * mix_columns;
    chain.load(params.dy, dz);
    if (has_initial_residual) std::fill_n(sum, size, A(0));
    for (index_t factor = params.config.factors; factor-- > 0;) {
      if (params.needs_weight_gradient)
        buffers.weight_gradient.add_products(chain, factor, dz, states.compute_input(factor));
      if (has_initial_residual)
        for (index_t i = 0; i < size; ++i) sum[i] += dz[i];
      A const* const start = params.config.residual == residual_form::per_factor ? dz
                             : has_initial_residual && factor == 0               ? sum
                                                                                 : nullptr;
      A* const output = states.exchange(dz);
      bool const is_streamed =
          factor == 0 && params.mode == grad_mode::overwrite && chain.can_mix_into(params.dx);
      chain.mix(mix_direction::backward, factor, start, dz, output, factor > 0,
                is_streamed ? &params.dx : nullptr, is_streamed);
      dz = output;
      if (factor == 0 && !is_streamed) chain.store(dz, params.dx, params.mode);
    }
    transfer_rows(params.dy, params.dx, chunk, chain.rows(), e.length, params.mode);
  });
}

SLICESORT_DETAIL_END
