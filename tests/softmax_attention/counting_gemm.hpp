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
  std::atomic<int> calls{0}, accepted{0};
  std::atomic<bool> all_valid{true};
};

struct counting_gemm {
  static constexpr bool host_memory = true;
  gemm_log* log = nullptr;
  int rejection_period = 0;  // rejects the first of every `rejection_period` calls: 0 none, 1 all

  bool multiply(CUstream_st* stream, slicesort::gemm_call const& call) const {
    int const call_index = log->calls++;
    if (stream != nullptr || !is_valid(call)) log->all_valid = false;
    if (rejection_period > 0 && call_index % rejection_period == 0) return false;
    for (slicesort::index_t matrix = 0; matrix < call.matrices; ++matrix)
      for (slicesort::index_t i = 0; i < call.rows; ++i)
        for (slicesort::index_t j = 0; j < call.columns; ++j) {
          double sum = 0;
          for (slicesort::index_t k = 0; k < call.depth; ++k)
            sum += read(call.a, matrix, i, k) * read(call.b, matrix, k, j);
          sum *= call.alpha;
          if (call.beta != 0) sum += call.beta * read(call.c, matrix, i, j);
          write(call.c, matrix, i, j, sum);
        }
    ++log->accepted;
    return true;
  }

 private:
  using kind = slicesort::element_kind;

  static bool is_valid(slicesort::gemm_call const& call) {
    auto const is_valid_operand = [](slicesort::gemm_operand const& operand) {
      return operand.data != nullptr && operand.row_stride >= 0 && operand.column_stride >= 0 &&
             operand.matrix_stride >= 0;
    };
    return call.rows > 0 && call.columns > 0 && call.depth > 0 && call.matrices > 0 &&
           is_valid_operand(call.a) && is_valid_operand(call.b) && is_valid_operand(call.c) &&
           call.a.kind == call.b.kind;
  }
  static slicesort::index_t offset(slicesort::gemm_operand const& operand,
                                   slicesort::index_t matrix, slicesort::index_t row,
                                   slicesort::index_t column) {
    return matrix * operand.matrix_stride + row * operand.row_stride +
           column * operand.column_stride;
  }
  template <class F>
  static void with_element_type(kind k, F const& f) {
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
  static double read(slicesort::gemm_operand const& operand, slicesort::index_t matrix,
                     slicesort::index_t row, slicesort::index_t column) {
    double value = 0;
    with_element_type(operand.kind, [&](auto element) {
      using accumulator = slicesort::detail::accumulator_t<decltype(element)>;
      value = static_cast<accumulator>(static_cast<decltype(element) const*>(
          operand.data)[offset(operand, matrix, row, column)]);
    });
    return value;
  }
  static void write(slicesort::gemm_operand const& operand, slicesort::index_t matrix,
                    slicesort::index_t row, slicesort::index_t column, double value) {
    with_element_type(operand.kind, [&](auto element) {
      using accumulator = slicesort::detail::accumulator_t<decltype(element)>;
      static_cast<decltype(element)*>(
          const_cast<void*>(operand.data))[offset(operand, matrix, row, column)] =
          static_cast<decltype(element)>(static_cast<accumulator>(value));
    });
  }
};

}  // namespace support
