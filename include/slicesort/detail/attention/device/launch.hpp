// SPDX-License-Identifier: Apache-2.0
// Launches of streaming attention for any weights (device/weights.hpp). `Params` has the members
// mask, scale, in and lengths; y, or dy, grads, mode and shape().
#pragma once

#include <slicesort/detail/attention/device/backward_bias.hpp>
#include <slicesort/detail/attention/device/backward_kv.hpp>
#include <slicesort/detail/attention/device/backward_q.hpp>
#include <slicesort/detail/attention/device/bias_sums.hpp>
#include <slicesort/detail/attention/device/forward.hpp>
#include <slicesort/detail/attention/device/mask.hpp>
#include <slicesort/detail/attention/device/query_bounds.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Calls f(width) with the tile width for the shape, as a compile-time constant.
template <class T, class F>
void with_tile_width(attention_shape const& shape, bool needs_narrow_tile, F const& f) {
  if constexpr (sizeof(T) == 2) {
    index_t const channels = std::max(shape.channels, shape.values);
    if (!needs_narrow_tile && narrow_tile < channels && channels <= wide_tile)
      return f(std::integral_constant<int, wide_tile>{});
  }
  f(std::integral_constant<int, narrow_tile>{});
}

template <class Grid, class Weights, class Params>
void launch_attention_forward(Grid const& grid, Weights const& weights, Params const& params) {
  using T = typename Weights::element;
  attention_shape const shape(params.in);
  with_tile_width<T>(shape, false, [&](auto width) {
    attention_forward_kernel<Weights, decltype(params.mask), width> kernel{params.mask, weights};
    kernel.scale = static_cast<accumulator_t<T>>(params.scale);
    kernel.in = params.in;
    kernel.y = params.y;
    kernel.lengths = params.lengths;
    kernel.warps = attention_tuning_of<T>(grid).forward_warps;
    while (kernel.warps > 1 && (kernel.queries_per_block() >= 2 * shape.queries ||
                                shared_bytes(kernel) > grid.info().shared_bytes))
      kernel.warps /= 2;
    launch(grid, kernel, warp_threads * kernel.warps);
  });
}

// Workspace of the backward kernels.
template <class Weights, class Mask>
struct attention_backward_layout {
  using A = accumulator_t<typename Weights::element>;
  static constexpr int queries_per_tile =
      attention_backward_kv_kernel<Weights, Mask, narrow_tile>::queries_per_tile;
  // [batch, query tiles]; [batch * heads, query tiles] if masks differ by head
  range_bounds* bounds;
  A* distance_sums;  // [batch, heads, partial sums], for a relative dbias

  attention_backward_layout(arena& memory, attention_shape const& shape)
      : bounds(
            memory.take<range_bounds>(amount(shape.batch) * (has_for_head<Mask> ? shape.heads : 1) *
                                      divide_up(shape.queries, queries_per_tile))),
        distance_sums(memory.take<A>(
            shape.dbias.layout != dbias_layout::relative
                ? amount(0)
                : amount(shape.batch) * shape.heads *
                      attention_backward_bias_kernel<Weights, Mask>::max_partial_sums(
                          shape.queries, shape.keys))) {}
};

// Backward pass of one call. Requires that the statistics of `weights` are computed.
template <class Grid, class Weights, class Params>
class attention_backward_launches {
  using T = typename Weights::element;
  using Mask = decltype(Params::mask);

 public:
  using layout = attention_backward_layout<Weights, Mask>;

  attention_backward_launches(Grid const& grid, Weights const& weights, Params const& params,
                              layout const& workspace)
      : grid_(grid),
        weights_(weights),
        params_(params),
        workspace_(workspace),
        shape_(params.shape()) {}

  void run() const {
    auto const& grads = params_.grads;
    bool const sums_dbias = shape_.dbias.layout != dbias_layout::per_pair;
    if (grads.dk.data() != nullptr || grads.dv.data() != nullptr) backward_kv();
    if (grads.dq.data() != nullptr || (grads.dbias.data() != nullptr && !sums_dbias))
      backward_q(sums_dbias ? tensor4<T>() : grads.dbias);
    if (sums_dbias) backward_bias();
  }

