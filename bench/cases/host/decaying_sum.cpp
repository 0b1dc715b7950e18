// SPDX-License-Identifier: Apache-2.0
// Cases of decaying_sum: one real state, and 16 in both directions, as in MEGA. Compiled once per
// element type.
#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/settings.hpp"
#include "driver/tensors.hpp"

#include <slicesort/decaying_sum.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace bench {
namespace {

// forward computes y, backward all gradients. The reference is in double, with error bounds.
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

  // Error of y or dx in some columns; dx is the same recurrence of dy in the other direction.
  double max_error() override {
    ss::extents3 const e = this->params_.extents;
    double error = 0;
    for (std::size_t const column : x_->verified_columns) {
      auto const channel = column % static_cast<std::size_t>(e.channels);
      auto const input = (is_backward_ ? dy_ : x_)->column(column);
      std::vector<tracked_sum> expected(input.size());
      for (std::size_t j = 0; j < static_cast<std::size_t>(op_.numbers()); ++j) {
        std::size_t const number = j * static_cast<std::size_t>(e.channels) + channel;
        bool const second = Both && j >= States, reversed = second != is_backward_;
        tracked_sum state;
        for (std::size_t t = 0; t < input.size(); ++t) {
          std::size_t const row = reversed ? input.size() - 1 - t : t;
          state = state * to_double(a_[number]);
          state += tracked_sum::exact(input[row]);
          expected[row] += state * to_double(w_[number]);
        }
      }
      for (std::size_t n = 0; n < input.size(); ++n)
        error = larger_error(
            error,
            expected[n].error_of(to_double(
                output_[x_->column_offset(column) + n * static_cast<std::size_t>(e.channels)])));
    }
    return error;
  }

 private:
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
  for (char const* direction : {"forward", "backward"}) {
    for_each_default_setting<T>("decaying_sum", direction, add_case<decaying_sum_job<T, 1, false>>);
    for_each_default_setting<T>("decaying_sum_mega", direction,
                                add_case<decaying_sum_job<T, 16, true>>);
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "decaying_sum", add_decaying_sum<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
