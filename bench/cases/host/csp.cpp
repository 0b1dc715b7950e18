// SPDX-License-Identifier: Apache-2.0
// Registers csp and its baselines: std::sort of every group, and a scatter loop for backward.
// Compiled once per element type.
#include "cases/csp_baselines.hpp"
#include "cases/csp_jobs.hpp"

#include <slicesort/csp.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace bench {
namespace {

// Base of both baselines: shifts, groups, and the distribution of channels to threads.
template <class T>
class csp_baseline : public csp_base_job<T> {
 public:
  explicit csp_baseline(case_params const& params) : csp_base_job<T>(params) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(params.extents.channels); ++c)
      shifts_.push_back(expected_shift(params, c));
  }

 protected:
  // Calls f(columns, from, to, order, thread, first, last) for every sample and every thread's
  // channels [first, last). `order` is null if nothing is saved.
  template <class F>
  void for_each_channel_share(F const& f) const {
    ss::extents3 const shape = this->params_.extents;
    csp_columns const columns{static_cast<std::size_t>(shape.length),
                              static_cast<std::size_t>(shape.channels), this->rows_per_group,
                              shifts_.data(), csp_policy(this->params_.policy).is_aligned()};
    std::size_t const saved_rows =
        this->rows_per_group == 2 ? (columns.rows + 15) / 16 : columns.rows;
    this->order.visit([&](auto* data) {
      for_each_channel_range(
          this->params_, [&](unsigned thread, std::size_t b, std::size_t first, std::size_t last) {
            std::size_t const start = b * columns.rows * columns.channels;
            f(columns, this->from->values.data() + start, this->to.data() + start,
              data == nullptr ? nullptr : data + b * saved_rows * columns.channels, thread, first,
              last);
          });
    });
  }

 private:
  std::vector<std::size_t> shifts_;
};

template <class T>
class group_sort_job final : public csp_baseline<T> {
 public:
  explicit group_sort_job(case_params const& params) : csp_baseline<T>(params) {
    if (this->rows_per_group > 2)
      this->order.visit([&](auto* data) {
        using index_type = std::remove_pointer_t<decltype(data)>;
        bytes_per_thread_ =
            (group_sort_scratch_bytes<T, index_type>(this->rows_per_group) + 63) / 64 * 64;
      });
    this->allocate_scratch(bytes_per_thread_ * params.threads);
  }
  void run() override {
    this->for_each_channel_share([&](csp_columns const& columns, T const* source, T* target,
                                     auto* saved, unsigned thread, std::size_t first,
                                     std::size_t last) {
      if (columns.group == 1)
        naive_shift(source, target, columns, first, last);
      else if (columns.group == 2)
        naive_pairs(source, target, saved, columns, first, last);
      else
        std_sort_groups(source, target, saved, columns, first, last,
                        this->scratch.data() + thread * bytes_per_thread_);
    });
  }

 private:
  std::size_t bytes_per_thread_ = 0;
};

template <class T>
class group_scatter_job final : public csp_baseline<T> {
 public:
  explicit group_scatter_job(case_params const& params) : csp_baseline<T>(params) {
    this->save_order();
  }
  void run() override {
    this->for_each_channel_share([&](csp_columns const& columns, T const* source, T* target,
                                     auto const* saved, unsigned, std::size_t first,
                                     std::size_t last) {
      naive_scatter_groups(source, saved, target, columns, first, last);
    });
  }
};

template <class T>
void add_csp() {
  for (char const* direction : {"forward", "forward_values"}) {
    for_each_csp_setting<T>("baseline_std_sort", direction, add_case<group_sort_job<T>>);
    for_each_csp_setting<T>("csp", direction, add_case<csp_job<T, host_backend>>);
  }
  for_each_csp_setting<T>("baseline_naive_scatter", "backward", add_case<group_scatter_job<T>>);
  for_each_csp_setting<T>("csp", "backward", add_case<csp_job<T, host_backend>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration("csp",
                                                                add_csp<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
