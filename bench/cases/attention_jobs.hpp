// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of softmax attention. A policy such as streaming-window-H:4 names algorithm, mask
// and heads. The algorithm `native` is streaming with native products. Two names replace the mask:
// `relative` is a bias by distance, shared by all heads, with its gradient; `dropout` drops a tenth
// of the weights.
#pragma once

#include "attention_masks.hpp"
#include "attention_tensors.hpp"

#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

struct attention_policy {
  std::string algorithm, mask_name;
  attention_mask mask;
  ss::index_t heads;

  attention_policy(std::string const& name, ss::index_t length)
      : algorithm(name.substr(0, name.find('-'))),
        mask_name(name.substr(algorithm.size() + 1, name.rfind("-H:") - algorithm.size() - 1)),
        mask(mask_name, length),
        heads(std::stol(name.substr(name.rfind(':') + 1))) {}

  bool is_relative() const { return mask_name == "relative"; }
  ss::dropout dropout() const {
    return mask_name == "dropout" ? ss::dropout{0.1, 1} : ss::dropout{};
  }
  bool is_materialized() const { return algorithm == "materialized"; }
};

// Calls `f` with the operator of the case.
template <class Backend, class Materialized, class F>
auto with_attention(case_params const& params, Materialized materialized, F const& f) {
  attention_policy const policy(params.policy, params.extents.length);
  if (policy.is_materialized())
    return f(ss::softmax_attention<ss::mask::full, Materialized>{materialized});
  if (policy.algorithm == "native") return f(ss::softmax_attention<>{ss::products::native});
  auto const streaming = [&](auto mask) { f(ss::softmax_attention<decltype(mask)>{mask}); };
  if constexpr (Backend::has_all_policies)
    return policy.mask.with(streaming);
  else
    return policy.mask.with_dense(streaming);
}

// Bytes that forward saves: maximum and sum per query, or all weights.
template <class T>
std::size_t attention_state_bytes(case_params const& params) {
  attention_policy const policy(params.policy, params.extents.length);
  auto const queries =
      static_cast<std::size_t>(params.extents.batch * policy.heads * params.extents.length);
  return policy.is_materialized()
             ? queries * static_cast<std::size_t>(params.extents.length) * sizeof(T)
             : queries * 2 * sizeof(ss::detail::accumulator_t<T>);
}

// `MaterializedFactory::make(policy)` returns the materialized algorithm.
template <class T, class Backend, class MaterializedFactory>
class attention_job final : public attention_tensors<T, Backend> {
  using base = attention_tensors<T, Backend>;
  using base::backend_dy, base::backend_dq, base::backend_dk, base::backend_dv;
  using base::params_, base::is_backward, base::heads, base::q, base::k, base::v, base::dy, base::y;
  using base::split, base::backend_q, base::backend_k, base::backend_v, base::backend_y;

 public:
  explicit attention_job(case_params const& params)
      : base(params, attention_policy(params.policy, params.extents.length).heads, true),
        policy(params.policy, params.extents.length),
        bias(static_cast<std::size_t>(policy.is_relative() ? 2 * params.extents.length - 1 : 0)),
        dbias(is_backward ? bias.size() : 0),
        backend_bias(bias_extents(), fill_bias(bias)),
        backend_dbias(bias_extents(), dbias) {
    this->saved_bytes = params.direction == "forward_values" ? 0 : attention_state_bytes<T>(params);
    this->traffic_bytes = (is_backward ? 8 : 4) * backend_q.bytes() + this->saved_bytes;
    // Two matrix products forward; four backward, and a fifth if the weights are recomputed.
    double const products = is_backward ? (policy.is_materialized() ? 4.0 : 5.0) : 2.0;
    double const pairs = policy.mask.count_pairs(heads) * static_cast<double>(params.extents.batch);
    this->flops = products * 2.0 * pairs * static_cast<double>(this->channels);
    this->tolerance = std::numeric_limits<double>::max();  // depends on the data: see max_error
    state = decltype(state)(this->saved_bytes);
    with_operator([&](auto const& op, auto const& saved) {
      this->allocate_scratch(op.template workspace_bytes<T>(
          this->exec(), split(backend_q.view()).extents(), split(backend_v.view()).extents(),
          bias_view(backend_dbias.view()).extents()));
      if (!is_backward) return;
      op.forward(this->exec(), inputs(), split(backend_y.view()), saved, this->scratch,
                 options<ss::attention_options>());
      Backend::wait();
    });
  }

  void run() override {
    with_operator([&](auto const& op, auto const& saved) {
      auto const exec = this->exec();
      auto const out = split(backend_y.view());
      if (is_backward)
        op.backward(exec, split(backend_dy.const_view()), inputs(), split(backend_y.const_view()),
                    saved,
                    {split(backend_dq.view()), split(backend_dk.view()), split(backend_dv.view()),
                     bias_view(backend_dbias.view())},
                    this->scratch, options<ss::attention_backward_options>());
      else if (params_.direction == "forward")
        op.forward(exec, inputs(), out, saved, this->scratch, options<ss::attention_options>());
      else
        op.forward(exec, inputs(), out, ss::no_saved, this->scratch,
                   options<ss::attention_options>());
    });
  }

  // Verifies the last head of the last sample. Errors are relative to sums of absolute values.
  double max_error() override {
    if (!this->fetch()) return wrong_result;
    attention_oracle const oracle(this->last_head(q->values), this->last_head(k->values),
                                  this->last_head(v->values),
                                  is_backward ? this->last_head(dy->values) : matrix(),
                                  policy.mask.visibility(heads - 1), modifiers());
    return this->error_of(oracle);
  }

