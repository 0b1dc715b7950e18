// SPDX-License-Identifier: Apache-2.0
// Cases of slicing_sort.
#pragma once

#include "sort_jobs.hpp"

#include <slicesort/slicing_sort.hpp>

namespace bench {

// Calls `f` with the operator of the case.
template <class Backend, class F>
auto with_sort(case_params const& params, F const& f) {
  return with_order<Backend>(
      params.policy, [&](auto order) { return f(ss::slicing_sort<decltype(order)>(order)); });
}

template <class T, class Backend>
class slicing_sort_job final : public sort_job<T, Backend> {
 public:
  explicit slicing_sort_job(case_params const& params) : sort_job<T, Backend>(params) {
    with_sort<Backend>(params, [&](auto const& op) {
      this->allocate(op.workspace_bytes(this->exec(), this->backend_x.const_view()));
    });
  }
  void run() override {
    with_sort<Backend>(this->params_, [&](auto const& op) {
      op.forward(this->exec(), this->backend_x.const_view(), this->backend_y.view(),
                 this->backend_perm.saved(), this->scratch);
    });
  }
};

template <class T, class Backend>
class slicing_unsort_job final : public unsort_job<T, Backend> {
 public:
  explicit slicing_unsort_job(case_params const& params) : unsort_job<T, Backend>(params) {
    with_sort<Backend>(params, [&](auto const& op) {
      this->allocate(op.workspace_bytes(this->exec(), this->backend_dy.const_view()));
    });
  }
  void run() override {
    with_sort<Backend>(this->params_, [&](auto const& op) {
      op.backward(this->exec(), this->backend_dy.const_view(), this->backend_perm.view(),
                  this->backend_dx.view(), this->scratch);
    });
  }
};

template <class T, class Backend>
void unsort_job<T, Backend>::save_permutation() {
  case_params forward = Backend::host_params(this->params_);
  forward.instructions = ss::isa::best;
  buffer<T> const y(x->values.size());
  typename Backend::template tensor<T> const backend_x(forward.extents, x->values),
      backend_y(forward.extents, y);
  typename Backend::indices const rows(forward.extents.batch, perm);
  with_sort<Backend>(forward, [&](auto const& op) {
    auto const exec = Backend::exec(forward);
    typename Backend::template memory<unsigned char> const memory(
        op.workspace_bytes(exec, backend_x.const_view()));
    op.forward(exec, backend_x.const_view(), backend_y.view(), rows.view(), memory);
  });
  rows.fetch(perm);
}

}  // namespace bench
