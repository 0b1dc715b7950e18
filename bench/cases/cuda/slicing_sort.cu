// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the GPU, and the copy of its bytes. Compiled once per element type.
#include "settings.hpp"
#include "sort_jobs.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/slicing_sort.hpp>

namespace bench {
namespace {

// The operator of the case: ascending or interleave.
template <class F>
auto with_sort(fields const& at, F const& f) {
  if (at.policy == "interleave") return f(ss::slicing_sort<ss::interleave>(ss::interleave{1, 3}));
  return f(ss::slicing_sort<>());
}
template <class T>
std::size_t workspace_of(fields const& at) {
  return with_sort(
      at, [&](auto const& op) { return op.template workspace_bytes<T>(on_device(), at.extents); });
}

template <class T>
class forward_job final : public device_sort_job<T> {
 public:
  explicit forward_job(fields const& f) : device_sort_job<T>(f, workspace_of<T>(f)) {}
  void run() override {
    auto const in = this->x_on_device.const_view();
    auto const out = this->y_on_device.view();
    with_sort(this->at, [&](auto const& op) {
      op.forward(on_device(), in, out, this->perm_on_device.saved(), lend(this->scratch));
    });
  }
};

template <class T>
class backward_job final : public device_unsort_job<T> {
 public:
  explicit backward_job(fields const& f) : device_unsort_job<T>(f, workspace_of<T>(f)) {}
  void run() override {
    with_sort(this->at, [&](auto const& op) {
      op.backward(on_device(), this->dy_on_device.const_view(), {this->perm_on_device.view()},
                  this->dx_on_device.view(), lend(this->scratch));
    });
  }
};

// The lower bound: a plain copy of the same bytes.
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
  device_buffer<unsigned char> const scratch(workspace_of<T>(at));
  with_sort(at, [&](auto const& op) {
    op.forward(on_device(), from.const_view(), to.view(), {rows.view()}, lend(scratch));
  });
  rows.fetch(perm);
}
template void unsort_job<SLICESORT_BENCH_DTYPE>::sort_once();

namespace {

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
  for (char const* direction : {"forward", "forward_values"})
    for_each_device_setting<T>("slicing_sort", direction, add_with_interleave<forward_job<T>>);
  for_each_device_setting<T>("slicing_sort", "backward", add_with_interleave<backward_job<T>>);
  for (char const* direction : {"forward", "backward"})
    for_each_device_setting<T>("baseline_memcpy", direction, add_case<copy_job<T>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const here("slicing_sort",
                                             add_slicing_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
