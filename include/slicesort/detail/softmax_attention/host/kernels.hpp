// SPDX-License-Identifier: Apache-2.0
// The kernels of softmax_attention, on every instruction set.
#pragma once

#include <slicesort/detail/host/simd/number_lanes.hpp>
#include <slicesort/detail/host/simd/row_transfer.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// The kernels of one set, chosen once for a call.
template <class T>
struct attention_kernels {
  using A = detail::accumulator_t<T>;

  void (*multiply)(product_call<A> const&);
  void (*mask_scores)(mask_scores_call<A> const&);
  void (*online_softmax)(online_softmax_call<A> const&);
  void (*dscore)(dscore_call<A> const&);
  void (*row_dots)(A const*, A const*, index_t depth, A*);
  A (*softmax_row)(A* row, index_t count);
  void (*scale_row)(A* row, index_t count, A factor);
  void (*dscore_row)(A const* weights, A* products, index_t count, A delta);
  // load moves any number of rows; store and add are called for one at a time.
  void (*load)(T const*, index_t pitch, index_t rows, index_t width, A*, index_t to_pitch);
  void (*store)(A const*, index_t rows, index_t width, T*, index_t pitch);
  void (*add)(A const*, index_t rows, index_t width, T*, index_t pitch);

  explicit attention_kernels(isa wanted) {
    dispatch(fused_isa(wanted), [&](auto target) { choose_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_TEXT <slicesort/detail/softmax_attention/host/kernels.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
