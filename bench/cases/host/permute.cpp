// SPDX-License-Identifier: Apache-2.0
// permute with the permutations of a sort, and the loop that anybody would write for it; for
// backward that is baseline_naive_scatter. Compiled once per element type.
#include "baselines.hpp"
#include "cases/sort_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/permute.hpp>

#include <cstddef>

namespace bench {
namespace {

// Forward moves rows the other way than backward: dx[n] = dy[perm[n]].
template <class T>
class gather_job : public unsort_job<T> {
 public:
  using unsort_job<T>::unsort_job;

  double max_error() override {
    return worst_column(*this->x, expected_order(*this->x, this->at),
                        [&](auto const& p, std::size_t n, auto const& cell) {
                          return moved_value_error(this->dx[cell(n)], this->dy->values[cell(p[n])]);
                        });
  }
};

// Moves the rows of `Job` by the operator.
template <class T, class Job>
class permute_job final : public Job {
 public:
  explicit permute_job(fields const& f)
      : Job(f), scratch_(ss::permute::workspace_bytes<T>(f.exec(), f.extents)) {
    this->workspace_bytes = scratch_.bytes();
  }

  void run() override {
    ss::extents3 const e = this->at.extents;
    auto const from = const_view(this->dy->values, e);
    auto const to = view(this->dx, e);
    ss::permute const op;
    if (this->at.direction == "forward")
      op.forward(this->at.exec(), from, {this->perm.view()}, to, lend(scratch_));
    else
      op.backward(this->at.exec(), from, {this->perm.view()}, to, lend(scratch_));
  }

 private:
  buffer<unsigned char> scratch_;
};

template <class T>
class naive_gather_job final : public gather_job<T> {
 public:
  using gather_job<T>::gather_job;

  void run() override {
    move_naively(this->at, this->dy->values.data(), this->perm, this->dx.data(),
                 [](auto... a) { naive_gather(a...); });
  }
};

template <class T>
void add_permute() {
  for_each_setting<T>("permute", "forward", [](fields const& at) {
    if (is_plain(at)) add_case<permute_job<T, gather_job<T>>>(at);
  });
  for_each_setting<T>("permute", "backward", [](fields const& at) {
    if (is_plain(at)) add_case<permute_job<T, unsort_job<T>>>(at);
  });
  for_each_setting<T>("baseline_naive_gather", "forward", [](fields const& at) {
    if (is_plain(at)) add_case<naive_gather_job<T>>(at);
  });
}
subject_of<SLICESORT_BENCH_DTYPE> const here("permute", add_permute<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
