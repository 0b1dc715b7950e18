// SPDX-License-Identifier: Apache-2.0
// sparse_mix on a grid, some samples at a time. First their weights are laid out as the kernels
// read them, then
//
//   all rows of some channels   the chain is
//   fit in shared memory        one kernel (chain_tile.hpp): forward, and backward of all residuals
//                               but residual::initial
//   do not fit                  a kernel for each factor (factor.hpp), through the L2 cache
//
// Backward with the gradient of the weights takes mix_tuning::backward_factors factors at a time,
// from the last to the first: it keeps the gradients that they pass on, then one kernel per factor
// sums the gradient of its weights (weight_gradient.hpp). States that are not saved are recomputed,
// all between two saved ones at a time, or all of the chain: that is the workspace that `recompute`
// costs.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/slices.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/device/upload.hpp>
#include <slicesort/detail/sparse_mix/device/launch.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <>
struct device_implementation<sparse_mix_op> {
  template <class T, class Grid>
  static void plan(Grid const& grid, mix_shape const& s, arena& a) {
    (void)layout<T>(a, grid, s);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, sparse_mix_forward<T> const& p, workspace w) {
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    arena a(w);
    layout<T> const m(a, grid, p.shape());
    upload_offsets(grid, p.config, m.offsets);
    for (index_t first = 0; first < e.batch; first += m.samples) {
      chain_args<T> chain = chain_of(p, m, first, p.x, p.y);
      chain.every = p.saving && p.config.every < p.config.factors ? p.config.every : 0;
      chain.first = chain.in;
      chain.states = slice_batch(p.states, first, chain.in.extents().batch);
      if (p.config.factors == 0) {
        copy_rows(grid, chain);
        continue;
      }
      pack_weights(grid, chain, 0, p.config.factors, false);
      run_factors(grid, chain, 0, p.config.factors);
    }
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, sparse_mix_backward<T> const& p, workspace w) {
    extents3 const e = p.dy.extents();
    if (e.batch == 0 || e.length == 0 || (e.channels == 0 && !p.needs_weight_gradient)) return;
    arena a(w);
    layout<T> const m(a, grid, p.shape());
    upload_offsets(grid, p.config, m.offsets);
    for (index_t first = 0; first < e.batch; first += m.samples) {
      chain_args<T> chain = chain_of(p, m, first, p.dy, p.dx);
      chain.back = true;
      chain.mode = p.mode;
      if (chain.start == mix_start::first) chain.start = mix_start::all;
      chain.inputs = chain.start == mix_start::all ? m.inputs : nullptr;
      if (p.config.factors == 0) {
        copy_rows(grid, chain);
      } else if (p.needs_weight_gradient) {
        backward_with_weights(grid, p, m, chain, first);
      } else {
        pack_weights(grid, chain, 0, p.config.factors, true);
        run_factors(grid, chain, 0, p.config.factors);
      }
    }
  }

 private:
  // Holds weights and rows of `samples` samples: about as many elements as a chunk may have, or
  // one sample's.
  template <class T>
  struct layout {
    using A = accumulator_t<T>;
    index_t samples = 0,
            segment = 0;  // samples at a time; factors from one saved state to the next
    index_t* offsets = nullptr;
    packed_weights<A> factors;
    T* between[2] = {};   // gradients, or states, of one factor and the next
    A* inputs = nullptr;  // the sum of gradients of residual::initial
    T* formed = nullptr;  // states of a segment that are not saved
    index_t at_once = 0;  // factors that backward with the gradient of the weights takes at a time
    T* passed = nullptr;  // gradients between those factors

    template <class Grid>
    layout(arena& a, Grid const& grid, mix_shape const& s) {
      extents3 const e = s.extents;
      if (e.batch == 0 || e.length == 0) return;
      index_t const links = s.factors * s.links;
      index_t const rows = std::max(e.length * e.channels, links * e.length);
      index_t const chunk = grid_tuning_of<T>(grid).chunk_elements;
      samples = std::clamp<index_t>(chunk / std::max<index_t>(rows, 1), 1, e.batch);
      segment = s.every == 0 ? s.factors : std::min(s.every, s.factors);
      auto const count = [&](amount each) { return each * samples; };
      offsets = a.take<index_t>(links);
      factors.factors = s.factors;
      factors.links = s.links;
      factors.length = e.length;
      factors.weights = a.take<A>(count(links * e.length));
      factors.jumps = a.take<std::uint32_t>(count(links));
      index_t const elements = e.length * e.channels;
      for (T*& one : between) one = a.take<T>(count(s.factors > 1 ? elements : 0));
      inputs = a.take<A>(count(s.factors > 1 ? elements : 0));
      formed = a.take<T>(count(amount(std::max<index_t>(segment - 1, 0)) * elements));
      at_once = std::clamp<index_t>(s.factors, 1, mix_tuning_of<T>(grid).backward_factors);
      passed = a.take<T>(count(amount(at_once - 1) * elements));
    }
  };

