// SPDX-License-Identifier: Apache-2.0
// The variants of slicing-sort on the GPU. Compiled once per element type.
#include "cases/variant_jobs.hpp"
#include "move_jobs.hpp"
#include "settings.hpp"
#include "sort_jobs.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/shuffle.hpp>

namespace bench {
namespace {

template <class T>
class exchange_job final : public device_move_job<T, exchange_of_maximum<T>> {
 public:
  explicit exchange_job(fields const& f)
      : device_move_job<T, exchange_of_maximum<T>>(f,
                                                   op_.workspace_bytes<T>(on_device(), f.extents)),
        maximum_on_device_(f.extents.batch, saved(f)) {
    this->saved_bytes = maximum_on_device_.bytes();
    this->traffic_bytes += maximum_on_device_.bytes();
    if (!this->backward) return;
    device_tensor<T> const x(f.extents, this->x->values), y(f.extents);
    op_.forward(on_device(), x.const_view(), y.view(), {maximum_on_device_.view()},
                lend(this->scratch));
    enforce(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  }
  void run() override {
    auto const in = this->from_on_device.const_view();
    auto const out = this->to_on_device.view();
    if (this->backward)
      op_.backward(on_device(), in, {maximum_on_device_.view()}, out, lend(this->scratch));
    else
      op_.forward(on_device(), in, out, maximum_on_device_.saved(), lend(this->scratch));
  }
  double max_error() override {
    if (!maximum_on_device_.fetch(this->maximum)) return wrong;
    return device_move_job<T, exchange_of_maximum<T>>::max_error();
  }

 private:
  index_buffer const& saved(fields const& f) {
    if (f.direction != "forward_values") this->maximum = this->new_maximum();
    return this->maximum;
  }
  static constexpr ss::max_exchange op_{0};
  device_indices maximum_on_device_;
};

template <class T, class Form>
class shuffle_job final : public device_move_job<T, shuffle_of_rows<T, Form>> {
 public:
  explicit shuffle_job(fields const& f)
      : device_move_job<T, shuffle_of_rows<T, Form>>(
            f, op_.template workspace_bytes<T>(on_device(), f.extents)) {}
  void run() override {
    auto const in = this->from_on_device.const_view();
    auto const out = this->to_on_device.view();
    if (this->backward)
      op_.backward(on_device(), in, out, lend(this->scratch));
    else
      op_.forward(on_device(), in, out, lend(this->scratch));
  }

 private:
  static constexpr ss::shuffle<Form> op_{shuffle_seed};
};

ss::multi_permutation<> two_terms() { return ss::multi_permutation<>(2); }

template <class T>
class powers_job final : public device_sort_job<T> {
 public:
  explicit powers_job(fields const& f)
      : device_sort_job<T>(f, two_terms().workspace_bytes<T>(on_device(), f.extents)) {
    this->tolerance = rounding_of_means<T>();
    this->flops = 2.0 * static_cast<double>(f.extents.size());
  }
  void run() override {
    two_terms().forward(on_device(), this->x_on_device.const_view(), ss::uniform_weights,
                        this->y_on_device.view(), this->perm_on_device.saved(),
                        lend(this->scratch));
  }

 private:
  double first_sample_error() override {
    return mean_of_powers_error(*this->x, this->at, this->y, this->saving ? &this->perm : nullptr);
  }
};

template <class T>
class inverse_powers_job final : public device_unsort_job<T> {
 public:
  explicit inverse_powers_job(fields const& f)
      : device_unsort_job<T>(f, two_terms().workspace_bytes<T>(on_device(), f.extents)) {
    this->tolerance = rounding_of_means<T>();
    this->flops = 2.0 * static_cast<double>(f.extents.size());
  }
  void run() override {
    two_terms().backward(on_device(), this->dy_on_device.const_view(), ss::uniform_weights,
                         {this->perm_on_device.view()}, this->dx_on_device.view(),
                         lend(this->scratch));
  }

 private:
  double first_sample_error() override {
    return mean_of_inverse_powers_error(*this->x, this->at, this->dy->values, this->dx);
  }
};

template <class T>
void add_multi_permutation() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_device_setting<T>("multi_permutation", direction, add_case<powers_job<T>>);
  for_each_device_setting<T>("multi_permutation", "backward", add_case<inverse_powers_job<T>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const here_multi_permutation(
    "multi_permutation", add_multi_permutation<SLICESORT_BENCH_DTYPE>);

template <class T>
void add_max_exchange() {
  for (char const* direction : {"forward", "forward_values", "backward"})
    for_each_device_setting<T>("max_exchange", direction, add_case<exchange_job<T>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const here_max_exchange("max_exchange",
                                                          add_max_exchange<SLICESORT_BENCH_DTYPE>);

template <class T>
void add_shuffle() {
  using ss::per_channel, ss::shared_by_channels;
  for (char const* direction : {"forward", "backward"}) {
    for_each_device_setting<T>("shuffle", direction, add_case<shuffle_job<T, shared_by_channels>>);
    for_each_device_setting<T>("shuffle_per_channel", direction,
                               add_case<shuffle_job<T, per_channel>>);
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const here_shuffle("shuffle", add_shuffle<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
