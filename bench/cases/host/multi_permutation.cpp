// SPDX-License-Identifier: Apache-2.0
// multi_permutation with two terms of weight 1/2. Compiled once per element type.
#include "cases/variant_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/multi_permutation.hpp>

namespace bench {
namespace {

template <class T>
class forward_job final : public sort_job<T> {
 public:
  explicit forward_job(fields const& f)
      : sort_job<T>(f), scratch_(op_.template workspace_bytes<T>(f.exec(), f.extents)) {
    this->workspace_bytes = scratch_.bytes();
    this->tolerance = rounding_of_means<T>();
    this->flops = 2.0 * static_cast<double>(f.extents.size());
  }
  void run() override {
    ss::extents3 const e = this->at.extents;
    op_.forward(this->at.exec(), const_view(this->x->values, e), ss::uniform_weights,
                view(this->y, e), this->perm.saved(), lend(scratch_));
  }
  double max_error() override {
    return mean_of_powers_error(*this->x, this->at, this->y, this->saving ? &this->perm : nullptr);
  }

 private:
  ss::multi_permutation<> const op_{2};
  buffer<unsigned char> scratch_;
};

template <class T>
class backward_job final : public unsort_job<T> {
 public:
  explicit backward_job(fields const& f)
      : unsort_job<T>(f), scratch_(op_.template workspace_bytes<T>(f.exec(), f.extents)) {
    this->workspace_bytes = scratch_.bytes();
    this->tolerance = rounding_of_means<T>();
    this->flops = 2.0 * static_cast<double>(f.extents.size());
  }
  void run() override {
    ss::extents3 const e = this->at.extents;
    op_.backward(this->at.exec(), const_view(this->dy->values, e), ss::uniform_weights,
                 {this->perm.view()}, view(this->dx, e), lend(scratch_));
  }
  double max_error() override {
    return mean_of_inverse_powers_error(*this->x, this->at, this->dy->values, this->dx);
  }

 private:
  ss::multi_permutation<> const op_{2};
  buffer<unsigned char> scratch_;
};

template <class T>
void add_multi_permutation() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_setting<T>("multi_permutation", direction, [](fields const& at) {
      if (is_plain(at)) add_case<forward_job<T>>(at);
    });
  for_each_setting<T>("multi_permutation", "backward", [](fields const& at) {
    if (is_plain(at)) add_case<backward_job<T>>(at);
  });
}
subject_of<SLICESORT_BENCH_DTYPE> const here("multi_permutation",
                                             add_multi_permutation<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
