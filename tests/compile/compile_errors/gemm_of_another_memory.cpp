// SPDX-License-Identifier: Apache-2.0
// A host policy with a user-defined Gemm that multiplies matrices in device memory.
// expect: slicesort: materialized<Gemm> needs a Gemm for the memory of its execution policy
#include <slicesort/slicesort.hpp>

struct device_gemm {
#ifdef VALID
  static constexpr bool host_memory = true;
#else
  static constexpr bool host_memory = false;
#endif
  bool multiply(CUstream_st*, slicesort::gemm_call const&) const { return false; }
};

void attend(slicesort::tensor4<float const> q, slicesort::tensor4<float> y,
            slicesort::workspace scratch) {
  using algorithm = slicesort::materialized<device_gemm>;
  slicesort::softmax_attention<slicesort::mask::full, algorithm>{}.forward(
      slicesort::exec::host{}, {q, q, q}, y, slicesort::no_saved, scratch);
}
