// SPDX-License-Identifier: Apache-2.0
// Arguments of matmul, and their split into products for a BLAS.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Arguments of the workspace size.
struct matmul_shape {
  extents4 a, b;
};

// c = scale * a * b, or c += scale * a * b. a and b have the same batch and heads; an operand that
// is shared has a stride of 0. Where batch or heads of c is 1, products are summed.
template <class T>
struct matmul_forward {
  using element = T;
  static constexpr char const* name = "matmul.forward";

  double scale = 1;
  gemm_callback gemm{};
  tensor4<T const> a{}, b{};  // [batch, heads, rows, depth], [batch, heads, depth, columns]
  tensor4<T> c{};             // [batch or 1, heads or 1, rows, columns]
  grad_mode mode = grad_mode::overwrite;

  matmul_shape shape() const { return {a.extents(), b.extents()}; }
  index_t depth() const { return a.extents().channels; }
  index_t samples_per_sum() const { return terms(c.extents().batch, a.extents().batch); }
  index_t heads_per_sum() const { return terms(c.extents().heads, a.extents().heads); }

 private:
  static index_t terms(index_t sums, index_t products) { return sums == 1 ? products : 1; }
};

// Has no `backward`: the gradients are products too.
struct matmul_op {
  using shape = matmul_shape;
  template <class T>
  using forward = matmul_forward<T>;
};

// Heads first .. first + count - 1 of a sample. An axis of extent 1 is shared.
template <class T>
tensor4<T> matrices_of(tensor4<T> x, index_t sample, index_t first, index_t count) {
  extents4 const e = x.extents();
  strides4 const s = x.strides();
  return {x.data() + (e.batch == 1 ? 0 : sample * s.batch) + (e.heads == 1 ? 0 : first * s.heads),
          {1, e.heads == 1 ? 1 : count, e.length, e.channels},
          s};
}

template <class T>
gemm_operand gemm_operand_of(tensor4<T> x) {
  return {x.data(), kind_of_element<typename tensor4<T>::value_type>(), x.strides().length,
          x.strides().channels, x.strides().heads};
}

// Multiplies with the caller's BLAS, a call for each sample, and for each head if heads are summed.
// Calls multiply_here(product) for products that the BLAS declines, and for all without a BLAS.
template <class T, class Multiply, class MultiplyHere>
void multiply_by_gemm(matmul_forward<T> const& params, Multiply const& multiply,
                      MultiplyHere const& multiply_here) {
  extents4 const a = params.a.extents(), c = params.c.extents();
  bool const has_terms = a.batch > 0 && a.heads > 0 && params.depth() > 0;
  if (params.gemm.evaluate == nullptr || !has_terms) return multiply_here(params);
  index_t const heads = c.heads == 1 ? 1 : a.heads;
  for (index_t sample = 0; sample < a.batch; ++sample)
    for (index_t head = 0; head < a.heads; head += heads) {
      auto product = params;
      product.a = matrices_of(params.a, sample, head, heads);
      product.b = matrices_of(params.b, sample, head, heads);
      product.c = matrices_of(params.c, sample, head, heads);
      bool const is_first_term = (c.batch > 1 || sample == 0) && head == 0;
      if (!is_first_term) product.mode = grad_mode::accumulate;
      gemm_call call{};
      call.rows = c.length;
      call.columns = c.channels;
      call.depth = params.depth();
      call.matrices = heads;
      call.alpha = params.scale;
      call.beta = product.mode == grad_mode::accumulate ? 1 : 0;
      call.a = gemm_operand_of(product.a);
      call.b = gemm_operand_of(product.b);
      call.c = gemm_operand_of(product.c);
      if (!multiply(params.gemm, call)) multiply_here(product);
    }
}

SLICESORT_DETAIL_END
