// SPDX-License-Identifier: Apache-2.0
// <slicesort/policies/cublas.cuh> on a stand-in for cuBLAS: its products, the restored state of the
// handle, and its handling of errors.
#include "stand_in.hpp"

#include "support/error_message.hpp"
#include "support/gemm_layouts.hpp"

#include <slicesort/error.hpp>
#include <slicesort/policies/cublas.cuh>

#include <doctest/doctest.h>

#include <string>

using namespace support;

namespace {

namespace ss = slicesort;

// A unique address, which is never dereferenced.
template <class Pointer>
Pointer fake_pointer(int i) {
  static unsigned char memory[4];
  return reinterpret_cast<Pointer>(memory + i);
}

bool multiply(cublasContext& handle, cudaStream_t stream) {
  matrices<float> const a(2, 3, 1, matrix_layout::rows, 1), b(3, 4, 1, matrix_layout::rows, 2);
  matrices<float> c(2, 4, 1, matrix_layout::rows, 3);
  return ss::cublas{&handle}.multiply(stream,
                                      {2, 4, 3, 1, 1.0, 0.0, a.operand, b.operand, c.operand});
}

}  // namespace

TEST_CASE_TEMPLATE("products in every layout", T, float, double, float16, bfloat16) {
  cublasContext handle;
  for (matrix_layout a : {matrix_layout::rows, matrix_layout::rows_apart, matrix_layout::columns,
                          matrix_layout::columns_apart})
    for (matrix_layout b : {matrix_layout::rows, matrix_layout::rows_apart, matrix_layout::columns,
                            matrix_layout::columns_apart})
      for (matrix_layout c : {matrix_layout::rows, matrix_layout::rows_apart,
                              matrix_layout::columns, matrix_layout::columns_apart})
        for (double beta : {0.0, 1.0}) {
          CHECK(multiplies<T>(ss::cublas{&handle}, 5, 7, 3, a, b, c, 0.5, beta));
          if constexpr (sizeof(T) == 2)
            CHECK(multiplies<T, float>(ss::cublas{&handle}, 5, 7, 3, a, b, c, 0.5, beta));
        }
  for (index_t rows : {1, 4})
    for (index_t columns : {1, 4})
      for (index_t depth : {1, 4})
        for (matrix_layout layout : {matrix_layout::rows, matrix_layout::columns_apart})
          CHECK(multiplies<T>(ss::cublas{&handle}, rows, columns, depth, layout, layout,
                              matrix_layout::rows, 1, 0));
}

TEST_CASE("layouts and types that cuBLAS does not support are declined") {
  cublasContext handle;
  ss::cublas const gemm{&handle};
  CHECK(!multiplies<float>(gemm, 3, 4, 5, matrix_layout::strided, matrix_layout::rows,
                           matrix_layout::rows, 1.0, 0.0));
  CHECK(!multiplies<float>(gemm, 3, 4, 5, matrix_layout::rows, matrix_layout::strided,
                           matrix_layout::rows, 1.0, 0.0));
  CHECK(!multiplies<float>(gemm, 3, 4, 5, matrix_layout::rows, matrix_layout::rows,
                           matrix_layout::strided, 1.0, 0.0));
  CHECK(!multiplies<double, float>(gemm, 3, 4, 5, matrix_layout::rows, matrix_layout::rows,
                                   matrix_layout::rows, 1.0, 0.0));
  CHECK(!multiplies<float>(ss::cublas{}, 3, 4, 5, matrix_layout::rows, matrix_layout::rows,
                           matrix_layout::rows, 1.0, 0.0));
  CHECK(handle.products.empty());
}

TEST_CASE("the caller's workspace serves every product on the handle's stream") {
  auto const stream = fake_pointer<cudaStream_t>(0), other_stream = fake_pointer<cudaStream_t>(1);
  auto* const workspace = fake_pointer<void*>(2);
  cublasContext handle;
  REQUIRE(cublasSetStream(&handle, stream) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetWorkspace(&handle, workspace, 1) == CUBLAS_STATUS_SUCCESS);
  for (int i = 0; i < 3; ++i) CHECK(multiply(handle, stream));
  REQUIRE(handle.products.size() == 3);
  for (auto const& product : handle.products) {
    CHECK(product.stream == stream);
    CHECK(product.workspace == workspace);
  }
  CHECK(multiply(handle, other_stream));
  CHECK(handle.products.back().stream == other_stream);
  CHECK(handle.products.back().workspace == nullptr);
}

TEST_CASE("the pointer mode of a handle is changed to host, and restored") {
  for (auto mode : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE}) {
    cublasContext handle;
    handle.pointer_mode = mode;
    CHECK(multiplies<float>(ss::cublas{&handle}, 3, 4, 5, matrix_layout::rows, matrix_layout::rows,
                            matrix_layout::rows, 0.5, 1.0));
    CHECK(handle.products.back().pointer_mode == CUBLAS_POINTER_MODE_HOST);
    CHECK(handle.pointer_mode == mode);
    handle.failing_function = "cublasGemmStridedBatchedEx";
    handle.failure = CUBLAS_STATUS_NOT_SUPPORTED;
    CHECK(!multiply(handle, nullptr));
    CHECK(handle.pointer_mode == mode);
    handle.failure = CUBLAS_STATUS_EXECUTION_FAILED;
    CHECK_THROWS_AS(multiply(handle, nullptr), ss::cuda_error);
    CHECK(handle.pointer_mode == mode);
  }
}

TEST_CASE("an error of cuBLAS names its function") {
  for (std::string const function : {"cublasGetStream", "cublasSetStream", "cublasGetPointerMode",
                                     "cublasSetPointerMode", "cublasGemmStridedBatchedEx"}) {
    cublasContext handle;
    handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
    handle.failing_function = function;
    handle.failure = CUBLAS_STATUS_EXECUTION_FAILED;
    std::string message;
    try {
      (void)multiply(handle, fake_pointer<cudaStream_t>(0));
    } catch (ss::cuda_error const& error) {
      CHECK(error.code == CUBLAS_STATUS_EXECUTION_FAILED);
      message = error.what();
    }
    CHECK(says(message, (function + ": the stand-in says no").c_str()));
  }
}
