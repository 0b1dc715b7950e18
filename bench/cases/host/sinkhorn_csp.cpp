// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of sinkhorn_csp in float and double. Compiled once per element type.
#include "driver/dataset.hpp"
#include "driver/settings.hpp"
#include "driver/tensors.hpp"
#include "sinkhorn_csp/oracle.hpp"

#include <slicesort/sinkhorn_csp.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace bench {
namespace {

constexpr double tau = 0.5;
constexpr int iterations = 10;

std::size_t rows_per_group(case_params const& params) {
  return std::stoul(params.policy.substr(params.policy.rfind(':') + 1));
}
auto make_operator(case_params const& params) {
  return ss::sinkhorn_csp{ss::group_size{static_cast<ss::index_t>(rows_per_group(params))},
                          ss::sinkhorn{tau, iterations}};
}

// Computes the expected y of an x with elements value(i): real numbers, or dual numbers for
// derivatives.
template <class Number, class F>
std::vector<Number> compute_expected_y(case_params const& params, F const& value) {
  auto const rows = static_cast<std::size_t>(params.extents.length);
  auto const channels = static_cast<std::size_t>(params.extents.channels);
  std::size_t const group = rows_per_group(params),
                    shift_per_channel = (rows + channels - 1) / channels;
  std::vector<Number> result(static_cast<std::size_t>(params.extents.size())), reference, values;
  for (std::size_t b = 0; b < static_cast<std::size_t>(params.extents.batch); ++b)
    for (std::size_t c = 0; c < channels; ++c) {
      std::size_t const start = b * rows * channels, shift = (c + 1) * shift_per_channel % rows;
      for (std::size_t first = 0; first < rows; first += group) {
        std::size_t const last = std::min(first + group, rows);
        reference.clear(), values.clear();
        for (std::size_t n = first; n < last; ++n) {
          reference.push_back(value(start + n * channels));
          values.push_back(value(start + (n + rows - shift) % rows * channels + c));
        }
        std::vector<Number> y(reference.size());
        if (c == 0) {  // the reference channel
          y = reference;
        } else {
          auto const matrix =
              support::sinkhorn_matrix(reference, values, tau, iterations, [](auto const&) {});
          for (std::size_t i = 0; i < y.size(); ++i)
            for (std::size_t k = 0; k < values.size(); ++k) y[i] = y[i] + matrix[i][k] * values[k];
        }
        for (std::size_t n = first; n < last; ++n) result[start + n * channels + c] = y[n - first];
      }
    }
  return result;
}

template <class T>
class sinkhorn_job final : public backend_job<host_backend> {
 public:
  explicit sinkhorn_job(case_params const& params)
      : backend_job(params),
        is_backward_(params.direction == "backward"),
        x_(get_dataset<T>(params.input, params.extents)),
        dy_(is_backward_ ? get_dataset<T>("uniform", params.extents) : nullptr),
        to_(x_->values.size()) {
    allocate_scratch(
        make_operator(params).workspace_bytes(exec(), const_view(x_->values, params.extents)));
    traffic_bytes = (is_backward_ ? 3 : 2) * to_.bytes();
    // Bound of docs/operators/sinkhorn_csp.md for logits up to 50 and values up to 5.
    tolerance = 0x1p16 * unit_roundoff<T>();
  }

  void run() override {
    auto const op = make_operator(params_);
    auto const x = const_view(x_->values, params_.extents);
    if (is_backward_)
      op.backward(exec(), const_view(dy_->values, params_.extents), x, view(to_, params_.extents),
                  scratch);
    else
      op.forward(exec(), x, view(to_, params_.extents), scratch);
  }

  double max_error() override {
    auto const value = [&](std::size_t i) { return to_double(x_->values[i]); };
    if (!is_backward_) {
      auto const expected = compute_expected_y<support::real>(params_, value);
      double error = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        error = larger_error(error, std::abs(to_double(to_[i]) - static_cast<double>(expected[i])));
      return error;
    }
    // Compares a directional derivative of <dy, y> by dual numbers with <dx, direction>.
    auto const direction = [](std::size_t i) { return random_uniform(input_seed + 1, i) - 0.5; };
    auto const expected = compute_expected_y<support::dual>(params_, [&](std::size_t i) {
      return support::dual{value(i), direction(i)};
    });
    double difference = 0, magnitude = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double const product = to_double(to_[i]) * direction(i);
      difference += to_double(dy_->values[i]) * static_cast<double>(expected[i].slope) - product;
      magnitude += std::abs(product);
    }
    return std::abs(difference) / magnitude;
  }

 private:
  bool const is_backward_;
  std::shared_ptr<dataset<T>> x_, dy_;
  buffer<T> to_;
};

template <class T>
void add_sinkhorn_csp() {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    auto const add = [](char const* policy, char const* input, ss::extents3 shape) {
      for (char const* direction : {"forward", "backward"})
        for (unsigned const threads : {1u, 2u})
          add_case<sinkhorn_job<T>>({"sinkhorn_csp", direction, ss::dtype_traits<T>::name, policy,
                                     input, shape, threads});
    };
    for (char const* policy :
         {"linear-sinkhorn-G:4", "linear-sinkhorn-G:16", "linear-sinkhorn-G:64"})
      add(policy, "normal", {1, 1024, 256});
    add("linear-sinkhorn-G:16", "text", {2, 1024, 256});
    for_each_sweep_shape(
        [&](ss::extents3 shape) { add("linear-sinkhorn-G:16", "uniform", shape); });
    add("linear-sinkhorn-G:8", "normal", {2, 37, 24});
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "sinkhorn_csp", add_sinkhorn_csp<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
