// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of permute, with the permutations of a sort. The baseline is a gather loop;
// backward is compared with baseline_naive_scatter. Compiled once per element type.
#include "baselines.hpp"
#include "cases/sort_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/permute.hpp>

#include <cstddef>

namespace bench {
namespace {

// Data and verification of forward: dx[n] = dy[perm[n]].
template <class T>
class gather_job : public sort_backward_job<T> {
 public:
  using sort_backward_job<T>::sort_backward_job;

 private:
  double measure_error() override {
    return max_column_error(*this->x, expected_order(*this->x, this->params_),
                            [&](auto const& rows, std::size_t n, auto const& offset) {
                              return moved_value_error(this->dx[offset(n)],
                                                       this->dy->values[offset(rows[n])]);
                            });
  }
};

// Applies the operator to the data of `Job`.
template <class T, class Job>
class permute_job final : public Job {
 public:
  explicit permute_job(case_params const& params) : Job(params) {
    this->allocate_scratch(
        ss::permute::workspace_bytes(params.exec(), this->backend_dy.const_view()));
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
    permute_naively<naive_permutation::gather>(this->params_, this->dy->values.data(), this->perm,
                                               this->dx.data());
  }
};

template <class T>
void add_permute() {
  for_each_default_setting<T>("permute", "forward", add_case<permute_job<T, gather_job<T>>>);
  for_each_default_setting<T>("permute", "backward",
                              add_case<permute_job<T, sort_backward_job<T>>>);
  for_each_default_setting<T>("baseline_naive_gather", "forward", add_case<naive_gather_job<T>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration("permute",
                                                                add_permute<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
