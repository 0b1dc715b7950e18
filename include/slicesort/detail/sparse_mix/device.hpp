// SPDX-License-Identifier: Apache-2.0
// Device backend of sparse_mix. Processes a chunk of samples at a time: packs the weights, then
// applies the factors.
//
//   if all rows of some channels ...   the factors run in
//   fit in shared memory               one kernel (chain_tile.hpp), except in backward of
//                                      residual::initial
//   do not fit                         one kernel per factor (factor.hpp), through the L2 cache
//
// Backward with weight gradients processes mix_tuning::backward_factors factors at a time, from the
// last to the first. It stores the gradients between these factors, then runs one kernel per factor
// that sums the weight gradient (weight_gradient.hpp). States that are not saved are recomputed:
// all states between two saved ones at once. `recompute` therefore needs workspace for the whole
// chain.
#pragma once

#include <slicesort/detail/core/arena.hpp>
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
  static void plan(Grid const& grid, mix_shape const& shape, arena& memory) {
    (void)layout<T>(memory, grid, shape);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, sparse_mix_forward<T> const& params, workspace memory) {
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena allocator(memory);
    layout<T> const buffers(allocator, grid, params.shape());
    upload_offsets(grid, params.config, buffers.offsets);
    for (index_t first_sample = 0; first_sample < e.batch;
         first_sample += buffers.samples_per_chunk) {
      chain_args<T> chain = make_chain(params, buffers, first_sample, params.x, params.y);
      chain.state_interval =
          params.saving && params.config.every < params.config.factors ? params.config.every : 0;
      chain.initial = chain.input;
      chain.states = slice_batch(params.states, first_sample, chain.input.extents().batch);
      if (params.config.factors == 0) {
        copy_rows(grid, chain);
        continue;
      }
      pack_weights(grid, chain, 0, params.config.factors);
      run_factors(grid, chain, 0, params.config.factors);
    }
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, sparse_mix_backward<T> const& params, workspace memory) {
    extents3 const e = params.dy.extents();
    if (e.batch == 0 || e.length == 0 || (e.channels == 0 && !params.needs_weight_gradient)) return;
    arena allocator(memory);
    layout<T> const buffers(allocator, grid, params.shape());
    upload_offsets(grid, params.config, buffers.offsets);
    for (index_t first_sample = 0; first_sample < e.batch;
         first_sample += buffers.samples_per_chunk) {
      chain_args<T> chain = make_chain(params, buffers, first_sample, params.dy, params.dx);
      chain.backward = true;
      chain.mode = params.mode;
      if (chain.start == mix_start::first) chain.start = mix_start::total;
      chain.input_sums = chain.start == mix_start::total ? buffers.input_sums : nullptr;
      if (params.config.factors == 0) {
        copy_rows(grid, chain);
      } else if (params.needs_weight_gradient) {
        backward_with_weights(grid, params, buffers, chain, first_sample);
      } else {
        pack_weights(grid, chain, 0, params.config.factors);
        run_factors(grid, chain, 0, params.config.factors);
      }
    }
  }

 private:
  // Workspace for a chunk of samples: as many as fit in chunk_elements, at least one.
  template <class T>
  struct layout {
    using A = accumulator_t<T>;
    index_t samples_per_chunk = 0;
    index_t factors_per_segment = 0;  // a segment lies between two saved states
    index_t* offsets = nullptr;
    packed_weights<A> factors;
    T* intermediate[2] = {};       // gradients or states of two successive factors
    A* input_sums = nullptr;       // sum of gradients, for residual::initial
    T* recomputed = nullptr;       // recomputed states of a segment
    index_t factors_per_pass = 0;  // passes of backward with weight gradients
    T* pass_gradients = nullptr;   // gradients between the factors of a pass

    template <class Grid>
    layout(arena& memory, Grid const& grid, mix_shape const& shape) {
      extents3 const e = shape.extents;
      if (e.batch == 0 || e.length == 0) return;
      index_t const links = shape.factors * shape.links;
      index_t const rows = std::max(e.length * e.channels, links * e.length);
      index_t const chunk = grid_tuning_of<T>(grid).chunk_elements;
      samples_per_chunk = std::clamp<index_t>(chunk / std::max<index_t>(rows, 1), 1, e.batch);
      factors_per_segment = shape.every == 0 ? shape.factors : std::min(shape.every, shape.factors);
      auto const per_chunk = [&](amount per_sample) { return per_sample * samples_per_chunk; };
      offsets = memory.take<index_t>(links);
      factors.factors = shape.factors;
      factors.links = shape.links;
      factors.length = e.length;
      factors.weights = memory.take<A>(per_chunk(links * e.length));
      factors.distances = memory.take<std::uint32_t>(per_chunk(links));
      index_t const elements = e.length * e.channels;
      for (T*& buffer : intermediate)
        buffer = memory.take<T>(per_chunk(shape.factors > 1 ? elements : 0));
      input_sums = memory.take<A>(per_chunk(shape.factors > 1 ? elements : 0));
      recomputed = memory.take<T>(
          per_chunk(amount(std::max<index_t>(factors_per_segment - 1, 0)) * elements));
      factors_per_pass =
          std::clamp<index_t>(shape.factors, 1, mix_tuning_of<T>(grid).backward_factors);
      pass_gradients = memory.take<T>(per_chunk(amount(factors_per_pass - 1) * elements));
    }
  };

  static mix_start start_of(residual_form residual) {
    return residual == residual_form::per_factor ? mix_start::self
           : residual == residual_form::none     ? mix_start::zero
                                                 : mix_start::first;
  }
  template <class Grid>
  static void upload_offsets(Grid const& grid, mix_config const& config, index_t* memory) {
    auto const offset = [&](index_t i) {
      return config.offset(i % config.links, i / config.links);
    };
    upload_values(grid, config.factors * config.links, offset, memory, true);
  }

  // Returns the chain from `input` to `output` for a chunk of samples that starts at
  // `first_sample`.
  template <class Params, class T>
  static chain_args<T> make_chain(Params const& params, layout<T> const& buffers,
                                  index_t first_sample, tensor3<T const> input, tensor3<T> output) {
    extents3 const e = input.extents();
    extents3 const chunk{std::min(buffers.samples_per_chunk, e.batch - first_sample), e.length,
                         e.channels};
    chain_args<T> chain{buffers.factors, buffers.offsets,
                        slice_batch(params.weights, first_sample, chunk.batch),
                        slice_batch(params.lengths, first_sample, chunk)};
    chain.start = start_of(params.config.residual);
    chain.input = slice_batch(input, first_sample, chunk);
    chain.output = slice_batch(output, first_sample, chunk);
    for (int i = 0; i < 2; ++i) chain.intermediate[i] = tensor3<T>(buffers.intermediate[i], chunk);
    return chain;
  }

  // Computes all gradients of a chunk of samples, including weight gradients.
  template <class Grid, class T>
  static void backward_with_weights(Grid const& grid, sparse_mix_backward<T> const& params,
                                    layout<T> const& buffers, chain_args<T> const& chain,
                                    index_t first_sample) {
    index_t const factors = params.config.factors;
    extents3 const chunk = chain.input.extents(),
                   weight_extents{chunk.batch, chunk.length, params.config.links};
    chain_args<T> recomputing = chain;  // recomputes unsaved states
    recomputing.backward = false;
    recomputing.mode = grad_mode::overwrite;
    recomputing.start = start_of(params.config.residual);
    recomputing.input_sums = nullptr;
    recomputing.initial = slice_batch(params.x, first_sample, chunk);
    recomputing.state_interval = 1;
    recomputing.states = tensor_stack<T>(
        buffers.recomputed,
        {buffers.factors_per_segment - 1, chunk.batch, chunk.length, chunk.channels});

    // If all states are saved, one segment holds all factors.
    index_t const segment =
        buffers.factors_per_segment == 1 ? factors : buffers.factors_per_segment;
    auto const input_of = [&](index_t f) -> tensor3<T const> {
      if (f == 0) return recomputing.initial;
      if (f % buffers.factors_per_segment == 0)
        return slice_batch(params.states[f / buffers.factors_per_segment - 1], first_sample, chunk);
      return recomputing.states[f % buffers.factors_per_segment - 1];
    };
    chain_args<T> pass = chain;
    pass.state_interval = 1;
    pass.states =
        tensor_stack<T>(buffers.pass_gradients,
                        {buffers.factors_per_pass - 1, chunk.batch, chunk.length, chunk.channels});
    int next = 0;  // index of the `intermediate` buffer for the next gradient
    for (index_t segment_index = divide_up(factors, segment); segment_index-- > 0;) {
      index_t const begin = segment_index * segment, end = std::min(begin + segment, factors);
      if (buffers.factors_per_segment > 1 && end - begin > 1) {
        recomputing.input = input_of(begin);
        recomputing.output = recomputing.states[end - begin - 2];
        pack_weights(grid, recomputing, begin, end - 1);
        run_factors(grid, recomputing, begin, end - 1);
      }
      pack_weights(grid, chain, begin, end);
      for (index_t last = end; last > begin;) {
        index_t const first_factor = std::max(begin, last - buffers.factors_per_pass);
        pass.output = first_factor == 0 ? chain.output : chain.intermediate[next];
        pass.mode = first_factor == 0 ? chain.mode : grad_mode::overwrite;
        if (chunk.channels > 0) run_factors(grid, pass, first_factor, last);
        for (index_t f = first_factor; f < last; ++f)
          compute_weight_gradient(
              grid, chain, f, input_of(f),
              f + 1 == last ? pass.input : tensor3<T const>(pass.states[last - 2 - f]),
              slice_batch(params.dweights[f], first_sample, weight_extents));
        pass.input = pass.output;
        last = first_factor;
        next = 1 - next;
      }
    }
  }
};

SLICESORT_DETAIL_END
