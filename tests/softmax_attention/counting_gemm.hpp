// SPDX-License-Identifier: Apache-2.0
// A user-defined matrix product in plain loops. It counts and validates its calls, and can reject
// some of them.
#pragma once

#include "support/numbers.hpp"

#include <slicesort/policies/attention_algorithm.hpp>
#include <slicesort/tensor_view.hpp>

#include <atomic>
#include <string>

struct CUstream_st;

namespace support {

struct gemm_log {
  std::atomic<int> calls{0}, done{0};
  std::atomic<bool> valid{true};
};

struct counting_gemm {
  static constexpr bool host_memory = true;
  gemm_log* log = nullptr;
  int refused = 0;  // rejects the first of every `refused` calls; 1: all

  bool multiply(CUstream_st* stream, slicesort::gemm_call const& g) const {
    int const number = log->calls++;
    if (stream != nullptr || !valid(g)) log->valid = false;
    if (refused > 0 && number % refused == 0) return false;
    for (slicesort::index_t m = 0; m < g.matrices; ++m)
      for (slicesort::index_t i = 0; i < g.rows; ++i)
        for (slicesort::index_t j = 0; j < g.columns; ++j) {
          double sum = 0;
          for (slicesort::index_t k = 0; k < g.depth; ++k)
            sum += read(g.a, m, i, k) * read(g.b, m, k, j);
          sum *= g.alpha;
          if (g.beta != 0) sum += g.beta * read(g.c, m, i, j);
          write(g.c, m, i, j, sum);
        }
    ++log->done;
    return true;
  }

 private:
  using kind = slicesort::element_kind;

  static bool valid(slicesort::gemm_call const& g) {
    auto const operand = [](slicesort::gemm_operand const& o) {
      return o.data != nullptr && o.row_stride >= 0 && o.column_stride >= 0 && o.matrix_stride >= 0;
    };
    return g.rows > 0 && g.columns > 0 && g.depth > 0 && g.matrices > 0 && operand(g.a) &&
           operand(g.b) && operand(g.c) && g.a.kind == g.b.kind;
  }
  static slicesort::index_t offset(slicesort::gemm_operand const& o, slicesort::index_t m,
                                   slicesort::index_t row, slicesort::index_t column) {
    return m * o.matrix_stride + row * o.row_stride + column * o.column_stride;
  }
  template <class F>
  static void as_element(kind k, F const& f) {
    switch (k) {
      case kind::f32:
        return f(float{});
      case kind::f64:
        return f(double{});
      case kind::f16:
        return f(float16{});
      case kind::bf16:
        return f(bfloat16{});
    }
  }
  static double read(slicesort::gemm_operand const& o, slicesort::index_t m, slicesort::index_t row,
                     slicesort::index_t column) {
    double value = 0;
    as_element(o.kind, [&](auto element) {
      using wide = slicesort::detail::accumulator_t<decltype(element)>;
      value = static_cast<wide>(
          static_cast<decltype(element) const*>(o.data)[offset(o, m, row, column)]);
    });
    return value;
  }
  static void write(slicesort::gemm_operand const& o, slicesort::index_t m, slicesort::index_t row,
                    slicesort::index_t column, double value) {
    as_element(o.kind, [&](auto element) {
      using wide = slicesort::detail::accumulator_t<decltype(element)>;
      static_cast<decltype(element)*>(const_cast<void*>(o.data))[offset(o, m, row, column)] =
          static_cast<decltype(element)>(static_cast<wide>(value));
    });
  }
};

}  // namespace support
