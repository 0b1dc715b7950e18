// SPDX-License-Identifier: Apache-2.0
// Registers sparse_mix and its baselines: factor by factor, and multiply-adds without loads.
// Compiled once per element type.
#include "cases/mix_jobs.hpp"
#include "driver/host/mix_baseline.hpp"
#include "driver/settings.hpp"

#include <slicesort/sparse_mix.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {
namespace {

// sparse_mix as a loop over factors, each over the whole tensor.
template <class T>
class per_factor_job final : public mix_job<T> {
 public:
  explicit per_factor_job(case_params const& params)
      : mix_job<T>(params), ping_pong_buffer_(this->to.size()) {
    this->workspace_bytes = ping_pong_buffer_.bytes();
  }
  void run() override {
    ss::extents3 const extents = this->params_.extents;
    ss::index_t const links = this->shape.channels, factors = this->shape.outer;
    std::vector<ss::index_t> offset(static_cast<std::size_t>(links));
    T const* v = this->x->values.data();
    for (ss::index_t m = 0; m < factors; ++m) {
      for (ss::index_t k = 0; k < links; ++k)
        offset[static_cast<std::size_t>(k)] =
            (this->policy.offset(k, m) % extents.length + extents.length) % extents.length;
      T* const next = (factors - m) % 2 != 0 ? this->to.data() : ping_pong_buffer_.data();
      with_mix_baseline<T>(this->params_.isa, [&](auto baseline) {
        this->params_.exec().parallel_for(this->params_.threads, [&](unsigned thread) {
          auto const first_row = [&](unsigned t) {
            return extents.length * static_cast<ss::index_t>(t) /
                   static_cast<ss::index_t>(this->params_.threads);
          };
          ss::index_t const size = extents.length * extents.channels;
          for (ss::index_t b = 0; b < extents.batch; ++b)
            baseline.mix_rows(
                v + b * size,
                this->weights.data() + (m * extents.batch + b) * extents.length * links,
                next + b * size, offset.data(), links, extents.length, extents.channels,
                first_row(thread), first_row(thread + 1));
        });
      });
      v = next;
    }
  }

 private:
  buffer<T> ping_pong_buffer_;
};

// The multiply-adds of sparse_mix without loads and stores.
template <class T>
class multiply_add_job final : public mix_job<T> {
 public:
  explicit multiply_add_job(case_params const& params) : mix_job<T>(params) {}
  void run() override {
    double const multiplications = static_cast<double>(this->params_.extents.size()) *
                                   static_cast<double>(this->shape.outer * this->shape.channels);
    with_mix_baseline<T>(this->params_.isa, [&](auto baseline) {
      this->params_.exec().parallel_for(this->params_.threads, [&](unsigned thread) {
        T const sum =
            baseline.multiply_add(multiplications / this->params_.threads, from_double<T>(0.5));
        if (thread == 0) sum_ = sum;
      });
    });
  }
  // Each of the 16 sums starts at 1, and s * 1/2 + 1/2 keeps it there.
  double max_error() override { return std::abs(to_double(sum_) - 16.0); }

 private:
  T sum_ = T(0.0F);
};

template <class T>
void add_sparse_mix() {
  constexpr bool has_baselines = std::is_same_v<T, float> || std::is_same_v<T, double>;
  auto const add = [](std::string const& policy, std::string const& input, ss::extents3 extents) {
    for (unsigned const threads : {1u, 2u}) {
      auto const make_params = [&](char const* subject, char const* direction) {
        return case_params{subject, direction, ss::dtype_traits<T>::name, policy, input,
                           extents, threads};
      };
      if constexpr (has_baselines)
        if (mix_policy(policy).residual == "per_factor") {
          add_case<per_factor_job<T>>(make_params("baseline_per_factor", "forward_values"));
          add_case<multiply_add_job<T>>(make_params("baseline_multiply_add", "forward_values"));
        }
      for (char const* direction : {"forward", "forward_values", "backward", "backward_input"})
        add_case<mix_call_job<T, host_backend>>(make_params("sparse_mix", direction));
      add_case<mix_call_job<T, host_backend>>(make_params("sparse_mix_recompute", "backward"));
    }
  };
  for (char const* topology : {"chord", "cdil"}) {
    auto const policy = [&](char const* residual, ss::index_t factors) {
      return std::string(topology) + '-' + residual + "-M:" + std::to_string(factors);
    };
    // One wide sample.
    add(policy("per_factor", 12), "normal", {1, 4096, 512});
    if (std::is_same_v<T, float>) {
      for (ss::index_t const n : {1024, 16384})
        add(policy("per_factor", ss::ceil_log2(n)), "normal", {1, n, 512});
    }
    for_each_task_shape([&](std::string const& input, ss::extents3 extents) {
      add(policy("per_factor", ss::ceil_log2(extents.length)), input, extents);
    });
    for_each_sweep_shape(
        [&](ss::extents3 extents) { add(policy("per_factor", 12), "uniform", extents); });
    // Small shape for --smoke.
    for (char const* residual : {"per_factor", "none", "initial"})
      add(policy(residual, 6), "normal", {2, 37, 24});
    add(policy("per_factor", 6), "text", {2, 37, 24});
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "sparse_mix", add_sparse_mix<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
