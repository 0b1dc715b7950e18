// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the GPU, and the copy of its bytes. Compiled once per element type.
#include "cases/slicing_sort_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>

#include <cstring>
#include <memory>

namespace bench {

template void unsort_job<SLICESORT_BENCH_DTYPE, device_place>::sort_once();

namespace {

// The lower bound: a plain copy of the same bytes.
template <class T>
class copy_job final : public job {
 public:
  explicit copy_job(fields const& f)
      : x_(get_dataset<T>(f.input, device_place::held(f).extents)),
        y_(x_->values.size()),
        from_(f.extents, x_->values),
        to_(f.extents, y_) {
    traffic_bytes = from_.bytes() + to_.bytes();
  }
  void run() override {
    enforce(cudaMemcpyAsync(to_.view().data(), from_.view().data(), from_.bytes(),
                            cudaMemcpyDeviceToDevice, stream()),
            "cudaMemcpy");
  }
  double max_error() override {
    bool const same = to_.fetch(y_) && std::memcmp(y_.data(), x_->values.data(), y_.bytes()) == 0;
    return same ? 0.0 : wrong;
  }

 private:
  std::shared_ptr<dataset<T>> x_;
  buffer<T> y_;
  device_tensor<T> from_, to_;
};

// Text also runs with the papers' other order.
template <class Job>
void add_with_interleave(fields at) {
  add_case<Job>(at);
  if (at.input != "text") return;
  at.policy = "interleave";
  add_case<Job>(at);
}

template <class T>
void add_slicing_sort() {
  using forward = slicing_sort_job<T, device_place>;
  for (char const* direction : {"forward", "forward_values"})
    for_each_device_setting<T>("slicing_sort", direction, add_with_interleave<forward>);
  for_each_device_setting<T>("slicing_sort", "backward",
                             add_with_interleave<slicing_unsort_job<T, device_place>>);
  for (char const* direction : {"forward", "backward"})
    for_each_device_setting<T>("baseline_memcpy", direction, add_case<copy_job<T>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const here("slicing_sort",
                                             add_slicing_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
