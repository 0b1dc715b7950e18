// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the GPU, and the copy of its bytes. Compiled once per element type.
#include "../subjects.hpp"
#include "settings.hpp"
#include "sort_jobs.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/slicing_sort.hpp>

namespace bench {
namespace {

using sort = ss::slicing_sort<>;

template <class T>
class forward_job final : public device_sort_job<T> {
 public:
  explicit forward_job(fields const& f)
      : device_sort_job<T>(f, sort::workspace_bytes<T>(on_device(), f.extents)) {}
  void run() override {
    if (this->perm_on_device.present())
      sort().forward(on_device(), this->x_on_device.const_view(), this->y_on_device.view(),
                     {this->perm_on_device.view()}, lend(this->scratch));
    else
      sort().forward(on_device(), this->x_on_device.const_view(), this->y_on_device.view(),
                     ss::no_saved, lend(this->scratch));
  }
};

template <class T>
class backward_job final : public device_unsort_job<T> {
 public:
  explicit backward_job(fields const& f)
      : device_unsort_job<T>(f, sort::workspace_bytes<T>(on_device(), f.extents)) {}
  void run() override {
    sort().backward(on_device(), this->dy_on_device.const_view(), {this->perm_on_device.view()},
                    this->dx_on_device.view(), lend(this->scratch));
  }
};

// The floor: the same bytes, moved and nothing else.
template <class T>
class copy_job final : public job {
 public:
  explicit copy_job(fields const& f)
      : x_(get_dataset<T>(f.input, one_sample(f).extents)),
        y_(x_->values.size()),
        from_(f.extents, x_->values),
        to_(f.extents) {
    this->traffic_bytes = from_.bytes() + to_.bytes();
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

}  // namespace

template <class T>
void unsort_job<T>::sort_once() {
  device_tensor<T> const from(at.extents, x->values), to(at.extents);
  device_indices const rows(1, perm);
  device_buffer<unsigned char> const scratch(sort::workspace_bytes<T>(on_device(), at.extents));
  sort().forward(on_device(), from.const_view(), to.view(), {rows.view()}, lend(scratch));
  rows.fetch(perm);
}
template void unsort_job<SLICESORT_BENCH_DTYPE>::sort_once();

namespace {

template <class T>
void add_slicing_sort() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_device_setting<T>("slicing_sort", direction, add_case<forward_job<T>>);
  for_each_device_setting<T>("slicing_sort", "backward", add_case<backward_job<T>>);
  for (char const* direction : {"forward", "backward"})
    for_each_device_setting<T>("baseline_memcpy", direction, add_case<copy_job<T>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const here("slicing_sort",
                                             add_slicing_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
