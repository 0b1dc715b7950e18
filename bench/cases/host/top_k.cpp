// SPDX-License-Identifier: Apache-2.0
// Registers top_k on the host: the smallest sixteenth of every column. Compiled once per element
// type.
#include "baselines.hpp"
#include "cases/sort_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/top_k.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {
namespace {

template <class T>
class top_k_job final : public backend_job<host_backend> {
 public:
  explicit top_k_job(case_params const& params)
      : backend_job<host_backend>(params),
        op_(std::max<ss::index_t>(params.extents.length / 16, 1)),
        selected_{params.extents.batch, op_.k(), params.extents.channels},
        x_(get_dataset<T>(params.input, params.extents)),
        values_(static_cast<std::size_t>(selected_.size())),
        rows_(values_.size()),
        dx_(params.direction == "backward" ? x_->values.size() : 0) {
    allocate_scratch(op_.template workspace_bytes<T>(exec(), params.extents));
    select();
    std::size_t const selected_bytes = values_.size() * (sizeof(T) + sizeof(std::uint32_t));
    saved_bytes = rows_.size() * sizeof(std::uint32_t);
    traffic_bytes = x_->values.size() * sizeof(T) + selected_bytes;
  }

  void run() override {
    if (!is_backward())
      select();
    else
      op_.backward(exec(), ss::tensor3<T const>(values_.data(), selected_), rows(),
                   ss::tensor3<T>(dx_.data(), params_.extents));
  }

  double max_error() override {
    auto const& expected = expected_order(*x_, params_);
    auto const channels = static_cast<std::size_t>(params_.extents.channels),
               k = static_cast<std::size_t>(op_.k());
    double error = 0.0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::size_t const column = x_->verified_columns[i], channel = column % channels,
                        first = column / channels * channels * k + channel,
                        start = x_->column_offset(column);
      for (std::size_t n = 0; n < k; ++n) {
        if (rows_[first + n * channels] != expected[i][n]) return wrong_result;
        std::size_t const source = start + expected[i][n] * channels;
        T const value = values_[first + n * channels];
        error = larger_error(error, moved_value_error(value, x_->values[source]));
        if (is_backward()) error = larger_error(error, moved_value_error(dx_[source], value));
      }
      if (!is_backward()) continue;
      for (std::size_t n = k; n < expected[i].size(); ++n) {  // rows that are not selected
        T const gradient = dx_[start + expected[i][n] * channels];
        error = larger_error(error, moved_value_error(gradient, from_double<T>(0.0)));
      }
    }
    return error;
  }

 private:
  bool is_backward() const { return dx_.size() != 0; }
  ss::tensor3<std::uint32_t> rows() { return {rows_.data(), selected_}; }
  void select() {
    op_.forward(exec(), ss::tensor3<T const>(x_->values.data(), params_.extents),
                ss::tensor3<T>(values_.data(), selected_), rows(), scratch);
  }

  ss::top_k<ss::ascending> op_;
  ss::extents3 selected_;
  std::shared_ptr<dataset<T>> x_;
  std::vector<T> values_;
  std::vector<std::uint32_t> rows_;
  buffer<T> dx_;  // NaN before the first call
};

// std::nth_element and std::sort of the keys of every column, without rows. Writes the values. Each
// thread has a range of the columns.
template <class T>
class nth_element_job final : public backend_job<host_backend> {
 public:
  explicit nth_element_job(case_params const& params)
      : backend_job<host_backend>(params),
        x_(get_dataset<T>(params.input, params.extents)),
        length_(static_cast<std::size_t>(params.extents.length)),
        k_(std::max<std::size_t>(length_ / 16, 1)),
        keys_(length_ * params.threads),
        values_(x_->values.size() / length_ * k_) {
    traffic_bytes = (x_->values.size() + values_.size()) * sizeof(T);
  }

  void run() override {
    auto const channels = static_cast<std::size_t>(params_.extents.channels);
    for_each_channel_range(
        params_, [&](unsigned thread, std::size_t sample, std::size_t first, std::size_t last) {
          for (std::size_t c = first; c < last; ++c)
            select_column(sample * channels + c, keys_.data() + thread * length_);
        });
  }

  double max_error() override {
    auto const& expected = expected_order(*x_, params_);
    auto const channels = static_cast<std::size_t>(params_.extents.channels);
    double error = 0.0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::size_t const column = x_->verified_columns[i];
      for (std::size_t n = 0; n < k_; ++n)
        error = larger_error(
            error,
            moved_value_error(values_[first_of(column) + n * channels],
                              x_->values[x_->column_offset(column) + expected[i][n] * channels]));
    }
    return error;
  }

 private:
  // `keys` has the memory of one thread.
  void select_column(std::size_t column, ss::detail::bits_t<T>* keys) {
    auto const channels = static_cast<std::size_t>(params_.extents.channels);
    T const* const x = x_->values.data() + x_->column_offset(column);
    for (std::size_t n = 0; n < length_; ++n)
      keys[n] = ss::detail::ordered_key(x[n * channels], true);
    std::nth_element(keys, keys + k_ - 1, keys + length_);
    std::sort(keys, keys + k_);
    for (std::size_t n = 0; n < k_; ++n)
      values_[first_of(column) + n * channels] =
          ss::detail::bit_cast<T>(ss::detail::unsortable_bits(keys[n]));
  }
  std::size_t first_of(std::size_t column) const {
    auto const channels = static_cast<std::size_t>(params_.extents.channels);
    return column / channels * channels * k_ + column % channels;
  }

  std::shared_ptr<dataset<T>> x_;
  std::size_t length_, k_;
  std::vector<ss::detail::bits_t<T>> keys_;  // [threads, length]
  std::vector<T> values_;
};

template <class T>
void add_top_k() {
  for (char const* direction : {"forward", "backward"})
    for_each_default_setting<T>("top_k", direction, add_case<top_k_job<T>>);
  for_each_default_setting<T>("baseline_nth_element", "forward", add_case<nth_element_job<T>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration("top_k",
                                                                add_top_k<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
