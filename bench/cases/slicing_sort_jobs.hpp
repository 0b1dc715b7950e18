// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of slicing_sort, forward and backward.
#pragma once

#include "sort_jobs.hpp"

#include <slicesort/slicing_sort.hpp>

namespace bench {

// Calls `f` with the operator of the case.
template <class Backend, class F>
auto with_slicing_sort(case_params const& params, F const& f) {
  return with_order<Backend>(
      params.policy, [&](auto order) { return f(ss::slicing_sort<decltype(order)>(order)); });
}

template <class T, class Backend>
class slicing_sort_job final : public sort_job<T, Backend> {
 public:
  explicit slicing_sort_job(case_params const& params) : sort_job<T, Backend>(params) {
    with_slicing_sort<Backend>(params, [&](auto const& op) {
      this->allocate_scratch(op.workspace_bytes(this->exec(), this->backend_x.const_view()));
    });
  }
  void run() override {
    with_slicing_sort<Backend>(this->params_, [&](auto const& op) {
      op.forward(this->exec(), this->backend_x.const_view(), this->backend_y.view(),
                 this->backend_perm.saved(), this->scratch);
    });
  }
};

template <class T, class Backend>
class slicing_sort_backward_job final : public sort_backward_job<T, Backend> {
 public:
  explicit slicing_sort_backward_job(case_params const& params)
      : sort_backward_job<T, Backend>(params) {
    with_slicing_sort<Backend>(params, [&](auto const& op) {
      this->allocate_scratch(op.workspace_bytes(this->exec(), this->backend_dy.const_view()));
    });
  }
  void run() override {
    with_slicing_sort<Backend>(this->params_, [&](auto const& op) {
      op.backward(this->exec(), this->backend_dy.const_view(), this->backend_perm.view(),
                  this->backend_dx.view(), this->scratch);
    });
  }
};

template <class T, class Backend>
void sort_backward_job<T, Backend>::save_permutation() {
  case_params forward_params = Backend::host_params(this->params_);
  forward_params.isa = ss::isa::best;
  buffer<T> const y(x->values.size());
  typename Backend::template tensor<T> const backend_x(forward_params.extents, x->values),
      backend_y(forward_params.extents, y);
  typename Backend::indices const sample_perm(forward_params.extents.batch, perm);
  with_slicing_sort<Backend>(forward_params, [&](auto const& op) {
    auto const exec = Backend::exec(forward_params);
    typename Backend::template memory<unsigned char> const workspace(
        op.workspace_bytes(exec, backend_x.const_view()));
    op.forward(exec, backend_x.const_view(), backend_y.view(), sample_perm.view(), workspace);
  });
  sample_perm.fetch(perm);
}

}  // namespace bench
