// SPDX-License-Identifier: Apache-2.0
// sinkhorn_csp in float and double. Compiled once per element type.
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

std::size_t group_of(case_params const& params) {
  return std::stoul(params.policy.substr(params.policy.rfind(':') + 1));
}
auto op_of(case_params const& params) {
  return ss::sinkhorn_csp{ss::group_size{static_cast<ss::index_t>(group_of(params))},
                          ss::sinkhorn{tau, iterations}};
}

// The oracle's y for an x of elements value(i): real numbers, or dual numbers for derivatives.
template <class N, class F>
std::vector<N> expected_y(case_params const& params, F const& value) {
  auto const rows = static_cast<std::size_t>(params.extents.length);
  auto const channels = static_cast<std::size_t>(params.extents.channels);
  std::size_t const group = group_of(params), step = (rows + channels - 1) / channels;
  std::vector<N> result(static_cast<std::size_t>(params.extents.size())), v, w;
  for (std::size_t b = 0; b < static_cast<std::size_t>(params.extents.batch); ++b)
    for (std::size_t c = 0; c < channels; ++c) {
      std::size_t const start = b * rows * channels, shift = (c + 1) * step % rows;
      for (std::size_t first = 0; first < rows; first += group) {
        std::size_t const last = std::min(first + group, rows);
        v.clear(), w.clear();
        for (std::size_t n = first; n < last; ++n) {
          v.push_back(value(start + n * channels));
          w.push_back(value(start + (n + rows - shift) % rows * channels + c));
        }
        std::vector<N> y(v.size());
        if (c == 0) {  // the reference channel
          y = v;
        } else {
          auto const t = support::sinkhorn_matrix(v, w, tau, iterations, [](auto const&) {});
          for (std::size_t i = 0; i < y.size(); ++i)
            for (std::size_t k = 0; k < w.size(); ++k) y[i] = y[i] + t[i][k] * w[k];
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
        backward_(params.direction == "backward"),
        x_(get_dataset<T>(params.input, params.extents)),
        dy_(backward_ ? get_dataset<T>("uniform", params.extents) : nullptr),
        to_(x_->values.size()) {
    allocate(op_of(params).workspace_bytes(exec(), const_view(x_->values, params.extents)));
    traffic_bytes = (backward_ ? 3 : 2) * to_.bytes();
    // Bound of docs/operators/sinkhorn_csp.md for logits up to 50 and values up to 5.
    tolerance = 0x1p16 * unit_roundoff<T>();
  }

  void run() override {
    auto const op = op_of(params_);
    auto const x = const_view(x_->values, params_.extents);
    if (backward_)
      op.backward(exec(), const_view(dy_->values, params_.extents), x, view(to_, params_.extents),
                  scratch);
    else
      op.forward(exec(), x, view(to_, params_.extents), scratch);
  }

  double max_error() override {
    auto const value = [&](std::size_t i) { return decoded(x_->values[i]); };
    if (!backward_) {
      auto const expected = expected_y<support::real>(params_, value);
      double error = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        error = larger_error(error, std::abs(decoded(to_[i]) - static_cast<double>(expected[i])));
      return error;
    }
    // A directional derivative of <dy, y> by dual numbers, against the one from the gradient.
    auto const direction = [](std::size_t i) { return random_uniform(input_seed + 1, i) - 0.5; };
    auto const expected = expected_y<support::dual>(params_, [&](std::size_t i) {
      return support::dual{value(i), direction(i)};
    });
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double const along = decoded(to_[i]) * direction(i);
      difference += decoded(dy_->values[i]) * static_cast<double>(expected[i].slope) - along;
      size += std::abs(along);
    }
    return std::abs(difference) / size;
  }

 private:
  bool const backward_;
  std::shared_ptr<dataset<T>> x_, dy_;
  buffer<T> to_;
};

template <class T>
void add_sinkhorn_csp() {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    auto const add = [](char const* policy, char const* input, ss::extents3 e) {
      for (char const* direction : {"forward", "backward"})
        for (unsigned const threads : {1u, 2u})
          add_case<sinkhorn_job<T>>(
              {"sinkhorn_csp", direction, ss::dtype_traits<T>::name, policy, input, e, threads});
    };
    for (char const* policy :
         {"linear-sinkhorn-G:4", "linear-sinkhorn-G:16", "linear-sinkhorn-G:64"})
      add(policy, "normal", {1, 1024, 256});
    add("linear-sinkhorn-G:16", "text", {2, 1024, 256});
    for_each_sweep_shape([&](ss::extents3 e) { add("linear-sinkhorn-G:16", "uniform", e); });
    add("linear-sinkhorn-G:8", "normal", {2, 37, 24});
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const registration("sinkhorn_csp",
                                                     add_sinkhorn_csp<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
