// SPDX-License-Identifier: Apache-2.0
// Cases of decaying_sum: one real state, and 16 in both directions, as in MEGA. Compiled once per
// element type.
#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/settings.hpp"
#include "driver/tensors.hpp"

#include <slicesort/decaying_sum.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

namespace bench {
namespace {

// forward computes y, backward all gradients. The oracle has the powers of the decays as weights of
// the lags, and no recurrence; in double, with error bounds.
template <class T, int States, bool Both>
class decaying_sum_job final : public backend_job<host_backend> {
 public:
  explicit decaying_sum_job(case_params const& params)
      : backend_job<host_backend>(params),
        is_backward_(params.direction == "backward"),
        x_(get_dataset<T>(params.input, params.extents)),
        dy_(get_dataset<T>("uniform", params.extents)),
        a_(static_cast<std::size_t>(op_.numbers() * params.extents.channels)),
        w_(a_.size()),
        da_(a_.size()),
        dw_(a_.size()),
        output_(x_->values.size()) {
    for (std::size_t i = 0; i < a_.size(); ++i) {
      a_[i] = from_double<T>(0.5 + 0.49 * random_uniform(input_seed + 7, i));
      w_[i] = from_double<T>(random_uniform(input_seed + 8, i) - 0.5);
    }
    this->allocate_scratch(op_.workspace_bytes<T>(this->exec(), params.extents));
    this->traffic_bytes = output_.bytes() * (is_backward_ ? 3 : 2);
    this->flops =
        (is_backward_ ? 14.0 : 4.0) * static_cast<double>(params.extents.size() * op_.numbers());
    // A decay of 0.99 remembers about 100 rows, each with a rounding error; the states add theirs.
    this->tolerance = (100 + States) * unit_roundoff<ss::detail::accumulator_t<T>>() +
                      (Both ? 4 : 2) * unit_roundoff<T>();
  }

  void run() override {
    ss::extents3 const e = this->params_.extents;
    ss::tensor3<T const> const x(x_->values.data(), e), dy(dy_->values.data(), e);
    ss::tensor3<T> const output(output_.data(), e);
    ss::decay_inputs<T> const in{{a_.data(), numbers_shape()}, {w_.data(), numbers_shape()}};
    if (is_backward_)
      op_.backward(this->exec(), dy, x, in,
                   {output, {da_.data(), numbers_shape()}, {dw_.data(), numbers_shape()}}, {},
                   this->scratch);
    else
      op_.forward(this->exec(), x, in, output, {}, this->scratch);
  }

  // Error of y, or of all gradients, in some channels.
  double max_error() override {
    ss::extents3 const e = this->params_.extents;
    double const cost_of_channel = static_cast<double>(e.batch * e.length) *
                                   static_cast<double>(std::min(e.length, largest_lag));
    auto const count = std::clamp<ss::index_t>(
        static_cast<ss::index_t>(largest_oracle_cost / std::max(cost_of_channel, 1.0)), 1,
        e.channels);
    double error = 0;
    for (ss::index_t i = 0; i < count; ++i)
      error = larger_error(
          error, error_of_channel(i * (e.channels - 1) / std::max<ss::index_t>(1, count - 1)));
    return error;
  }

 private:
  using values = std::vector<double>;
  // Powers of decays beyond this lag, of at most .99^7000 = 3e-31, are left out.
  static constexpr ss::index_t largest_lag = 7000;
  static constexpr double largest_oracle_cost = 2e8;

  double error_of_channel(ss::index_t channel) const {
    ss::extents3 const e = this->params_.extents;
    ss::index_t const lags = std::min(e.length, largest_lag);
    auto const weights = filters(channel, lags);
    double error = 0;
    std::vector<tracked_sum> products(static_cast<std::size_t>(2 * lags - 1));
    for (ss::index_t b = 0; b < e.batch; ++b) {
      auto const column = static_cast<std::size_t>(b * e.channels + channel);
      values const x = x_->column(column), dy = dy_->column(column);
      error = larger_error(
          error, error_of_rows(x_->column_offset(column), is_backward_ ? dy : x, weights));
      if (is_backward_) add_products(dy, x, lags, products);
    }
    // Half, since both factors of a product have the errors of a recurrence.
    if (is_backward_) error = larger_error(error, error_of_numbers(channel, lags, products) / 2);
    return error;
  }

