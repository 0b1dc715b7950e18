// SPDX-License-Identifier: Apache-2.0
// The calls of slicing_sort, and of its forward for the jobs that need a permutation.
#pragma once

#include "sort_jobs.hpp"

#include <slicesort/slicing_sort.hpp>

namespace bench {

// Calls `f` with the operator of the case.
template <class Place, class F>
auto with_sort(fields const& at, F const& f) {
  return with_order<Place>(at.policy,
                           [&](auto order) { return f(ss::slicing_sort<decltype(order)>(order)); });
}

template <class T, class Place>
class slicing_sort_job final : public sort_job<T, Place> {
 public:
  explicit slicing_sort_job(fields const& f) : sort_job<T, Place>(f) {
    with_sort<Place>(f, [&](auto const& op) {
      this->allocate(op.workspace_bytes(this->exec(), this->placed_x.const_view()));
    });
  }
  void run() override {
    with_sort<Place>(this->at, [&](auto const& op) {
      op.forward(this->exec(), this->placed_x.const_view(), this->placed_y.view(),
                 this->placed_perm.saved(), this->scratch);
    });
  }
};

template <class T, class Place>
class slicing_unsort_job final : public unsort_job<T, Place> {
 public:
  explicit slicing_unsort_job(fields const& f) : unsort_job<T, Place>(f) {
    with_sort<Place>(f, [&](auto const& op) {
      this->allocate(op.workspace_bytes(this->exec(), this->placed_dy.const_view()));
    });
  }
  void run() override {
    with_sort<Place>(this->at, [&](auto const& op) {
      op.backward(this->exec(), this->placed_dy.const_view(), this->placed_perm.view(),
                  this->placed_dx.view(), this->scratch);
    });
  }
};

template <class T, class Place>
void unsort_job<T, Place>::sort_once() {
  fields sample = Place::held(this->at);
  sample.instructions = ss::isa::best;
  buffer<T> const y(x->values.size());
  typename Place::template tensor<T> const in(sample.extents, x->values), out(sample.extents, y);
  typename Place::indices const rows(sample.extents.batch, perm);
  with_sort<Place>(sample, [&](auto const& op) {
    auto const exec = Place::exec(sample);
    typename Place::template memory<unsigned char> const memory(
        op.workspace_bytes(exec, in.const_view()));
    op.forward(exec, in.const_view(), out.view(), rows.view(), memory);
  });
  rows.fetch(perm);
}

}  // namespace bench