 private:
  void backward_kv() const {
    query_bounds_kernel<Mask> bounds_kernel{params_.mask, params_.lengths};
    bounds_kernel.samples = shape_.batch;
    bounds_kernel.heads = shape_.heads;
    bounds_kernel.queries = shape_.queries;
    bounds_kernel.keys = shape_.keys;
    bounds_kernel.queries_per_tile = layout::queries_per_tile;
    bounds_kernel.bounds = workspace_.bounds;
    launch(grid_, bounds_kernel);
    bool needs_narrow_tile = false;
    if constexpr (Weights::supports_dropout) needs_narrow_tile = weights_.dropout.is_enabled();
    with_tile_width<T>(shape_, needs_narrow_tile, [&](auto width) {
      attention_tuning const tuning = attention_tuning_of<T>(grid_);
      attention_backward_kv_kernel<Weights, Mask, width> kernel{params_.mask, weights_};
      set_params(kernel);
      kernel.bounds = workspace_.bounds;
      kernel.mode = params_.mode;
      kernel.dk = params_.grads.dk;
      kernel.dv = params_.grads.dv;
      kernel.warps = tuning.backward_kv_warps;
      kernel.buffers = tuning.backward_buffers;
      fit_and_launch(kernel, kernel, kernel.keys_per_block(), shape_.keys);
    });
  }
  void backward_q(tensor4<T> dbias) const {
    with_tile_width<T>(shape_, false, [&](auto width) {
      attention_tuning const tuning = attention_tuning_of<T>(grid_);
      attention_backward_q_kernel<Weights, Mask, width> kernel{{params_.mask, weights_}};
      set_params(kernel.tile);
      kernel.dq = params_.grads.dq;
      kernel.dbias = dbias;
      kernel.mode = params_.mode;
      kernel.tile.computes_dbias = dbias.data() != nullptr;
      kernel.tile.warps = tuning.backward_q_warps;
      kernel.tile.buffers = tuning.backward_buffers;
      fit_and_launch(kernel, kernel.tile, kernel.tile.queries_per_block(), shape_.queries);
    });
  }
  // Computes a dbias that is relative or shared.
  void backward_bias() const {
    attention_backward_bias_kernel<Weights, Mask> kernel{{params_.mask, weights_}};
    set_params(kernel.tile);
    kernel.dbias = params_.grads.dbias;
    kernel.mode = params_.mode;
    kernel.reduction_shape = shape_.dbias;
    kernel.distance_sums = workspace_.distance_sums;
    kernel.tile.computes_dbias = true;
    kernel.tile.warps = attention_tuning_of<T>(grid_).backward_q_warps;
    kernel.tile.buffers = 1;
    fit_and_launch(kernel, kernel.tile, kernel.tile.queries_per_block(), shape_.queries);
    if (kernel.is_relative_bias())
      launch(grid_, distance_sums_kernel<T>{shape_, kernel.make_bands(), workspace_.distance_sums,
                                            params_.grads.dbias, params_.mode});
  }

  // Sets the members that all backward kernels share.
  template <class Kernel>
  void set_params(Kernel& kernel) const {
    kernel.scale = static_cast<accumulator_t<T>>(params_.scale);
    kernel.in = params_.in;
    kernel.dy = params_.dy;
    kernel.lengths = params_.lengths;
  }
  // Launches a kernel with at most the warps that `rows` rows need. If shared memory is too small,
  // tries one buffer, then fewer warps.
  template <class Kernel, class Tile>
  void fit_and_launch(Kernel const& kernel, Tile& tile, int rows_per_block, index_t rows) const {
    int const rows_per_warp = rows_per_block / tile.warps;
    while (tile.warps > 1 && tile.warps * rows_per_warp >= 2 * rows) tile.warps /= 2;
    int const buffers = tile.buffers;
    while ((tile.buffers > 1 || tile.warps > 1) &&
           shared_bytes(kernel) > grid_.info().shared_bytes) {
      if (tile.buffers == 1) tile.warps /= 2;
      tile.buffers = tile.buffers > 1 ? 1 : buffers;
    }
    launch(grid_, kernel, warp_threads * tile.warps);
  }

  Grid const& grid_;
  Weights const& weights_;
  Params const& params_;
  layout const& workspace_;
  attention_shape shape_;
};

template <class Grid, class Weights, class Params, class Layout>
void launch_attention_backward(Grid const& grid, Weights const& weights, Params const& params,
                               Layout const& workspace) {
  attention_backward_launches<Grid, Weights, Params>(grid, weights, params, workspace).run();
}

SLICESORT_DETAIL_END
