// SPDX-License-Identifier: Apache-2.0
// Cases of a user-defined operator: data, calls, and the comparison with its oracle.
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

// Tolerance of a sum of `terms` numbers, whose rounding errors have random signs. 16-bit values are
// summed as float.
template <class T>
double default_tolerance(ss::index_t terms) {
  double const sum_roundoff = sizeof(T) == 8 ? unit_roundoff<double>() : unit_roundoff<float>();
  return 4.0 * (unit_roundoff<T>() + std::sqrt(static_cast<double>(terms)) * sum_roundoff);
}

// The last sample of a tensor, where a wrong batch stride shows.
template <class T>
std::vector<double> last_sample(buffer<T> const& values, ss::extents3 e) {
  std::vector<double> sample(static_cast<std::size_t>(e.length * e.channels));
  for (std::size_t i = 0; i < sample.size(); ++i)
    sample[i] = decoded(values[values.size() - sample.size() + i]);
  return sample;
}

// The largest difference, relative to the largest expected value.
inline double error_of_sample(std::vector<double> const& actual,
                              std::vector<double> const& expected) {
  double largest = 0.0, error = 0.0;
  for (double const v : expected)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    bool const same =
        actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]));
    if (!same) error = larger_error(error, std::abs(actual[i] - expected[i]));
  }
  return error == 0.0 ? 0.0 : error / (largest > 0.0 ? largest : 1.0);
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
        backward_(params.direction == "backward"),
        exec_{params.exec(), heads_of(params)},
        op_(op) {
    for (std::size_t i = 0; i < count; ++i)
      inputs_[i] =
          get_dataset<T>(params.input + (i == 0 ? "" : '#' + std::to_string(i)), params.extents);
    y_ = buffer<T>(inputs_[0]->values.size());
    if constexpr (calls::saves)
      if (backward_ || params.direction == "forward" || !calls::has_inference)
        state_.emplace(std::apply([&](auto const&... x) { return op_.saved(x...); }, inputs()));
    if (backward_) {
      dy_ = get_dataset<T>("uniform", params.extents);
      forward();
      for (buffer<T>& d : gradients_) d = buffer<T>(y_.size());
    }
    if (state_) saved_bytes = bytes_of(*state_, 0);
    set_traffic();
    if constexpr (has<tolerance_result, Op>)
      tolerance = static_cast<double>(op_.tolerance);
    else
      tolerance = default_tolerance<T>(params.extents.length);
    bool const has_oracle = backward_ ? oracle::backward : oracle::forward;
    verified = has_oracle && sample().size() <= largest_verified_sample;
  }

  void run() override {
    if constexpr (calls::short_backward || calls::long_backward)
      if (backward_) return backward();
    forward();
  }

  double max_error() override {
    if (!verified) return 0.0;
    if (!backward_) return forward_error();
    return backward_error();
  }

 private:
  static ss::index_t heads_of(case_params const& params) {
    for (ss::index_t const heads : text_task_settings().heads)
      if (params.extents.channels % heads == 0) return heads;
    return 1;
  }

  void set_traffic() {
    std::size_t const tensor_bytes = y_.bytes();
    traffic_bytes = (count + 1) * tensor_bytes + saved_bytes;
    if (backward_) {
      std::size_t const read = calls::long_backward ? count + 2 : 1;
      traffic_bytes = (read + count) * tensor_bytes + saved_bytes;
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
  // The tuple make(0), .., make(count - 1).
  template <class F>
  static auto views(F const& make) {
    return views(make, std::make_index_sequence<count>{});
  }
  template <class F, std::size_t... I>
  static auto views(F const& make, std::index_sequence<I...>) {
    return std::tuple(make(I)...);
  }

  void forward() {
    auto const plain = std::tuple_cat(std::tuple<host const&>(exec_), inputs(),
                                      std::tuple(view(y_, params_.extents)));
    auto const call = [&](auto&&... a) { op_.forward(std::forward<decltype(a)>(a)...); };
    if constexpr (calls::saves && calls::has_training)
      if (state_) return std::apply(call, std::tuple_cat(plain, std::tie(*state_)));
    if constexpr (calls::has_inference) std::apply(call, plain);
  }

  void backward() {
    auto const call = [&](auto&&... a) { op_.backward(std::forward<decltype(a)>(a)...); };
    std::tuple<host const&> const exec(exec_);
    auto const dy = std::tuple(const_view(dy_->values, params_.extents));
    auto const state = [&] {
      if constexpr (calls::saves)
        return std::tuple<typename calls::state const&>(*state_);
      else
        return std::tuple<>();
    }();
    if constexpr (calls::long_backward)
      std::apply(call,
                 std::tuple_cat(exec, dy, inputs(), std::tuple(const_view(y_, params_.extents)),
                                state, gradients()));
    else if constexpr (calls::short_backward)
      std::apply(call, std::tuple_cat(exec, dy, state, gradients()));
  }

  using numbers = std::vector<double>;
  ss::extents3 sample() const { return {1, params_.extents.length, params_.extents.channels}; }
  numbers sample_of(buffer<T> const& b) const { return last_sample(b, params_.extents); }
  std::array<numbers, count> sampled_inputs() const {
    std::array<numbers, count> samples;
    for (std::size_t i = 0; i < count; ++i) samples[i] = sample_of(inputs_[i]->values);
    return samples;
  }
  auto read(numbers const& v) const { return ss::tensor3<double const>(v.data(), sample()); }
  auto write(numbers& v) const { return ss::tensor3<double>(v.data(), sample()); }

  double forward_error() {
    if constexpr (oracle::forward) {
      auto const x = sampled_inputs();
      numbers expected(x[0].size());
      auto const x_views = views([&](std::size_t i) { return read(x[i]); });
      std::apply([&](auto const&... a) { op_.expected(a...); },
                 std::tuple_cat(x_views, std::tuple(write(expected))));
      return error_of_sample(sample_of(y_), expected);
    }
    return wrong;
  }
  double backward_error() {
    if constexpr (oracle::backward) {
      auto const x = sampled_inputs();
      numbers const dy = sample_of(dy_->values);
      std::array<numbers, count> expected;
      for (numbers& w : expected) w = numbers(dy.size());
      auto const x_views = views([&](std::size_t i) { return read(x[i]); });
      auto const gradient_views = views([&](std::size_t i) { return write(expected[i]); });
      std::apply([&](auto const&... a) { op_.expected_backward(a...); },
                 std::tuple_cat(std::tuple(read(dy)), x_views, gradient_views));
      double error = 0.0;
      for (std::size_t i = 0; i < count; ++i)
        error = larger_error(error, error_of_sample(sample_of(gradients_[i]), expected[i]));
      return error;
    }
    return wrong;
  }

  case_params const params_;
  bool const backward_;
  host const exec_;
  Op op_;
  std::array<std::shared_ptr<dataset<T>>, count> inputs_;
  std::shared_ptr<dataset<T>> dy_;
  buffer<T> y_;
  std::array<buffer<T>, count> gradients_;
  std::optional<typename calls::state> state_;
};

}  // namespace bench
