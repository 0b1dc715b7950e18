// SPDX-License-Identifier: Apache-2.0
// The kernels of sparse_mix, on every instruction set.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/number_lanes.hpp>
#include <slicesort/detail/host/simd/row_transfer.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/sparse_mix/host/tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

namespace portable {
#include <slicesort/detail/sparse_mix/host/rows.inl>
}  // namespace portable

#if SLICESORT_X86_DISPATCH
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2_FMA)
namespace avx2 {
#  include <slicesort/detail/sparse_mix/host/rows.inl>
}  // namespace avx2
SLICESORT_TARGET_END

SLICESORT_TARGET_BEGIN(SLICESORT_AVX512)
namespace avx512 {
#  include <slicesort/detail/sparse_mix/host/rows.inl>
}  // namespace avx512
SLICESORT_TARGET_END
#endif

// The kernels of one set, chosen once for a call.
template <class T>
struct mix_kernels {
  using A = detail::accumulator_t<T>;

  void (*sums)(row_span<A> const&);
  void (*dots)(A const*, A const*, mix_pairs const&, int rounds, A*);
  int dots_of_round;
  void (*take)(T const*, index_t pitch, index_t rows, index_t width, A*, index_t to_pitch);
  void (*give)(A const*, index_t rows, index_t width, T*, index_t pitch);
  void (*stream)(A const*, index_t rows, index_t width, T*, index_t pitch);
  void (*add)(A const*, index_t rows, index_t width, T*, index_t pitch);

  explicit mix_kernels(isa set) {
    (void)set;
#if SLICESORT_X86_DISPATCH
    if (set == isa::avx512) {
      use<avx512::mix_sums<T>, avx512::mix_dots<T>, avx512::row_transfer<T, mix_columns>>();
      return;
    }
    if (set == isa::avx2) {
      use<avx2::mix_sums<T>, avx2::mix_dots<T>, avx2::row_transfer<T, mix_columns>>();
      return;
    }
#endif
    use<portable::mix_sums<T>, portable::mix_dots<T>, portable::row_transfer<T, mix_columns>>();
  }

 private:
  template <class Sums, class Dots, class Transfer>
  void use() {
    sums = Sums::run;
    dots = Dots::run;
    dots_of_round = Dots::lanes::count;
    take = Transfer::take;
    give = Transfer::template give<false>;
    stream = Transfer::template give<true>;
    add = Transfer::add;
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
