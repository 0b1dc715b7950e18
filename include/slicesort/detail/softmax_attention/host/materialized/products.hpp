// SPDX-License-Identifier: Apache-2.0
// Matrix products of a head in materialized attention, and dropout of the weights. Uses the
// caller's BLAS if it accepts the call.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/head.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/simd_table.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/host/matrix_product.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/softmax_attention/host/materialized/layout.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class T>
class attention_map_products {
 public:
  using A = accumulator_t<T>;

  attention_map_products(attention_config const& config, attention_kernels<T> const& kernels,
                         attention_inputs<T> const& in, attention_map_workspace<T> const& memory,
                         index_t flat_head)
      : config_(config),
        kernels_(kernels),
        in_(in),
        memory_(memory),
        shape_(attention_shape(in)),
        head_(config.lengths, shape_, flat_head),
        io_(kernels) {}

 protected:
  using matrix = matrix_operand<T>;
  static constexpr bool sums_are_elements = std::is_same_v<T, A>;
  struct product_size {
    index_t rows, columns, depth;
  };

  matrix matrix_of_valid_rows(tensor4<T const> t, index_t first = 0) const {
    return matrix::from_elements(head_.at(t, first), t.strides().length, t.strides().channels);
  }

  void multiply_into_sums(A* sums, index_t pitch, double scale, grad_mode mode, product_size size,
                          matrix const& a, matrix const& b) const {
    if (try_gemm(scale, mode, size, a, b, sums, pitch, 1)) return;
    memory_.product.multiply(kernels_, size.rows, size.columns, size.depth, a, b,
                             static_cast<A>(scale), matrix_result<T>::from_sums(sums, pitch, mode));
  }
  void multiply_into_rows(tensor4<T> out, index_t first, double scale, grad_mode mode,
                          product_size size, matrix const& a, matrix const& b) const {
    index_t const row_stride = out.strides().length, column_stride = out.strides().channels;
    T* const rows = head_.at(out, first);
    if (try_gemm(scale, mode, size, a, b, rows, row_stride, column_stride)) return;
    memory_.product.multiply(
        kernels_, size.rows, size.columns, size.depth, a, b, static_cast<A>(scale),
        matrix_result<T>::from_elements(rows, row_stride, column_stride, mode));
  }

  // Sets the dropped weights of queries from `query` on to 0.
  void apply_dropout(index_t query, index_t queries, A* scores) const {
    if (!config_.dropout.is_enabled()) return;
    for (index_t i = 0; i < queries; i += tile_queries)
      for (index_t key = 0; key < head_.keys; key += tile_keys) {
        int const keys = static_cast<int>(std::min<index_t>(tile_keys, head_.keys - key));
        kernels_.compute_keep_mask(make_keep_mask_params(config_, head_, query + i, key, nullptr,
                                                         keys, memory_.lane_bits));
        for (int lane = 0; lane < std::min<index_t>(tile_queries, queries - i); ++lane)
          for (int j = 0; j < keys; ++j) {
            A& weight = scores[(i + lane) * shape_.keys + key + j];
            weight = (memory_.lane_bits[j] >> lane & 1) != 0 ? weight : A(0);
          }
      }
  }

  attention_config const& config_;
  attention_kernels<T> const& kernels_;
  attention_inputs<T> const& in_;
  attention_map_workspace<T> const& memory_;
  attention_shape const shape_;
  attention_head const head_;
  row_access<T> const io_;

 private:
  // Calls the caller's BLAS if elements need no conversion. Returns true if it computed c.
  bool try_gemm(double alpha, grad_mode mode, product_size size, matrix const& a, matrix const& b,
                void* c, index_t row_stride, index_t column_stride) const {
    if (!sums_are_elements || size.rows == 0 || size.columns == 0 || size.depth == 0) return false;
    element_kind const kind = sizeof(A) == 8 ? element_kind::f64 : element_kind::f32;
    gemm_call call{};
    call.rows = size.rows, call.columns = size.columns, call.depth = size.depth;
    call.matrices = 1;
    call.alpha = alpha, call.beta = mode == grad_mode::accumulate ? 1 : 0;
    call.a = gemm_operand{a.sums, kind, a.row, a.column, 0};
    call.b = gemm_operand{b.sums, kind, b.row, b.column, 0};
    call.c = gemm_operand{c, kind, row_stride, column_stride, 0};
    return config_.gemm.multiply(nullptr, call);
  }
};

SLICESORT_DETAIL_END
