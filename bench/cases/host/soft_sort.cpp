// SPDX-License-Identifier: Apache-2.0
// Registers soft_sort with l2. Compiled once per element type.
#include "cases/sort_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/soft_sort.hpp>

namespace bench {
namespace {

// Neighbors in a sorted column that differ by more than 1/362 share a pool. Irrational, so that no
// difference of bfloat16 values equals the limit.
constexpr double strength = 256 * 1.4142135623730951;

// Rows [first, last) of a sorted column that share a pool.
struct row_pool {
  std::size_t first, last;
  double sum;  // of (row + 1) / strength - value
  double mean() const { return sum / static_cast<double>(last - first); }
};

// A sorted column: row n has row rows[n] of x and is in pool pools[n].
struct pooled_column {
  std::vector<std::uint32_t> rows;
  std::vector<row_pool> pools;
};

// Pools adjacent violators.
std::vector<row_pool> find_pools(std::vector<double> const& sorted) {
  std::vector<row_pool> found;
  for (std::size_t n = 0; n < sorted.size(); ++n) {
    row_pool last{n, n + 1, static_cast<double>(n + 1) / strength - sorted[n]};
    for (; !found.empty() && found.back().mean() >= last.mean(); found.pop_back())
      last = {found.back().first, last.last, found.back().sum + last.sum};
    found.push_back(last);
  }
  std::vector<row_pool> by_row;
  for (row_pool const& pool : found) by_row.insert(by_row.end(), pool.last - pool.first, pool);
  return by_row;
}

template <class T>
std::vector<pooled_column> find_columns(dataset<T>& data, case_params const& params) {
  std::vector<pooled_column> columns;
  for (auto const& rows : expected_order(data, params)) {
    auto const values = data.column(data.verified_columns[columns.size()]);
    std::vector<double> sorted;
    for (std::uint32_t const row : rows) sorted.push_back(values[row]);
    columns.push_back({rows, find_pools(sorted)});
  }
  return columns;
}

// One rounding of a result below 8 to T, and in double one per row of a pool's sum, whose terms are
// below 8 + length / strength.
template <class T>
double error_bound(case_params const& params) {
  double const length = static_cast<double>(params.extents.length);
  return 16 * unit_roundoff<T>() + 4 * length * (8 + length / strength) * unit_roundoff<double>();
}

template <class T>
class soft_sort_job final : public sort_job<T> {
 public:
  explicit soft_sort_job(case_params const& params)
      : sort_job<T>(params),
        pools_(this->saves_permutation ? index_buffer(this->x->extents, params.extents.length)
                                       : index_buffer()),
        backend_pools_(params.extents.batch, pools_) {
    this->allocate_scratch(op_.workspace_bytes(this->exec(), this->backend_x.const_view()));
    this->saved_bytes += backend_pools_.bytes();
    this->traffic_bytes += backend_pools_.bytes();
    this->tolerance = error_bound<T>(params);
  }
  void run() override {
    if (this->saves_permutation)
      op_.forward(this->exec(), this->backend_x.const_view(), this->backend_y.view(),
                  {this->backend_perm.view(), backend_pools_.view()}, this->scratch);
    else
      op_.forward(this->exec(), this->backend_x.const_view(), this->backend_y.view(), ss::no_saved,
                  this->scratch);
  }

 private:
  double measure_error() override {
    return max_column_error(
        *this->x, find_columns(*this->x, this->params_),
        [&](pooled_column const& column, std::size_t n, auto const& offset) {
          double const expected = static_cast<double>(n + 1) / strength - column.pools[n].mean();
          double const error = std::abs(to_double(this->y[offset(n)]) - expected);
          return this->saves_permutation && this->perm[offset(n)] != column.rows[n] ? wrong_result
                                                                                    : error;
        });
  }

  ss::soft_sort<> const op_{strength};
  index_buffer pools_;
  host_backend::indices backend_pools_;
};

template <class T>
class soft_sort_backward_job final : public sort_backward_job<T> {
 public:
  explicit soft_sort_backward_job(case_params const& params)
      : sort_backward_job<T>(params),
        pools_(this->x->extents, params.extents.length),
        backend_pools_(params.extents.batch, pools_) {
    host_backend::tensor<T> const x(params.extents, this->x->values);
    this->allocate_scratch(op_.workspace_bytes(this->exec(), x.const_view()));
    this->saved_bytes += backend_pools_.bytes();
    this->traffic_bytes += backend_pools_.bytes();
    this->tolerance = error_bound<T>(params);
    op_.forward(this->exec(), x.const_view(), this->backend_dx.view(), state(), this->scratch);
  }
  void run() override {
    op_.backward(this->exec(), this->backend_dy.const_view(), ss::tensor3<T const>(), state(),
                 this->backend_dx.view(), this->scratch);
  }

 private:
  double measure_error() override {
    auto const& values = this->dy->values;
    double mean = 0.0;  // of a pool, set at its first row
    return max_column_error(*this->x, find_columns(*this->x, this->params_),
                            [&](pooled_column const& column, std::size_t n, auto const& offset) {
                              row_pool const& pool = column.pools[n];
                              if (n == pool.first) {
                                mean = 0.0;
                                for (std::size_t k = pool.first; k < pool.last; ++k)
                                  mean += to_double(values[offset(k)]);
                                mean /= static_cast<double>(pool.last - pool.first);
                              }
                              return std::abs(to_double(this->dx[offset(column.rows[n])]) - mean);
                            });
  }
  ss::saved_pools state() const { return {this->backend_perm.view(), backend_pools_.view()}; }

  ss::soft_sort<> const op_{strength};
  index_buffer pools_;
  host_backend::indices backend_pools_;
};

template <class T>
void add_soft_sort() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_default_setting<T>("soft_sort", direction, add_case<soft_sort_job<T>>);
  for_each_default_setting<T>("soft_sort", "backward", add_case<soft_sort_backward_job<T>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "soft_sort", add_soft_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
