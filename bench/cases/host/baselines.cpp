// SPDX-License-Identifier: Apache-2.0
// Registers the baselines std::sort, a scatter loop and memcpy. Compiled once per element type.
#include "baselines.hpp"

#include "cases/csp_settings.hpp"
#include "cases/sort_jobs.hpp"
#include "driver/settings.hpp"

#include <cstring>
#include <memory>

namespace bench {
namespace {

template <class T>
class std_sort_job final : public sort_job<T> {
 public:
  explicit std_sort_job(case_params const& params) : sort_job<T>(params) {
    with_index([&](auto index) {
      bytes_per_thread_ = std_sort_scratch_bytes<T, decltype(index)>(rows()) + 64;
    });
    bytes_per_thread_ = bytes_per_thread_ / 64 * 64;
    this->allocate_scratch(bytes_per_thread_ * params.threads);
  }
  void run() override {
    with_index([&](auto index) {
      using index_type = decltype(index);
      auto const channels = static_cast<std::size_t>(this->params_.extents.channels);
      for_each_channel_range(
          this->params_, [&](unsigned thread, std::size_t b, std::size_t first, std::size_t last) {
            std::size_t const start = b * rows() * channels;
            index_type* saved = nullptr;
            if (this->saves_permutation)
              saved = static_cast<index_type*>(this->perm.view().data()) + start;
            std_sort_columns(
                this->x->values.data() + start, this->y.data() + start, saved, rows(), channels,
                first, last,
                [&](std::size_t c) { return ascends(this->params_, static_cast<ss::index_t>(c)); },
                this->scratch.data() + thread * bytes_per_thread_);
          });
    });
  }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(this->params_.extents.length); }
  template <class F>
  void with_index(F const& f) const {
    if (rows() <= 65536)
      f(std::uint16_t{});
    else
      f(std::uint32_t{});
  }

  std::size_t bytes_per_thread_ = 0;
};

template <class T>
class naive_scatter_job final : public sort_backward_job<T> {
 public:
  using sort_backward_job<T>::sort_backward_job;
  void run() override {
    permute_naively<naive_permutation::scatter>(this->params_, this->dy->values.data(), this->perm,
                                                this->dx.data());
  }
};

// Lower bound of every operator: a copy of the same bytes.
template <class T>
class memcpy_job final : public job {
 public:
  explicit memcpy_job(case_params const& params)
      : params_(params), x_(get_dataset<T>(params.input, params.extents)), y_(x_->values.size()) {
    this->traffic_bytes = x_->values.bytes() + y_.bytes();
  }
  void run() override {
    params_.exec().parallel_for(params_.threads, [&](unsigned thread) {
      std::size_t const size = y_.size(), first = size * thread / params_.threads,
                        last = size * (thread + 1) / params_.threads;
      std::memcpy(static_cast<void*>(y_.data() + first), x_->values.data() + first,
                  (last - first) * sizeof(T));
    });
  }
  double max_error() override {
    return std::memcmp(y_.data(), x_->values.data(), y_.bytes()) == 0 ? 0.0 : wrong_result;
  }

 private:
  case_params const params_;
  std::shared_ptr<dataset<T>> x_;
  buffer<T> y_;
};

template <class T>
void add_baselines() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_setting<T>("baseline_std_sort", direction, add_case<std_sort_job<T>>);
  for_each_setting<T>("baseline_naive_scatter", "backward", add_case<naive_scatter_job<T>>);
  for (char const* direction : {"forward", "forward_values", "backward"}) {
    for_each_setting<T>("baseline_memcpy", direction, add_case<memcpy_job<T>>);
    for_each_csp_setting<T>("baseline_memcpy", direction, add_case<memcpy_job<T>>);
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "baselines", add_baselines<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
