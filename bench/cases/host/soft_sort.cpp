// SPDX-License-Identifier: Apache-2.0
// Registers soft_sort with l2 and strength 1/1024, where it equals the sort: every row is alone in
// its pool. Compiled once per element type.
#include "cases/sort_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/soft_sort.hpp>

namespace bench {
namespace {

template <class T>
class soft_sort_job final : public sort_job<T> {
 public:
  explicit soft_sort_job(case_params const& params)
      : sort_job<T>(params),
        pools_(this->saves_permutation ? index_buffer(this->x->extents, params.extents.length)
                                       : index_buffer()),
        backend_pools_(params.extents.batch, pools_) {
    this->allocate_scratch(op_.workspace_bytes(this->exec(), this->backend_x.const_view()));
    this->saved_bytes += backend_pools_.bytes();
    this->traffic_bytes += backend_pools_.bytes();
  }
  void run() override {
    if (this->saves_permutation)
      op_.forward(this->exec(), this->backend_x.const_view(), this->backend_y.view(),
                  {this->backend_perm.view(), backend_pools_.view()}, this->scratch);
    else
      op_.forward(this->exec(), this->backend_x.const_view(), this->backend_y.view(), ss::no_saved,
                  this->scratch);
  }

 private:
  ss::soft_sort<> const op_{0x1p-10};
  index_buffer pools_;
  host_backend::indices backend_pools_;
};

template <class T>
void add_soft_sort() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_default_setting<T>("soft_sort", direction, add_case<soft_sort_job<T>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "soft_sort", add_soft_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
