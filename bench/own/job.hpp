// SPDX-License-Identifier: Apache-2.0
// The cases of a contestant that somebody else wrote: data, the calls, and their comparison with
// the oracle that came with it, if one did.
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

// Sums of `terms` numbers, which are as wrong as their roundings, of random sign, make them. The
// library's operators and most others sum 16-bit values as float.
template <class T>
double usual_tolerance(ss::index_t terms) {
  double const of_sums = sizeof(T) == 8 ? unit_roundoff<double>() : unit_roundoff<float>();
  return 4.0 * (unit_roundoff<T>() + std::sqrt(static_cast<double>(terms)) * of_sums);
}

// The last sample of a tensor: a mistake about the batch shows there.
template <class T>
std::vector<double> last_sample(buffer<T> const& values, ss::extents3 e) {
  std::vector<double> sample(static_cast<std::size_t>(e.length * e.channels));
  for (std::size_t i = 0; i < sample.size(); ++i)
    sample[i] = decoded(values[values.size() - sample.size() + i]);
  return sample;
}

// The largest difference, relative to the largest value that is wanted.
inline double error_of_sample(std::vector<double> const& is, std::vector<double> const& want) {
  double largest = 0.0, error = 0.0;
  for (double const v : want)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < want.size(); ++i) {
    bool const same = is[i] == want[i] || (std::isnan(is[i]) && std::isnan(want[i]));
    if (!same) error = worst(error, std::abs(is[i] - want[i]));
  }
  return error == 0.0 ? 0.0 : error / (largest > 0.0 ? largest : 1.0);
}

// The oracle works on whole samples in double; beyond this size it would take gigabytes.
inline constexpr ss::index_t largest_verified_sample = ss::index_t{1} << 26;

template <class Op, class T>
class own_job final : public job {
  static constexpr std::size_t count = count_of_inputs<Op, T>();
  using f = forms<Op, T, count>;
  using oracle = oracle_forms<Op, count>;

 public:
  own_job(fields const& at, Op const& op)
      : at_(at), backward_(at.direction == "backward"), exec_{at.exec(), heads_of(at)}, op_(op) {
    for (std::size_t i = 0; i < count; ++i)
      in_[i] = get_dataset<T>(at.input + (i == 0 ? "" : '#' + std::to_string(i)), at.extents);
    y_ = buffer<T>(in_[0]->values.size());
    if constexpr (f::saves)
      if (backward_ || at.direction == "forward" || !f::infers)
        state_.emplace(std::apply([&](auto const&... x) { return op_.saved(x...); }, inputs()));
    if (backward_) {
      dy_ = get_dataset<T>("uniform", at.extents);
      forward();
      for (buffer<T>& d : gradients_) d = buffer<T>(y_.size());
    }
    if (state_) saved_bytes = bytes_of(*state_, 0);
    set_traffic();
    if constexpr (has<tolerance_result, Op>)
      tolerance = static_cast<double>(op_.tolerance);
    else
      tolerance = usual_tolerance<T>(at.extents.length);
    bool const has_oracle = backward_ ? oracle::backward : oracle::forward;
    verified = has_oracle && sample().size() <= largest_verified_sample;
  }

  void run() override {
    if constexpr (f::short_backward || f::long_backward)
      if (backward_) return backward();
    forward();
  }

  double max_error() override {
    if (!verified) return 0.0;
    if (!backward_) return forward_error();
    return backward_error();
  }

 private:
  static ss::index_t heads_of(fields const& at) {
    for (ss::index_t const heads : the_task().heads)
      if (at.extents.channels % heads == 0) return heads;
    return 1;
  }

  void set_traffic() {
    std::size_t const each = y_.bytes();
    traffic_bytes = (count + 1) * each + saved_bytes;
    if (backward_) {
      std::size_t const read = f::long_backward ? count + 2 : 1;
      traffic_bytes = (read + count) * each + saved_bytes;
      if constexpr (has<backward_flops_result, Op, std::tuple<ss::extents3>>)
        flops = double(op_.backward_flops(at_.extents));
    } else {
      if constexpr (has<flops_result, Op, std::tuple<ss::extents3>>)
        flops = double(op_.flops(at_.extents));
    }
  }

