// SPDX-License-Identifier: Apache-2.0
// Sparse-factor mixing on threads: tiles of 32 channels of a sample go through all factors in
// cache.
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
  static void plan(host_exec const& exec, mix_shape const& s, arena& a) {
    (void)layout<T>(a, exec, s);
  }

  template <class T>
  static void forward(host_exec const& exec, sparse_mix_forward<T> const& p, workspace w);
  template <class T>
  static void backward(host_exec const& exec, sparse_mix_backward<T> const& p, workspace w);

 private:
  // The workspace of a call. A chain without factors copies rows, which takes none.
  template <class T>
  struct layout {
    index_t* offsets;
    mix_products<T> products;
    per_thread<mix_scratch<T>, index_t, index_t> each;

    layout(arena& a, host_exec const& exec, mix_shape const& s)
        : offsets(a.take<index_t>(
              static_cast<std::size_t>(s.extents.empty() ? 0 : s.factors * s.links))),
          products(a, s.extents.empty() ? mix_shape{} : s, exec.threads),
          each(a, exec.threads,
               s.extents.empty() || s.factors == 0 ? 0 : s.extents.batch * products.tiles(),
               s.extents.length, s.links) {}
  };

  template <class T>
  static mix_call<T> call_of(isa set, mix_config const& config, index_t* offsets,
                             tensor_stack<T const> weights, tensor1<index_t const> lengths) {
    for (index_t m = 0; m < config.factors; ++m)
      for (index_t k = 0; k < config.links; ++k)
        offsets[m * config.links + k] = config.offset(k, m);
    return {mix_kernels<T>(fused_isa(set)), config, offsets, weights, lengths};
  }

  template <class T>
  static void clear(tensor_stack<T> t) {
    stack_extents const e = t.extents();
    for (index_t m = 0; m < e.outer; ++m)
      for (index_t b = 0; b < e.batch; ++b)
        for (index_t i = 0; i < e.length; ++i)
          for (index_t k = 0; k < e.channels; ++k) t(m, b, i, k) = T(0.0F);
  }
  // Calls f(slot, run) for every run of channels, sample by sample.
  template <class F>
  static void for_each_tile(host_exec const& exec, extents3 e, F const& f) {
    index_t const tiles = (e.channels + mix_columns - 1) / mix_columns;
    for_each_task(exec, e.batch * tiles, [&](unsigned slot, index_t task) {
      index_t const channel = task % tiles * mix_columns;
      f(slot,
        column_chunk{task / tiles, channel, std::min<index_t>(mix_columns, e.channels - channel)});
    });
  }
};

// Not in the class: a program can have them compiled in one place (`extern template`).
template <class T>
void host_implementation<sparse_mix_op>::forward(host_exec const& exec,
                                                 sparse_mix_forward<T> const& p, workspace w) {
  using A = accumulator_t<T>;
  extents3 const e = p.x.extents();
  if (e.empty()) return;
  arena a(w);
  layout<T> const m(a, exec, p.shape());
  index_t const factors = p.config.factors;
  mix_call<T> const call = call_of<T>(exec.instructions, p.config, m.offsets, p.weights, p.lengths);
  for_each_tile(exec, e, [&](unsigned slot, column_chunk run) {
    if (factors == 0) return transfer_rows(p.x, p.y, run, 0, e.length, grad_mode::overwrite);
    mix_scratch<T> const scratch = m.each[slot];
    mix_chain<T> const chain(call, run, e.length, scratch.staged);
    A *v = scratch.first, *next = scratch.second;
    chain.load(p.x, v);
    for (index_t f = 0; f < factors; ++f) {
      bool const last = f + 1 == factors;
      bool const saved = p.saving && !last && p.config.every > 0 && (f + 1) % p.config.every == 0;
      tensor3<T> const out = last    ? p.y
                             : saved ? p.states[(f + 1) / p.config.every - 1]
                                     : tensor3<T>{};
      bool const streams = (last || saved) && chain.mixes_into(out);
      mix_forward(chain, p.x, f, v, next, streams ? &out : nullptr, last);
      std::swap(v, next);
      if (!last && !saved) continue;
      if (!streams) chain.store(v, out, grad_mode::overwrite);
      transfer_rows(p.x, out, run, chain.rows(), e.length, grad_mode::overwrite);
    }
  });
}

template <class T>
void host_implementation<sparse_mix_op>::backward(host_exec const& exec,
                                                  sparse_mix_backward<T> const& p, workspace w) {
  using A = accumulator_t<T>;
  extents3 const e = p.dy.extents();
  arena a(w);
  layout<T> m(a, exec, p.shape());
  if (e.empty()) {  // without channels, the gradients of the weights are 0
    if (p.needs_weight_gradient && p.mode == grad_mode::overwrite) clear(p.dweights);
    return;
  }
  if (p.needs_weight_gradient) m.products.begin(p.dweights, p.mode);
  mix_call<T> const call = call_of<T>(exec.instructions, p.config, m.offsets, p.weights, p.lengths);
  bool const initial = p.config.residual == residual_form::initial;
  for_each_tile(exec, e, [&](unsigned slot, column_chunk run) {
    if (p.config.factors == 0) return transfer_rows(p.dy, p.dx, run, 0, e.length, p.mode);
    mix_scratch<T> const scratch = m.each[slot];
    mix_chain<T> const chain(call, run, e.length, scratch.staged);
    A *dz = scratch.first, *const sum = scratch.fourth;
    mix_states<T> states(chain, p.x, p.states, scratch.second, scratch.third,
                         initial ? nullptr : scratch.fourth);
    index_t const size = chain.rows() * mix_columns;
    chain.load(p.dy, dz);
    if (initial) std::fill_n(sum, size, A(0));
    for (index_t f = p.config.factors; f-- > 0;) {
      if (p.needs_weight_gradient) m.products.add(chain, f, dz, states.input_of(f));
      if (initial)
        for (index_t i = 0; i < size; ++i) sum[i] += dz[i];
      A const* const start = p.config.residual == residual_form::per_factor ? dz
                             : initial && f == 0                            ? sum
                                                                            : nullptr;
      A* const next = states.exchange(dz);
      bool const streams = f == 0 && p.mode == grad_mode::overwrite && chain.mixes_into(p.dx);
      chain.mix(mix_direction::backward, f, start, dz, next, f > 0, streams ? &p.dx : nullptr,
                streams);
      dz = next;
      if (f == 0 && !streams) chain.store(dz, p.dx, p.mode);
    }
    transfer_rows(p.dy, p.dx, run, chain.rows(), e.length, p.mode);
  });
}

SLICESORT_DETAIL_END
