// SPDX-License-Identifier: Apache-2.0
// permute with the permutations of a sort, and a gather loop as its baseline; that of backward is
// baseline_naive_scatter. Compiled once per element type.
#include "baselines.hpp"
#include "cases/sort_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/permute.hpp>

#include <cstddef>

namespace bench {
namespace {

// Data of forward: dx[n] = dy[perm[n]].
template <class T>
class gather_job : public unsort_job<T> {
 public:
  using unsort_job<T>::unsort_job;

 private:
  double measure_error() override {
    return worst_column(*this->x, expected_order(*this->x, this->params_),
                        [&](auto const& p, std::size_t n, auto const& offset) {
                          return moved_value_error(this->dx[offset(n)],
                                                   this->dy->values[offset(p[n])]);
                        });
  }
};

// Applies the operator to the data of `Job`.
template <class T, class Job>
class permute_job final : public Job {
 public:
  explicit permute_job(case_params const& params) : Job(params) {
    this->allocate(ss::permute::workspace_bytes(params.exec(), this->backend_dy.const_view()));
  }

  void run() override {
    auto const from = this->backend_dy.const_view();
    auto const to = this->backend_dx.view();
    ss::permute const op;
    if (this->params_.direction == "forward")
      op.forward(this->exec(), from, this->backend_perm.view(), to, this->scratch);
    else
      op.backward(this->exec(), from, this->backend_perm.view(), to, this->scratch);
  }
};

template <class T>
class naive_gather_job final : public gather_job<T> {
 public:
  using gather_job<T>::gather_job;

  void run() override {
    move_naively<naive_move::gather>(this->params_, this->dy->values.data(), this->perm,
                                     this->dx.data());
  }
};

template <class T>
void add_permute() {
  for_each_plain_setting<T>("permute", "forward", add_case<permute_job<T, gather_job<T>>>);
  for_each_plain_setting<T>("permute", "backward", add_case<permute_job<T, unsort_job<T>>>);
  for_each_plain_setting<T>("baseline_naive_gather", "forward", add_case<naive_gather_job<T>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const registration("permute", add_permute<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
