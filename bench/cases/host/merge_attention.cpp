// SPDX-License-Identifier: Apache-2.0
// merge_attention of some parts. The policy is P:parts-H:heads. Compiled once per element type.
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
  using A = ss::detail::accumulator_t<T>;

 public:
  explicit merge_job(fields const& f)
      : at_(f), policy_(f.policy), rows_(f.extents.batch * policy_.heads * f.extents.length) {
    auto const numbers = static_cast<std::size_t>(2 * rows_);
    for (std::size_t p = 0; p < policy_.parts; ++p) {
      y_of_.push_back(get_dataset<T>(f.input + (p == 0 ? "" : "#" + std::to_string(p)), f.extents));
      buffer<A> state(numbers);
      for (std::size_t i = 0; i < numbers; i += 2) {
        state[i] = static_cast<A>(6 * random_uniform(p, i));
        state[i + 1] = static_cast<A>(1 + 99 * random_uniform(p, i + 1));
      }
      state_of_.push_back(std::move(state));
    }
    y_ = buffer<T>(y_of_[0]->values.size());
    state_ = buffer<A>(numbers);
    for (std::size_t p = 0; p < policy_.parts; ++p)
      parts_.push_back({heads_of(y_of_[p]->values), numbers_of(state_of_[p])});
    traffic_bytes = (policy_.parts + 1) * (y_.bytes() + state_.bytes());
    // A multiplication and an addition of every element of a part.
    flops = 2.0 * static_cast<double>(policy_.parts * y_.size());
    tolerance = 64 * unit_roundoff<A>() + 2 * unit_roundoff<T>();
  }

  void run() override { op_.forward(at_.exec(), parts_, heads_of(y_), {numbers_of(state_)}); }

  // Of some queries of the last head of the last sample, relative to the sums of absolute values.
  double max_error() override {
    ss::index_t const sample = at_.extents.batch - 1, head = policy_.heads - 1;
    ss::index_t const n = at_.extents.length, step = n / 512 | 1;
    double error = 0.0;
    for (ss::index_t i = 0; i < n; i += step) {
      auto const number = [&](std::size_t p, ss::index_t k) {
        return decoded(parts_[p].state(sample, head, i, k));
      };
      double most = number(0, 0), sum = 0.0;
      for (std::size_t p = 1; p < policy_.parts; ++p) most = std::max(most, number(p, 0));
      std::vector<double> weight;
      for (std::size_t p = 0; p < policy_.parts; ++p) {
        weight.push_back(number(p, 1) * std::exp(number(p, 0) - most));
        sum += weight.back();
      }
      auto const saved = numbers_of(state_);
      if (decoded(saved(sample, head, i, 0)) != most) error = wrong;
      error = worst(error, std::abs(decoded(saved(sample, head, i, 1)) - sum) / sum);
      for (ss::index_t c = 0; c < at_.extents.channels / policy_.heads; ++c) {
        sized want;
        for (std::size_t p = 0; p < policy_.parts; ++p)
          want += sized::exact(decoded(parts_[p].y(sample, head, i, c))) * (weight[p] / sum);
        error = worst(error, want.error_of(decoded(heads_of(y_)(sample, head, i, c))));
      }
    }
    return error;
  }

 private:
  ss::tensor4<T> heads_of(buffer<T> const& b) const {
    return ss::split_heads(view(b, at_.extents), policy_.heads);
  }
  ss::tensor4<A> numbers_of(buffer<A> const& b) const {
    return {b.data(), {at_.extents.batch, policy_.heads, at_.extents.length, 2}};
  }

  fields const at_;
  merge_policy const policy_;
  ss::index_t const rows_;
  ss::merge_attention const op_{};
  std::vector<std::shared_ptr<dataset<T>>> y_of_;
  std::vector<buffer<A>> state_of_;
  std::vector<ss::attention_part<T>> parts_;
  buffer<T> y_;
  buffer<A> state_;
};

template <class T>
void add_merge_attention() {
  auto const add = [](std::string const& policy, std::string const& input, ss::extents3 e) {
    for (unsigned const threads : {1u, 2u})
      add_case<merge_job<T>>(
          {"merge_attention", "forward", ss::dtype_traits<T>::name, policy, input, e, threads});
  };
  // Within a cache, and beyond: heads of 64 channels.
  for (ss::index_t const n : {64, 512, 4096, 32768})
    for (char const* const policy : {"P:2-H:8", "P:4-H:8", "P:16-H:8"})
      add(policy, "normal", {1, n, 512});
  for_each_sweep_shape([&](ss::extents3 e) { add("P:2-H:4", "uniform", e); });
  // Small enough to run everything once.
  for (char const* const input : {"normal", "text"}) add("P:3-H:4", input, {2, 37, 24});
}
subject_of<SLICESORT_BENCH_DTYPE> const here("merge_attention",
                                             add_merge_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
