// SPDX-License-Identifier: Apache-2.0
// Benchmark job of a user-defined operator: data, calls, and the comparison with its oracle.
#pragma once

#include "../driver/case.hpp"
#include "../driver/dataset.hpp"
#include "../driver/numbers.hpp"
#include "../driver/settings.hpp"
#include "../driver/tensors.hpp"
#include "calls.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

// Tolerance of a sum of `terms` values, whose rounding errors have random signs. 16-bit values are
// summed as float.
template <class T>
double default_tolerance(ss::index_t terms) {
  double const sum_roundoff = sizeof(T) == 8 ? unit_roundoff<double>() : unit_roundoff<float>();
  return 4.0 * (unit_roundoff<T>() + std::sqrt(static_cast<double>(terms)) * sum_roundoff);
}

// Copies the last sample of a tensor, where a wrong batch stride shows.
template <class T>
std::vector<double> copy_last_sample(buffer<T> const& values, ss::extents3 shape) {
  std::vector<double> sample(static_cast<std::size_t>(shape.length * shape.channels));
  for (std::size_t i = 0; i < sample.size(); ++i)
    sample[i] = to_double(values[values.size() - sample.size() + i]);
  return sample;
}

// Returns the largest difference, relative to the largest expected value.
inline double sample_error(std::vector<double> const& actual, std::vector<double> const& expected) {
  double largest_expected = 0.0, error = 0.0;
  for (double const v : expected)
    if (std::isfinite(v)) largest_expected = std::max(largest_expected, std::abs(v));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    bool const is_same =
        actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]));
    if (!is_same) error = larger_error(error, std::abs(actual[i] - expected[i]));
  }
  return error == 0.0 ? 0.0 : error / (largest_expected > 0.0 ? largest_expected : 1.0);
}

// Elements of the largest sample to verify. The oracle works on whole samples of doubles.
inline constexpr ss::index_t largest_verified_sample = ss::index_t{1} << 26;

template <class Op, class T>
class custom_job final : public job {
  static constexpr std::size_t count = input_count<Op, T>();
  using calls = signatures<Op, T, count>;
  using oracle = oracle_signatures<Op, count>;

 public:
  custom_job(case_params const& params, Op const& op)
      : params_(params),
        is_backward_(params.direction == "backward"),
        exec_{params.exec(), head_count(params.extents.channels)},
        op_(op) {
    for (std::size_t i = 0; i < count; ++i)
      inputs_[i] =
          get_dataset<T>(params.input + (i == 0 ? "" : '#' + std::to_string(i)), params.extents);
    y_ = buffer<T>(inputs_[0]->values.size());
    if constexpr (calls::saves_state)
      if (is_backward_ || params.direction == "forward" || !calls::has_inference)
        state_.emplace(std::apply([&](auto const&... x) { return op_.saved(x...); }, inputs()));
    // The size of the state may be known only after forward.
    if (is_backward_ || state_) forward();
    if (is_backward_) {
      dy_ = get_dataset<T>("uniform", params.extents);
      for (buffer<T>& d : gradients_) d = buffer<T>(y_.size());
    }
    if (state_) saved_bytes = state_bytes(*state_, 0);
    set_traffic_and_flops();
    if constexpr (has<tolerance_of_result, Op, std::tuple<ss::extents3>>)
      tolerance = double(op_.tolerance(params.extents));
    else if constexpr (has<tolerance_result, Op>)
      tolerance = static_cast<double>(op_.tolerance);
    else
      tolerance = default_tolerance<T>(params.extents.length);
    bool const has_oracle = is_backward_ ? oracle::has_backward : oracle::has_forward;
    // Gradients of equal rows may cancel to 0, so that no error relative to them is small.
    bool const may_cancel = is_backward_ && tolerance > 0 && params.input == "constant";
    is_verified = has_oracle && !may_cancel && sample_extents().size() <= largest_verified_sample;
  }

  void run() override {
    if constexpr (calls::has_short_backward || calls::has_long_backward)
      if (is_backward_) return backward();
    forward();
  }

  double max_error() override {
    if (!is_verified) return 0.0;
    if (!is_backward_) return forward_error();
    return backward_error();
  }

