// SPDX-License-Identifier: Apache-2.0
// Moving a tile of CSP, on every instruction set.
#pragma once

#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/store_rows.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/exec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

#define SLICESORT_TARGET_TEXT <slicesort/detail/csp/host/kernels.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

// The kernels of a tile, and of pairs that stay where they are.
template <class T>
void move_csp_tile(isa set, csp_tile<T> const& tile, csp_step step) {
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx512) return avx512::csp_mover<T, avx512_codec<T>>(tile).run(step);
  if (set == isa::avx2) return avx2::csp_mover<T, avx2_codec<T>>(tile).run(step);
#endif
  (void)set;
  portable::csp_mover<T, portable_codec<T>>(tile).run(step);
}

template <class T>
void exchange_pair_rows(isa set, pair_rows<T> const& rows, csp_step step) {
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx512) return avx512::pair_exchange<T>::run(rows, step);
  if (set == isa::avx2) return avx2::pair_exchange<T>::run(rows, step);
#endif
  (void)set;
  portable::pair_exchange<T>::run(rows, step);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
