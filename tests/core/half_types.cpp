// SPDX-License-Identifier: Apache-2.0
// The 16-bit types of compilers and of CUDA give the same bits as float16 and bfloat16.
#include "core/half_types.hpp"

#include <doctest/doctest.h>

#if defined(__STDCPP_FLOAT16_T__)
TEST_CASE("std::float16_t") {
  CHECK(support::differing_results<std::float16_t, slicesort::float16>() == "");
}
#elif SLICESORT_HAS_FLOAT16
TEST_CASE("_Float16") { CHECK(support::differing_results<_Float16, slicesort::float16>() == ""); }
#endif
#if defined(__STDCPP_BFLOAT16_T__)
TEST_CASE("std::bfloat16_t") {
  CHECK(support::differing_results<std::bfloat16_t, slicesort::bfloat16>() == "");
}
#endif

// half_types.hpp works with declarations of CUDA's types.
static_assert(slicesort::dtype_traits<__half>::infinity == 0x7c00u);
static_assert(slicesort::dtype_traits<__nv_bfloat16>::infinity == 0x7f80u);