 private:
  void set_traffic_and_flops() {
    std::size_t const tensor_bytes = y_.bytes();
    traffic_bytes = (count + 1) * tensor_bytes + saved_bytes;
    if (is_backward_) {
      std::size_t const tensors_read = calls::has_long_backward ? count + 2 : 1;
      traffic_bytes = (tensors_read + count) * tensor_bytes + saved_bytes;
      if constexpr (has<backward_flops_result, Op, std::tuple<ss::extents3>>)
        flops = double(op_.backward_flops(params_.extents));
    } else {
      if constexpr (has<flops_result, Op, std::tuple<ss::extents3>>)
        flops = double(op_.flops(params_.extents));
    }
  }

  auto inputs() const {
    return views([&](std::size_t i) { return const_view(inputs_[i]->values, params_.extents); });
  }
  auto gradients() const {
    return views([&](std::size_t i) { return view(gradients_[i], params_.extents); });
  }
  // Returns the tuple of make(0) to make(count - 1).
  template <class F>
  static auto views(F const& make) {
    return views(make, std::make_index_sequence<count>{});
  }
  template <class F, std::size_t... I>
  static auto views(F const& make, std::index_sequence<I...>) {
    return std::tuple(make(I)...);
  }

  void forward() {
    auto const arguments = std::tuple_cat(std::tuple<host const&>(exec_), inputs(),
                                          std::tuple(view(y_, params_.extents)));
    auto const call = [&](auto&&... a) { op_.forward(std::forward<decltype(a)>(a)...); };
    if constexpr (calls::saves_state && calls::has_training)
      if (state_) return std::apply(call, std::tuple_cat(arguments, std::tie(*state_)));
    if constexpr (calls::has_inference) std::apply(call, arguments);
  }

  void backward() {
    auto const call = [&](auto&&... a) { op_.backward(std::forward<decltype(a)>(a)...); };
    std::tuple<host const&> const exec(exec_);
    auto const dy = std::tuple(const_view(dy_->values, params_.extents));
    auto const state = [&] {
      if constexpr (calls::saves_state)
        return std::tuple<typename calls::state const&>(*state_);
      else
        return std::tuple<>();
    }();
    if constexpr (calls::has_long_backward)
      std::apply(call,
                 std::tuple_cat(exec, dy, inputs(), std::tuple(const_view(y_, params_.extents)),
                                state, gradients()));
    else if constexpr (calls::has_short_backward)
      std::apply(call, std::tuple_cat(exec, dy, state, gradients()));
  }

  using values = std::vector<double>;
  ss::extents3 sample_extents() const {
    return {1, params_.extents.length, params_.extents.channels};
  }
  values last_sample(buffer<T> const& b) const { return copy_last_sample(b, params_.extents); }
  std::array<values, count> sampled_inputs() const {
    std::array<values, count> samples;
    for (std::size_t i = 0; i < count; ++i) samples[i] = last_sample(inputs_[i]->values);
    return samples;
  }
  auto input_view(values const& v) const {
    return ss::tensor3<double const>(v.data(), sample_extents());
  }
  auto output_view(values& v) const { return ss::tensor3<double>(v.data(), sample_extents()); }

  double forward_error() {
    if constexpr (oracle::has_forward) {
      auto const x = sampled_inputs();
      values expected(x[0].size());
      auto const x_views = views([&](std::size_t i) { return input_view(x[i]); });
      std::apply([&](auto const&... a) { op_.expected(a...); },
                 std::tuple_cat(x_views, std::tuple(output_view(expected))));
      return sample_error(last_sample(y_), expected);
    }
    return wrong_result;
  }
  double backward_error() {
    if constexpr (oracle::has_backward) {
      auto const x = sampled_inputs();
      values const dy = last_sample(dy_->values);
      std::array<values, count> expected;
      for (values& grad : expected) grad = values(dy.size());
      auto const x_views = views([&](std::size_t i) { return input_view(x[i]); });
      auto const gradient_views = views([&](std::size_t i) { return output_view(expected[i]); });
      std::apply([&](auto const&... a) { op_.expected_backward(a...); },
                 std::tuple_cat(std::tuple(input_view(dy)), x_views, gradient_views));
      double error = 0.0;
      for (std::size_t i = 0; i < count; ++i)
        error = larger_error(error, sample_error(last_sample(gradients_[i]), expected[i]));
      return error;
    }
    return wrong_result;
  }

  case_params const params_;
  bool const is_backward_;
  host const exec_;
  Op op_;
  std::array<std::shared_ptr<dataset<T>>, count> inputs_;
  std::shared_ptr<dataset<T>> dy_;
  buffer<T> y_;
  std::array<buffer<T>, count> gradients_;
  std::optional<typename calls::state> state_;
};

}  // namespace bench