  auto inputs() const {
    return views([&](std::size_t i) { return const_view(in_[i]->values, at_.extents); });
  }
  auto gradients() const {
    return views([&](std::size_t i) { return view(gradients_[i], at_.extents); });
  }
  // A tuple of `make(0)`, .. for as many as there are inputs.
  template <class F>
  static auto views(F const& make) {
    return views(make, std::make_index_sequence<count>{});
  }
  template <class F, std::size_t... I>
  static auto views(F const& make, std::index_sequence<I...>) {
    return std::tuple(make(I)...);
  }

  void forward() {
    auto const plain =
        std::tuple_cat(std::tuple<host const&>(exec_), inputs(), std::tuple(view(y_, at_.extents)));
    auto const call = [&](auto&&... a) { op_.forward(std::forward<decltype(a)>(a)...); };
    if constexpr (f::saves && f::trains)
      if (state_) return std::apply(call, std::tuple_cat(plain, std::tie(*state_)));
    if constexpr (f::infers) std::apply(call, plain);
  }

  void backward() {
    auto const call = [&](auto&&... a) { op_.backward(std::forward<decltype(a)>(a)...); };
    std::tuple<host const&> const exec(exec_);
    auto const dy = std::tuple(const_view(dy_->values, at_.extents));
    auto const state = [&] {
      if constexpr (f::saves)
        return std::tuple<typename f::state const&>(*state_);
      else
        return std::tuple<>();
    }();
    if constexpr (f::long_backward)
      std::apply(call, std::tuple_cat(exec, dy, inputs(), std::tuple(const_view(y_, at_.extents)),
                                      state, gradients()));
    else if constexpr (f::short_backward)
      std::apply(call, std::tuple_cat(exec, dy, state, gradients()));
  }

  using numbers = std::vector<double>;
  ss::extents3 sample() const { return {1, at_.extents.length, at_.extents.channels}; }
  numbers sample_of(buffer<T> const& b) const { return last_sample(b, at_.extents); }
  std::array<numbers, count> sampled_inputs() const {
    std::array<numbers, count> all;
    for (std::size_t i = 0; i < count; ++i) all[i] = sample_of(in_[i]->values);
    return all;
  }
  auto read(numbers const& v) const { return ss::tensor3<double const>(v.data(), sample()); }
  auto write(numbers& v) const { return ss::tensor3<double>(v.data(), sample()); }

  double forward_error() {
    if constexpr (oracle::forward) {
      auto const x = sampled_inputs();
      numbers want(x[0].size());
      auto const in = views([&](std::size_t i) { return read(x[i]); });
      std::apply([&](auto const&... a) { op_.expected(a...); },
                 std::tuple_cat(in, std::tuple(write(want))));
      return error_of_sample(sample_of(y_), want);
    }
    return wrong;
  }
  double backward_error() {
    if constexpr (oracle::backward) {
      auto const x = sampled_inputs();
      numbers const dy = sample_of(dy_->values);
      std::array<numbers, count> want;
      for (numbers& w : want) w = numbers(dy.size());
      auto const in = views([&](std::size_t i) { return read(x[i]); });
      auto const out = views([&](std::size_t i) { return write(want[i]); });
      std::apply([&](auto const&... a) { op_.expected_backward(a...); },
                 std::tuple_cat(std::tuple(read(dy)), in, out));
      double error = 0.0;
      for (std::size_t i = 0; i < count; ++i)
        error = worst(error, error_of_sample(sample_of(gradients_[i]), want[i]));
      return error;
    }
    return wrong;
  }

  fields const at_;
  bool const backward_;
  host const exec_;
  Op op_;
  std::array<std::shared_ptr<dataset<T>>, count> in_;
  std::shared_ptr<dataset<T>> dy_;
  buffer<T> y_;
  std::array<buffer<T>, count> gradients_;
  std::optional<typename f::state> state_;
};

}  // namespace bench
