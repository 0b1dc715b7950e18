// SPDX-License-Identifier: Apache-2.0
// Causal short_convolution with four taps per channel. Compiled once per element type.
#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/settings.hpp"
#include "driver/tensors.hpp"

#include <slicesort/short_convolution.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>

namespace bench {
namespace {

// forward computes y. backward_input computes dx, backward also dweights. The reference sums in
// double, with error bounds.
template <class T>
class convolution_job final : public backend_job<host_backend> {
 public:
  explicit convolution_job(case_params const& params)
      : backend_job<host_backend>(params),
        x_(get_dataset<T>(params.input, params.extents)),
        dy_(get_dataset<T>("uniform", params.extents)),
        weights_(static_cast<std::size_t>(filter_shape().size())),
        weight_gradients_(weights_.size()),
        output_(x_->values.size()) {
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i] = from_double<T>(random_uniform(input_seed + 7, i) - 0.5);
    this->allocate_scratch(op_.workspace_bytes<T>(this->exec(), params.extents));
    bool const with_weights = params.direction == "backward";
    this->traffic_bytes = output_.bytes() * (with_weights ? 3 : 2);
    this->flops =
        2.0 * static_cast<double>(params.extents.size() * op_.taps()) * (with_weights ? 2.0 : 1.0);
    this->tolerance = 18 * unit_roundoff<T>();  // sums of 16 rows are the longest
  }

  void run() override {
    ss::extents3 const e = this->params_.extents;
    ss::tensor3<T const> const x(x_->values.data(), e), dy(dy_->values.data(), e),
        weights(weights_.data(), filter_shape());
    ss::tensor3<T> const output(output_.data(), e);
    if (this->params_.direction == "forward")
      op_.forward(this->exec(), x, weights, output, this->scratch);
    else if (this->params_.direction == "backward_input")
      op_.backward(this->exec(), dy, weights, output, this->scratch);
    else
      op_.backward(this->exec(), dy, x, weights, output,
                   ss::tensor3<T>(weight_gradients_.data(), filter_shape()), this->scratch);
  }

  double max_error() override {
    double error = 0;
    for (std::size_t const column : x_->verified_columns)
      error = larger_error(error, column_error(column));
    return error;
  }

 private:
  ss::extents3 filter_shape() const { return {1, op_.taps(), this->params_.extents.channels}; }

  // Error of y or dx in one column, and of the weight gradients of its channel.
  double column_error(std::size_t column) const {
    ss::extents3 const e = this->params_.extents;
    bool const backward = this->params_.direction != "forward";
    auto const channel = column % static_cast<std::size_t>(e.channels);
    auto const input = (backward ? dy_ : x_)->column(column);
    double error = 0;
    for (ss::index_t n = 0; n < e.length; ++n) {
      tracked_sum expected;
      for (ss::index_t k = 0; k < op_.taps(); ++k) {
        ss::index_t const row = backward ? n + op_.shift() - k : n + k - op_.shift();
        if (row >= 0 && row < e.length)
          expected += tracked_sum::exact(input[static_cast<std::size_t>(row)]) *
                      to_double(weights_[static_cast<std::size_t>(k * e.channels) + channel]);
      }
      auto const position = x_->column_offset(column) + static_cast<std::size_t>(n * e.channels);
      error = larger_error(error, expected.error_of(to_double(output_[position])));
    }
    return this->params_.direction == "backward" ? larger_error(error, weights_error(channel))
                                                 : error;
  }
  double weights_error(std::size_t channel) const {
    ss::extents3 const e = this->params_.extents;
    double error = 0;
    for (ss::index_t k = 0; k < op_.taps(); ++k) {
      tracked_sum expected;
      for (ss::index_t b = 0; b < e.batch; ++b) {
        auto const column = static_cast<std::size_t>(b * e.channels) + channel;
        auto const x = x_->column(column), dy = dy_->column(column);
        for (ss::index_t n = std::max<ss::index_t>(0, op_.shift() - k); n < e.length; ++n) {
          ss::index_t const row = n + k - op_.shift();
          if (row < e.length)
            expected += tracked_sum::exact(x[static_cast<std::size_t>(row)]) *
                        dy[static_cast<std::size_t>(n)];
        }
      }
      error = larger_error(
          error, expected.error_of(to_double(
                     weight_gradients_[static_cast<std::size_t>(k * e.channels) + channel])));
    }
    return error;
  }

  ss::short_convolution const op_ = ss::short_convolution::causal(4);
  std::shared_ptr<dataset<T>> x_, dy_;
  buffer<T> weights_, weight_gradients_, output_;
};

template <class T>
void add_short_convolution() {
  for (char const* direction : {"forward", "backward_input", "backward"})
    for_each_default_setting<T>("short_convolution", direction, add_case<convolution_job<T>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "short_convolution", add_short_convolution<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
