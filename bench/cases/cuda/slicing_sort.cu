// SPDX-License-Identifier: Apache-2.0
// Registers slicing_sort on the GPU and its baseline, a copy of its bytes. Compiled once per
// element type.
#include "cases/slicing_sort_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>

#include <cstring>
#include <memory>

namespace bench {

template void sort_backward_job<SLICESORT_BENCH_DTYPE, cuda_backend>::save_permutation();

namespace {

// Lower bound of every operator: a copy of the same bytes.
template <class T>
class copy_job final : public job {
 public:
  explicit copy_job(case_params const& params)
      : x_(get_dataset<T>(params.input, cuda_backend::host_params(params).extents)),
        y_(x_->values.size()),
        from_(params.extents, x_->values),
        to_(params.extents, y_) {
    traffic_bytes = from_.bytes() + to_.bytes();
  }
  void run() override {
    enforce(cudaMemcpyAsync(to_.view().data(), from_.view().data(), from_.bytes(),
                            cudaMemcpyDeviceToDevice, stream()),
            "cudaMemcpy");
  }
  double max_error() override {
    bool const same = to_.fetch(y_) && std::memcmp(y_.data(), x_->values.data(), y_.bytes()) == 0;
    return same ? 0.0 : wrong_result;
  }

 private:
  std::shared_ptr<dataset<T>> x_;
  buffer<T> y_;
  device_tensor<T> from_, to_;
};

// Adds the case, and for text also with order interleave, which the papers use.
template <class Job>
void add_with_interleave(case_params params) {
  add_case<Job>(params);
  if (params.input != "text") return;
  params.policy = "interleave";
  add_case<Job>(params);
}

template <class T>
void add_slicing_sort() {
  using forward_job = slicing_sort_job<T, cuda_backend>;
  for (char const* direction : {"forward", "forward_values"})
    for_each_device_setting<T>("slicing_sort", direction, add_with_interleave<forward_job>);
  for_each_device_setting<T>("slicing_sort", "backward",
                             add_with_interleave<slicing_sort_backward_job<T, cuda_backend>>);
  for (char const* direction : {"forward", "backward"})
    for_each_device_setting<T>("baseline_memcpy", direction, add_case<copy_job<T>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "slicing_sort", add_slicing_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
