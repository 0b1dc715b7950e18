// SPDX-License-Identifier: Apache-2.0
/// Shuffle: a seeded permutation that ignores the values. Ablation of slicing-sort.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/shuffle/host.hpp>
#include <slicesort/detail/shuffle/params.hpp>

#include <cstdint>

SLICESORT_OPERATORS_BEGIN

/// `y[b, n, c] = x[b, p[n], c]`, where `p` is the stable argsort, over the valid rows `n`, of
/// 32-bit hashes of (seed, channel, n), with channel 0 for all channels in `shared_by_channels`
/// (the shuffle ablation of Sliceformer, in its first version). The hash is counter-based
/// SplitMix64, see `detail/math/counter_hash.hpp`. Backward `dx[b, p[n], c] = dy[b, n, c]`.
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`, any strides (output strides must not
///   overlap).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`. Values move bit
///   for bit.
/// - **Saved** nothing: backward computes the permutation again.
/// - **Lengths** `p` permutes the valid rows and is the same for samples of equal length; the other
///   rows are copied unchanged.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is an error.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** a pure function of seed, form, length and channel: the same on every backend,
///   for any thread count, instruction set and split of the batch.
/// - **Cost** O(N log N) per permutation (one, or one per channel; never one per sample), then O(N)
///   per column. Workspace O(N) per permutation and per thread.
///
/// @tparam Form `shared_by_channels` (the default) or `per_channel`.
template <class Form = shared_by_channels>
class shuffle : public detail::sized_by_shape<detail::shuffle_op<Form>> {
 public:
  constexpr explicit shuffle(std::uint64_t seed = 0) : seed_(seed) {}

  constexpr std::uint64_t seed() const { return seed_; }

  /// Writes the rows of `x` in their shuffled order to `y`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Y const& y, workspace memory = {},
                                forward_options options = {}) const {
    return detail::call<op>(exec, detail::make_forward_params<op>(x, y, options, config{seed_}),
                            memory);
  }

  /// Writes the rows of `dy` to `dx` in the order before the shuffle, or adds them with
  /// `grad_mode::accumulate`.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, DX const& dx,
                                 workspace memory = {}, backward_options options = {}) const {
    return detail::call<op>(exec, detail::make_backward_params<op>(dy, dx, options, config{seed_}),
                            memory);
  }

  SLICESORT_REFUSE_OTHER_TRANSFERS("(exec, x, y, workspace, options)",
                                   "(exec, dy, dx, workspace, options)");

 private:
  using op = detail::shuffle_op<Form>;
  using config = typename op::config;

  std::uint64_t seed_;
};

SLICESORT_OPERATORS_END
