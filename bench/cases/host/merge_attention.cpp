// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of merge_attention. A policy P:3-H:4 has 3 parts and 4 heads. Compiled once per
// element type.
#include "driver/dataset.hpp"
#include "driver/settings.hpp"

#include <slicesort/merge_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

struct merge_policy {
  std::size_t parts;
  ss::index_t heads;

  explicit merge_policy(std::string const& name)
      : parts(std::stoul(name.substr(2))), heads(std::stol(name.substr(name.rfind(':') + 1))) {}
};

template <class T>
class merge_job final : public job {
  using accumulator = ss::detail::accumulator_t<T>;

 public:
  explicit merge_job(case_params const& params)
      : params_(params),
        policy_(params.policy),
        rows_(params.extents.batch * policy_.heads * params.extents.length) {
    auto const state_size = static_cast<std::size_t>(2 * rows_);  // maximum and sum per query
    for (std::size_t p = 0; p < policy_.parts; ++p) {
      part_y_.push_back(
          get_dataset<T>(params.input + (p == 0 ? "" : "#" + std::to_string(p)), params.extents));
      buffer<accumulator> state(state_size);
      for (std::size_t i = 0; i < state_size; i += 2) {
        state[i] = static_cast<accumulator>(6 * random_uniform(p, i));
        state[i + 1] = static_cast<accumulator>(1 + 99 * random_uniform(p, i + 1));
      }
      part_state_.push_back(std::move(state));
    }
    y_ = buffer<T>(part_y_[0]->values.size());
    state_ = buffer<accumulator>(state_size);
    for (std::size_t p = 0; p < policy_.parts; ++p)
      parts_.push_back({heads_view(part_y_[p]->values), state_view(part_state_[p])});
    traffic_bytes = (policy_.parts + 1) * (y_.bytes() + state_.bytes());
    flops = 2.0 * static_cast<double>(policy_.parts * y_.size());
    tolerance = 64 * unit_roundoff<accumulator>() + 2 * unit_roundoff<T>();
  }

  void run() override { op_.forward(params_.exec(), parts_, heads_view(y_), {state_view(state_)}); }

  // Verifies some queries of the last head of the last sample. Errors are relative to sums of
  // absolute values.
  double max_error() override {
    ss::index_t const sample = params_.extents.batch - 1, head = policy_.heads - 1;
    ss::index_t const n = params_.extents.length, stride = n / 512 | 1;
    double error = 0.0;
    for (ss::index_t i = 0; i < n; i += stride) {
      auto const part_state = [&](std::size_t p, ss::index_t k) {
        return to_double(parts_[p].state(sample, head, i, k));
      };
      double maximum = part_state(0, 0), sum = 0.0;
      for (std::size_t p = 1; p < policy_.parts; ++p) maximum = std::max(maximum, part_state(p, 0));
      std::vector<double> weight;
      for (std::size_t p = 0; p < policy_.parts; ++p) {
        weight.push_back(part_state(p, 1) * std::exp(part_state(p, 0) - maximum));
        sum += weight.back();
      }
      auto const saved = state_view(state_);
      if (to_double(saved(sample, head, i, 0)) != maximum) error = wrong_result;
      error = larger_error(error, std::abs(to_double(saved(sample, head, i, 1)) - sum) / sum);
      for (ss::index_t c = 0; c < params_.extents.channels / policy_.heads; ++c) {
        tracked_sum expected;
        for (std::size_t p = 0; p < policy_.parts; ++p)
          expected +=
              tracked_sum::exact(to_double(parts_[p].y(sample, head, i, c))) * (weight[p] / sum);
        error =
            larger_error(error, expected.error_of(to_double(heads_view(y_)(sample, head, i, c))));
      }
    }
    return error;
  }

 private:
  ss::tensor4<T> heads_view(buffer<T> const& b) const {
    return ss::split_heads(view(b, params_.extents), policy_.heads);
  }
  ss::tensor4<accumulator> state_view(buffer<accumulator> const& b) const {
    return {b.data(), {params_.extents.batch, policy_.heads, params_.extents.length, 2}};
  }

  case_params const params_;
  merge_policy const policy_;
  ss::index_t const rows_;
  ss::merge_attention const op_{};
  std::vector<std::shared_ptr<dataset<T>>> part_y_;
  std::vector<buffer<accumulator>> part_state_;
  std::vector<ss::attention_part<T>> parts_;
  buffer<T> y_;
  buffer<accumulator> state_;
};

template <class T>
void add_merge_attention() {
  auto const add = [](std::string const& policy, std::string const& input, ss::extents3 shape) {
    for (unsigned const threads : {1u, 2u})
      add_case<merge_job<T>>(
          {"merge_attention", "forward", ss::dtype_traits<T>::name, policy, input, shape, threads});
  };
  // Heads of 64 channels, in cache and beyond.
  for (ss::index_t const n : {64, 512, 4096, 32768})
    for (char const* const policy : {"P:2-H:8", "P:4-H:8", "P:16-H:8"})
      add(policy, "normal", {1, n, 512});
  for_each_sweep_shape([&](ss::extents3 shape) { add("P:2-H:4", "uniform", shape); });
  // Small shape for --smoke.
  for (char const* const input : {"normal", "text"}) add("P:3-H:4", input, {2, 37, 24});
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "merge_attention", add_merge_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