 private:
  // Calls f(operator, saved state).
  template <class F>
  void with_operator(F const& f) {
    with_attention<Backend>(params_, MaterializedFactory::make(policy), [&](auto const& op) {
      if constexpr (std::is_same_v<decltype(op.algorithm()), ss::streaming const&>)
        f(op, state_view<ss::detail::accumulator_t<T>>(2));
      else
        f(op, state_view<T>(this->params_.extents.length));
    });
  }
  template <class S>
  ss::tensor4<S> state_view(ss::index_t values_per_query) const {
    return {reinterpret_cast<S*>(state.data()),
            {params_.extents.batch, heads, params_.extents.length, values_per_query}};
  }
  ss::attention_inputs<T> inputs() const {
    return {split(backend_q.view()), split(backend_k.view()), split(backend_v.view()),
            bias_view(backend_bias.view())};
  }
  template <class Options>
  Options options() const {
    Options result;
    result.dropout = policy.dropout();
    return result;
  }

  ss::extents3 bias_extents() const { return {1, 1, static_cast<ss::index_t>(bias.size())}; }
  static ss::tensor4<T> bias_view(ss::tensor3<T> b) {
    if (b.data() == nullptr) return {};
    return {b.data(), {1, 1, 1, b.extents().channels}};
  }
  // Fills ALiBi's bias by distance, with a small slope.
  static buffer<T> const& fill_bias(buffer<T> const& b) {
    double const middle = static_cast<double>(b.size() / 2);
    for (std::size_t n = 0; n < b.size(); ++n)
      b[n] = from_double<T>(-std::abs(static_cast<double>(n) - middle) / 1024);
    return b;
  }
  attention_oracle::modifiers modifiers() const {
    attention_oracle::modifiers result;
    if (policy.is_relative())
      result.bias = [this](std::size_t i, std::size_t j) {
        return to_double(bias[j + static_cast<std::size_t>(q->extents.length) - 1 - i]);
      };
    ss::dropout const dropout = policy.dropout();
    if (dropout.rate > 0)
      result.dropout_factor = [this, dropout](std::size_t i, std::size_t j) {
        auto const last_head = static_cast<std::uint64_t>(q->extents.batch * heads - 1);
        std::uint64_t const pair_index = i * static_cast<std::uint64_t>(q->extents.length) + j;
        return ss::detail::counter_hash32(dropout.seed, last_head, pair_index) >=
                       dropout.rate * 4294967296.0
                   ? 1 / (1 - dropout.rate)
                   : 0.0;
      };
    return result;
  }

  attention_policy const policy;
  buffer<T> bias, dbias;  // [2 N - 1], or empty
  typename base::tensor backend_bias, backend_dbias;
  typename Backend::template memory<unsigned char> state;
};

template <class T, class F>
void for_each_attention_setting(F const& f) {
  for_each_task_direction<T>("softmax_attention",
                             {"streaming-full-H:", "streaming-window-H:",
                              "streaming-block_local-H:", "materialized-full-H:"},
                             f);
  // Shapes of the targets: heads of 64 channels.
  for_each_direction<T>("softmax_attention", {"streaming-full-H:8", "materialized-full-H:8"},
                        "normal", {1, 4096, 512}, f);
  // Small shape for --smoke.
  for (char const* const input : {"normal", "text"})
    for_each_direction<T>("softmax_attention",
                          {"streaming-full-H:4", "streaming-window-H:4",
                           "streaming-block_local-H:4", "materialized-full-H:4"},
                          input, {2, 37, 24}, f);
}

// Relative bias and dropout.
template <class T, class F>
void for_each_variant_setting(F const& f) {
  for_each_direction<T>("softmax_attention", {"streaming-relative-H:8", "streaming-dropout-H:8"},
                        "normal", {1, 4096, 512}, f);
  for_each_direction<T>("softmax_attention", {"streaming-relative-H:4", "streaming-dropout-H:4"},
                        "normal", {2, 37, 24}, f);
}

// Sparse masks.
template <class T, class F>
void for_each_sparse_setting(F const& f) {
  for_each_task_direction<T>(
      "softmax_attention",
      {"streaming-causal-H:", "streaming-strided-H:", "streaming-window_globals-H:",
       "streaming-causal_fixed-H:", "streaming-bigbird-H:"},
      f);
  for_each_direction<T>(
      "softmax_attention",
      {"streaming-window_globals-H:8", "streaming-fixed-H:8", "streaming-bigbird-H:8"}, "normal",
      {1, 4096, 512}, f);
  for_each_direction<T>(
      "softmax_attention",
      {"streaming-causal-H:4", "streaming-strided-H:4", "streaming-window_globals-H:4",
       "streaming-fixed-H:4", "streaming-causal_fixed-H:4", "streaming-bigbird-H:4"},
      "normal", {2, 37, 24}, f);
}

// Native products.
template <class T, class F>
void for_each_native_setting(F const& f) {
  for_each_task_direction<T>("softmax_attention", {"native-full-H:"}, f);
  for_each_direction<T>("softmax_attention", {"native-full-H:8"}, "normal", {1, 4096, 512}, f);
  for (char const* const input : {"normal", "text"})
    for_each_direction<T>("softmax_attention", {"native-full-H:4"}, input, {2, 37, 24}, f);
}

}  // namespace bench