  // The weights of lags 1 - lags .. lags - 1: y[n] = sum of filter[lag] x[n - lag], and dx is the
  // same sum of dy with the lags reversed.
  std::vector<tracked_sum> filters(ss::index_t channel, ss::index_t lags) const {
    std::vector<tracked_sum> filter(static_cast<std::size_t>(2 * lags - 1));
    for (ss::index_t j = 0; j < op_.numbers(); ++j) {
      bool const is_reversed = runs_reversed(j) != is_backward_;
      for (ss::index_t lag = 0; lag < lags; ++lag)
        filter[static_cast<std::size_t>(lags - 1 + (is_reversed ? -lag : lag))] +=
            tracked_sum::exact(number(w_, j, channel) * power(j, channel, lag));
    }
    return filter;
  }
  double error_of_rows(std::size_t offset, values const& input,
                       std::vector<tracked_sum> const& filter) const {
    auto const rows = static_cast<ss::index_t>(input.size()),
               lags = static_cast<ss::index_t>(filter.size() + 1) / 2;
    double error = 0;
    for (ss::index_t n = 0; n < rows; ++n) {
      tracked_sum expected;
      for (ss::index_t m = std::max<ss::index_t>(0, n - lags + 1); m < std::min(rows, n + lags);
           ++m) {
        tracked_sum const& weight = filter[static_cast<std::size_t>(lags - 1 + n - m)];
        double const value = input[static_cast<std::size_t>(m)];
        expected += {weight.value * value, weight.magnitude * std::abs(value)};
      }
      error = larger_error(
          error,
          expected.error_of(to_double(
              output_[offset + static_cast<std::size_t>(n * this->params_.extents.channels)])));
    }
    return error;
  }

  // Adds the sums over n of dy[n] x[n - lag].
  static void add_products(values const& dy, values const& x, ss::index_t lags,
                           std::vector<tracked_sum>& products) {
    auto const rows = static_cast<ss::index_t>(x.size());
    for (ss::index_t lag = 1 - lags; lag < lags; ++lag) {
      tracked_sum& sum = products[static_cast<std::size_t>(lags - 1 + lag)];
      for (ss::index_t n = std::max<ss::index_t>(0, lag); n < std::min(rows, rows + lag); ++n)
        sum += tracked_sum::exact(dy[static_cast<std::size_t>(n)] *
                                  x[static_cast<std::size_t>(n - lag)]);
    }
  }
  // dw = sum of a^lag products[lag], da = sum of w lag a^(lag - 1) products[lag]
  double error_of_numbers(ss::index_t channel, ss::index_t lags,
                          std::vector<tracked_sum> const& products) const {
    double error = 0;
    for (ss::index_t j = 0; j < op_.numbers(); ++j) {
      tracked_sum dw, da;
      for (ss::index_t lag = 0; lag < lags; ++lag) {
        tracked_sum const& product =
            products[static_cast<std::size_t>(lags - 1 + (runs_reversed(j) ? -lag : lag))];
        dw += product * power(j, channel, lag);
        if (lag > 0)
          da += product *
                (number(w_, j, channel) * static_cast<double>(lag) * power(j, channel, lag - 1));
      }
      error = larger_error(error, dw.error_of(number(dw_, j, channel)));
      error = larger_error(error, da.error_of(number(da_, j, channel)));
    }
    return error;
  }

  static bool runs_reversed(ss::index_t j) { return Both && j >= States; }
  double number(buffer<T> const& numbers, ss::index_t j, ss::index_t channel) const {
    return to_double(
        numbers[static_cast<std::size_t>(j * this->params_.extents.channels + channel)]);
  }
  double power(ss::index_t j, ss::index_t channel, ss::index_t lag) const {
    return std::pow(number(a_, j, channel), static_cast<double>(lag));
  }

  ss::extents4 numbers_shape() const {
    return {1, op_.numbers(), 1, this->params_.extents.channels};
  }

  ss::decaying_sum const op_{States, ss::decay_numbers::real,
                             Both ? ss::decay_direction::both : ss::decay_direction::forward};
  bool const is_backward_;
  std::shared_ptr<dataset<T>> x_, dy_;
  buffer<T> a_, w_, da_, dw_, output_;
};

template <class T>
void add_decaying_sum() {
  for (char const* direction : {"forward", "forward_values", "backward"}) {
    for_each_default_setting<T>("decaying_sum", direction, add_case<decaying_sum_job<T, 1, false>>);
    for_each_default_setting<T>("decaying_sum_mega", direction,
                                add_case<decaying_sum_job<T, 16, true>>);
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "decaying_sum", add_decaying_sum<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
