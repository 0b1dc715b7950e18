// SPDX-License-Identifier: Apache-2.0
// slicing_sort: forward, forward without saving, backward. Compiled once per element type.
#include "cases/sort_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/slicing_sort.hpp>

#include <memory>

namespace bench {
namespace {

template <class T, class Order>
void forward(Order order, ss::exec::host on, buffer<T> const& x, buffer<T> const& y,
             index_buffer const& perm, ss::extents3 e, ss::workspace scratch) {
  ss::slicing_sort<Order>(order).forward(on, const_view(x, e), view(y, e), perm.saved(), scratch);
}

template <class T>
std::size_t workspace_of(fields const& at) {
  return with_order(at.policy, [&](auto order) {
    return ss::slicing_sort<decltype(order)>::template workspace_bytes<T>(at.exec(), at.extents);
  });
}

template <class T>
class forward_job final : public sort_job<T> {
 public:
  explicit forward_job(fields const& f) : sort_job<T>(f), scratch_(workspace_of<T>(f)) {
    this->workspace_bytes = scratch_.bytes();
  }
  void run() override {
    with_order(this->at.policy, [&](auto order) {
      forward(order, this->at.exec(), this->x->values, this->y, this->perm, this->at.extents,
              lend(scratch_));
    });
  }

 private:
  buffer<unsigned char> scratch_;
};

template <class T>
class backward_job final : public unsort_job<T> {
 public:
  explicit backward_job(fields const& f) : unsort_job<T>(f), scratch_(workspace_of<T>(f)) {
    this->workspace_bytes = scratch_.bytes();
  }
  void run() override {
    with_order(this->at.policy, [&](auto order) {
      ss::extents3 const e = this->at.extents;
      ss::slicing_sort<decltype(order)> const op(order);
      op.backward(this->at.exec(), const_view(this->dy->values, e), {this->perm.view()},
                  view(this->dx, e), lend(scratch_));
    });
  }

 private:
  buffer<unsigned char> scratch_;
};

}  // namespace

template <class T>
void unsort_job<T>::sort_once() {
  buffer<T> const y(x->values.size());
  fields widest = at;
  widest.instructions = ss::isa::best;
  buffer<unsigned char> const scratch(workspace_of<T>(widest));
  with_order(at.policy, [&](auto order) {
    forward(order, widest.exec(), x->values, y, perm, at.extents, lend(scratch));
  });
}
template void unsort_job<SLICESORT_BENCH_DTYPE>::sort_once();

namespace {

// Adds the case, and a copy of it for each instruction set that can be forced.
template <class Job>
void add_with_instruction_sets(fields at) {
  add_case<Job>(at);
  if (!is_plain(at) || at.threads != 1) return;
  for (ss::isa const forced : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512}) {
    at.instructions = forced;
    add_case<Job>(at);
  }
}

template <class T>
void add_slicing_sort() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_setting<T>("slicing_sort", direction, add_with_instruction_sets<forward_job<T>>);
  for_each_setting<T>("slicing_sort", "backward", add_with_instruction_sets<backward_job<T>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const here("slicing_sort",
                                             add_slicing_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
