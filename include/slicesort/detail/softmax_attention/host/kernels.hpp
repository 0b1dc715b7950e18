// SPDX-License-Identifier: Apache-2.0
// The kernels of softmax_attention, on every instruction set.
#pragma once

#include <slicesort/detail/host/isa.hpp>
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

namespace portable {
#include <slicesort/detail/softmax_attention/host/gemm_block.inl>
#include <slicesort/detail/softmax_attention/host/softmax.inl>
}  // namespace portable

#if SLICESORT_X86_DISPATCH
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2_FMA)
namespace avx2 {
#  include <slicesort/detail/softmax_attention/host/gemm_block.inl>
#  include <slicesort/detail/softmax_attention/host/softmax.inl>
}  // namespace avx2
SLICESORT_TARGET_END

SLICESORT_TARGET_BEGIN(SLICESORT_AVX512)
namespace avx512 {
#  include <slicesort/detail/softmax_attention/host/gemm_block.inl>
#  include <slicesort/detail/softmax_attention/host/softmax.inl>
}  // namespace avx512
SLICESORT_TARGET_END
#endif

// The kernels of one set, chosen once for a call.
template <class T>
struct attention_kernels {
  using A = detail::accumulator_t<T>;

  void (*multiply)(product_call<A> const&);
  void (*limit)(attention_limits<A> const&);
  void (*step)(attention_step<A> const&);
  void (*slope)(attention_slope<A> const&);
  void (*dots)(A const*, A const*, index_t depth, A*);
  A (*soften)(A* row, index_t count);
  void (*scale_row)(A* row, index_t count, A factor);
  void (*slope_row)(A const* weights, A* products, index_t count, A mean);
  // take moves any rows at once; give and add are told of one at a time.
  void (*take)(T const*, index_t pitch, index_t rows, index_t width, A*, index_t to_pitch);
  void (*give)(A const*, index_t rows, index_t width, T*, index_t pitch);
  void (*add)(A const*, index_t rows, index_t width, T*, index_t pitch);

  explicit attention_kernels(isa wanted) {
    isa const set = fused_isa(wanted);
    (void)set;
#if SLICESORT_X86_DISPATCH
    if (set == isa::avx512) {
      use<avx512::product_block<A>, avx512::attention_rows<A>, avx512::row_transfer<T, 0>>();
      return;
    }
    if (set == isa::avx2) {
      use<avx2::product_block<A>, avx2::attention_rows<A>, avx2::row_transfer<T, 0>>();
      return;
    }
#endif
    use<portable::product_block<A>, portable::attention_rows<A>, portable::row_transfer<T, 0>>();
  }

 private:
  template <class Product, class Rows, class Transfer>
  void use() {
    static_assert(product_rows % Product::rows == 0 &&
                  product_columns % Product::lanes::count == 0);
    multiply = Product::run;
    limit = Rows::limit;
    step = Rows::step;
    slope = Rows::slope;
    dots = Rows::dots;
    soften = Rows::soften;
    scale_row = Rows::scale_row;
    slope_row = Rows::slope_row;
    take = Transfer::take;
    give = Transfer::template give<false>;
    add = Transfer::add;
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