  static mix_start start_of(residual_form residual) {
    return residual == residual_form::per_factor ? mix_start::own
           : residual == residual_form::none     ? mix_start::nothing
                                                 : mix_start::first;
  }
  template <class Grid>
  static void upload_offsets(Grid const& grid, mix_config const& config, index_t* to) {
    auto const offset = [&](index_t i) {
      return config.offset(i % config.links, i / config.links);
    };
    upload_numbers(grid, config.factors * config.links, offset, to, true);
  }

  // The chain that takes `in` to `out`, of as many samples from `first` on as the workspace holds.
  template <class Params, class T>
  static chain_args<T> chain_of(Params const& p, layout<T> const& m, index_t first,
                                tensor3<T const> in, tensor3<T> out) {
    extents3 const e = in.extents();
    extents3 const some{std::min(m.samples, e.batch - first), e.length, e.channels};
    chain_args<T> chain{m.factors, m.offsets, slice_batch(p.weights, first, some.batch),
                        slice_batch(p.lengths, first, some)};
    chain.start = start_of(p.config.residual);
    chain.in = slice_batch(in, first, some);
    chain.out = slice_batch(out, first, some);
    for (int i = 0; i < 2; ++i) chain.between[i] = tensor3<T>(m.between[i], some);
    return chain;
  }

  // Backward of some samples with the gradient of the weights, from the last factor to the first.
  // For a few factors at a time it computes first the gradients that they pass on, then those of
  // their weights.
  template <class Grid, class T>
  static void backward_with_weights(Grid const& grid, sparse_mix_backward<T> const& p,
                                    layout<T> const& m, chain_args<T> const& chain, index_t first) {
    index_t const factors = p.config.factors;
    extents3 const some = chain.in.extents(), of_weights{some.batch, some.length, p.config.links};
    chain_args<T> forming = chain;  // states that are not saved
    forming.back = false;
    forming.mode = grad_mode::overwrite;
    forming.start = start_of(p.config.residual);
    forming.inputs = nullptr;
    forming.first = slice_batch(p.x, first, some);
    forming.every = 1;
    forming.states =
        tensor_stack<T>(m.formed, {m.segment - 1, some.batch, some.length, some.channels});

    // If all states are saved, one segment holds all factors.
    index_t const segment = m.segment == 1 ? factors : m.segment;
    auto const input_of = [&](index_t f) -> tensor3<T const> {
      if (f == 0) return forming.first;
      if (f % m.segment == 0) return slice_batch(p.states[f / m.segment - 1], first, some);
      return forming.states[f % m.segment - 1];
    };
    chain_args<T> now = chain;
    now.every = 1;
    now.states = tensor_stack<T>(m.passed, {m.at_once - 1, some.batch, some.length, some.channels});
    int side = 0;  // which of `between` the next gradient goes to
    for (index_t s = divide_up(factors, segment); s-- > 0;) {
      index_t const begin = s * segment, end = std::min(begin + segment, factors);
      if (m.segment > 1 && end - begin > 1) {
        forming.in = input_of(begin);
        forming.out = forming.states[end - begin - 2];
        pack_weights(grid, forming, begin, end - 1, false);
        run_factors(grid, forming, begin, end - 1);
      }
      pack_weights(grid, chain, begin, end, true);
      for (index_t to = end; to > begin;) {
        index_t const from = std::max(begin, to - m.at_once);
        now.out = from == 0 ? chain.out : chain.between[side];
        now.mode = from == 0 ? chain.mode : grad_mode::overwrite;
        if (some.channels > 0) run_factors(grid, now, from, to);
        for (index_t f = from; f < to; ++f)
          weight_gradient(grid, chain, f, input_of(f),
                          f + 1 == to ? now.in : tensor3<T const>(now.states[to - 2 - f]),
                          slice_batch(p.dweights[f], first, of_weights));
        now.in = now.out;
        to = from;
        side = 1 - side;
      }
    }
  }
};

SLICESORT_DETAIL_END
