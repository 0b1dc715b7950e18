// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of max_exchange, shuffle and multi_permutation.
#pragma once

#include "sort_jobs.hpp"

#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/shuffle.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

// max_exchange with readout row 0.
template <class T, class Backend>
class max_exchange_job final : public move_job<T, Backend> {
 public:
  explicit max_exchange_job(case_params const& params)
      : move_job<T, Backend>(params),
        max_rows_(make_max_rows()),
        backend_max_rows_(params.extents.batch, max_rows_) {
    this->allocate_scratch(op_.workspace_bytes(this->exec(), this->source()));
    this->saved_bytes = backend_max_rows_.bytes();
    this->traffic_bytes += backend_max_rows_.bytes();
    if (!this->is_backward) return;
    typename Backend::template tensor<T> const backend_x(params.extents, this->x->values);
    op_.forward(this->exec(), backend_x.const_view(), this->target(), backend_max_rows_.view(),
                this->scratch);
    Backend::wait();
  }

  void run() override {
    if (this->is_backward)
      op_.backward(this->exec(), this->source(), backend_max_rows_.view(), this->target(),
                   this->scratch);
    else
      op_.forward(this->exec(), this->source(), this->target(), backend_max_rows_.saved(),
                  this->scratch);
  }

  double max_error() override {
    double error = move_job<T, Backend>::max_error();
    if (!backend_max_rows_.fetch(max_rows_)) return wrong_result;
    // Rows of the maxima are [batch, 1, channels], so a column's index is an offset.
    if (max_rows_.bytes() != 0)
      for (std::size_t const c : this->x->verified_columns)
        if (max_rows_[c] != find_max_row(c)) error = wrong_result;
    return error;
  }

  std::vector<std::uint32_t> source_rows(std::size_t column) const override {
    std::vector<std::uint32_t> rows(static_cast<std::size_t>(this->params_.extents.length));
    std::iota(rows.begin(), rows.end(), 0u);
    std::swap(rows[0], rows[find_max_row(column)]);
    return rows;
  }

 private:
  index_buffer make_max_rows() const {
    if (this->params_.direction == "forward_values") return {};
    ss::extents3 const shape = this->x->extents;
    return {{shape.batch, 1, shape.channels}, shape.length};
  }
  std::uint32_t find_max_row(std::size_t column) const {
    auto const channels = static_cast<std::size_t>(this->params_.extents.channels);
    T const* const values = this->x->values.data() + this->x->column_offset(column);
    auto const value = [&](std::size_t n) { return support::decode(values[n * channels]); };
    std::size_t row = 0;
    for (std::size_t n = 1; n < static_cast<std::size_t>(this->params_.extents.length); ++n)
      if (support::less(value(row), value(n))) row = n;
    return static_cast<std::uint32_t>(row);
  }

  ss::max_exchange const op_{0};
  index_buffer max_rows_;
  typename Backend::indices backend_max_rows_;
};

inline constexpr std::uint64_t shuffle_seed = 7;

template <class T, class Sharing, class Backend>
class shuffle_job final : public move_job<T, Backend> {
 public:
  explicit shuffle_job(case_params const& params) : move_job<T, Backend>(params) {
    this->allocate_scratch(op_.workspace_bytes(this->exec(), this->source()));
  }
  void run() override {
    if (this->is_backward)
      op_.backward(this->exec(), this->source(), this->target(), this->scratch);
    else
      op_.forward(this->exec(), this->source(), this->target(), this->scratch);
  }

  // A stable argsort of hashes.
  std::vector<std::uint32_t> source_rows(std::size_t column) const override {
    bool const is_shared = std::is_same_v<Sharing, ss::shared_by_channels>;
    std::uint64_t const channel =
        is_shared ? 0 : column % static_cast<std::uint64_t>(this->params_.extents.channels);
    std::vector<double> hashes(static_cast<std::size_t>(this->params_.extents.length));
    for (std::size_t n = 0; n < hashes.size(); ++n)
      hashes[n] = static_cast<double>(random_bits(random_bits(shuffle_seed, channel), n) >> 32);
    return support::argsort_by_stable_sort(hashes);
  }

 private:
  ss::shuffle<Sharing> const op_{shuffle_seed};
};

// multi_permutation with two components of weight 1/2. The tolerance is the largest rounding error
// of a mean of two values below 8 in T.
template <class T, class Backend>
class multi_permutation_job final : public sort_job<T, Backend> {
 public:
  explicit multi_permutation_job(case_params const& params) : sort_job<T, Backend>(params) {
    this->allocate_scratch(op_.workspace_bytes(this->exec(), this->backend_x.const_view()));
    this->tolerance = 16 * unit_roundoff<T>();
    this->flops = 2.0 * static_cast<double>(params.extents.size());
  }
  void run() override {
    op_.forward(this->exec(), this->backend_x.const_view(), ss::uniform_weights,
                this->backend_y.view(), this->backend_perm.saved(), this->scratch);
  }

 private:
  double measure_error() override {
    auto const& values = this->x->values;
    return max_column_error(
        *this->x, expected_order(*this->x, this->params_),
        [&](auto const& rows, std::size_t n, auto const& offset) {
          double const expected =
              (to_double(values[offset(rows[n])]) + to_double(values[offset(rows[rows[n]])])) / 2;
          double const error = std::abs(to_double(this->y[offset(n)]) - expected);
          return this->saves_permutation && this->perm[offset(n)] != rows[n] ? wrong_result : error;
        });
  }

  ss::multi_permutation<> const op_{2};
};

template <class T, class Backend>
class multi_permutation_backward_job final : public sort_backward_job<T, Backend> {
 public:
  explicit multi_permutation_backward_job(case_params const& params)
      : sort_backward_job<T, Backend>(params) {
    this->allocate_scratch(op_.workspace_bytes(this->exec(), this->backend_dy.const_view()));
    this->tolerance = 16 * unit_roundoff<T>();
    this->flops = 2.0 * static_cast<double>(params.extents.size());
  }
  void run() override {
    op_.backward(this->exec(), this->backend_dy.const_view(), ss::uniform_weights,
                 this->backend_perm.view(), this->backend_dx.view(), this->scratch);
  }

 private:
  double measure_error() override {
    auto const& order = expected_order(*this->x, this->params_);
    auto const& values = this->dy->values;
    // Row n of x moved to row inverse[n], and on to row inverse[inverse[n]].
    auto inverses = order;
    for (std::size_t k = 0; k < order.size(); ++k)
      for (std::size_t n = 0; n < order[k].size(); ++n)
        inverses[k][order[k][n]] = static_cast<std::uint32_t>(n);
    return max_column_error(
        *this->x, inverses, [&](auto const& rows, std::size_t n, auto const& offset) {
          double const expected =
              (to_double(values[offset(rows[n])]) + to_double(values[offset(rows[rows[n]])])) / 2;
          return std::abs(to_double(this->dx[offset(n)]) - expected);
        });
  }

  ss::multi_permutation<> const op_{2};
};

}  // namespace bench
