// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of linear attention. A policy such as elu_plus_one-causal-H:8 names feature,
// direction and heads; elu_plus_one-causal-native-H:8 has native products. Divisors follow the
// papers: `at_least` for cosine_reweighted, else `sum_plus` with an eps of 0 for random_exp and 1
// for random_fourier. random_exp has D ln D orthogonal features, random_fourier D sines and D
// cosines.
#pragma once

#include "attention_tensors.hpp"
#include "linear_attention_oracle.hpp"

#include <slicesort/linear_attention.hpp>
#include <slicesort/random_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace bench {

struct linear_policy {
  std::string feature;
  bool is_causal;
  ss::products products;
  ss::index_t heads;

  explicit linear_policy(std::string const& name)
      : feature(name.substr(0, name.find('-'))),
        is_causal(name.find("-causal-") != std::string::npos),
        products(name.find("-native-") != std::string::npos ? ss::products::native
                                                            : ss::products::exact),
        heads(std::stol(name.substr(name.rfind(':') + 1))) {}

  // Rows of w for heads of `channels` channels.
  ss::index_t w_rows(ss::index_t channels) const {
    double const d = static_cast<double>(channels);
    if (feature == "random_exp")
      return std::max<ss::index_t>(1, static_cast<ss::index_t>(d * std::log(d)));
    return feature == "random_fourier" ? channels : 0;
  }
  double eps() const {
    return feature == "random_exp" ? 0.0 : feature == "random_fourier" ? 1.0 : 1e-6;
  }
};

// Calls `f` with the operator of the case.
template <class F>
void with_linear_attention(linear_policy const& policy, F const& f) {
  namespace feature = ss::feature;
  auto const with_direction = [&](auto feature_map, auto divisor) {
    using Map = decltype(feature_map);
    using Divisor = decltype(divisor);
    if (policy.is_causal)
      f(ss::linear_attention<Map, Divisor, ss::direction::causal>{feature_map, divisor,
                                                                  policy.products});
    else
      f(ss::linear_attention<Map, Divisor>{feature_map, divisor, policy.products});
  };
  ss::divisor::sum_plus const sum_plus{policy.eps()};
  if (policy.feature == "cosine_reweighted")
    with_direction(feature::cosine_reweighted{}, ss::divisor::at_least{policy.eps()});
  else if (policy.feature == "random_exp")
    with_direction(feature::random_exp{}, sum_plus);
  else if (policy.feature == "random_fourier")
    with_direction(feature::random_fourier{}, sum_plus);
  else
    with_direction(feature::elu_plus_one{}, sum_plus);
}

template <class T, class Backend>
class linear_attention_job final : public attention_tensors<T, Backend> {
  using base = attention_tensors<T, Backend>;
  using base::backend_dy, base::backend_dq, base::backend_dk, base::backend_dv;
  using base::params_, base::is_backward, base::channels, base::q, base::k, base::v, base::dy,
      base::y;
  using base::split, base::backend_q, base::backend_k, base::backend_v, base::backend_y;

 public:
  explicit linear_attention_job(case_params const& params)
      : base(params, linear_policy(params.policy).heads, false),
        policy(params.policy),
        w(static_cast<std::size_t>(policy.w_rows(channels) * channels)),
        backend_w({1, policy.w_rows(channels), channels}, draw_w()) {
    with_linear_attention(policy, [&](auto const& op) {
      auto const e = split(backend_q.view()).extents();
      this->allocate_scratch(
          op.template workspace_bytes<T>(this->exec(), e, e, backend_w.view().extents()));
    });
    this->traffic_bytes = (is_backward ? 7 : 4) * backend_q.bytes() + backend_w.bytes();
    double const rows =
        static_cast<double>(params.extents.batch * params.extents.length * policy.heads);
    double const features = static_cast<double>(make_feature_oracle().count());
    double const row_flops = 4.0 * features + 4.0 * static_cast<double>(policy.w_rows(channels));
    this->flops = (is_backward ? 3.0 : 1.0) * rows * row_flops * static_cast<double>(channels);
    this->tolerance = std::numeric_limits<double>::max();  // depends on the data: see max_error
  }

  void run() override {
    with_linear_attention(policy, [&](auto const& op) {
      ss::linear_attention_inputs<T> const inputs{split(backend_q.view()), split(backend_k.view()),
                                                  split(backend_v.view()), backend_w.view()};
      if (is_backward)
        op.backward(this->exec(), split(backend_dy.const_view()), inputs,
                    {split(backend_dq.view()), split(backend_dk.view()), split(backend_dv.view())},
                    this->scratch);
      else
        op.forward(this->exec(), inputs, split(backend_y.view()), this->scratch);
    });
  }

  // Verifies the last head of the last sample: y relative to sums of absolute values, or a
  // directional derivative against a finite difference.
  double max_error() override {
    if (!this->fetch()) return wrong_result;
    double const sum_roundoff = unit_roundoff<ss::detail::accumulator_t<T>>();
    matrix const q_head = this->last_head(q->values), k_head = this->last_head(k->values),
                 v_head = this->last_head(v->values);
    if (is_backward) return gradient_error(q_head, k_head, v_head);
    double const roundings = static_cast<double>(q->extents.length) / 64 + 64 +
                             static_cast<double>(make_feature_oracle().count());
    double const error_bound = (4 * roundings + 400) * sum_roundoff + 2 * unit_roundoff<T>();
    linear_attention_oracle const oracle(make_feature_oracle(), q_head, k_head, v_head,
                                         policy.eps(), policy.is_causal);
    double error = 0.0;
    for (std::size_t i = 0; i < q_head.rows; ++i)
      error = larger_error(error, this->row_error(y, i, oracle.y(i)));
    return error <= error_bound ? error : wrong_result;
  }

 private:
  buffer<T> const& draw_w() const {
    ss::index_t const rows = policy.w_rows(channels);
    if (rows > 0)
      ss::random_rows{1, rows, channels, ss::row_form::orthogonal_chi}.write(
          view(w, {1, rows, channels}));
    return w;
  }
  feature_oracle make_feature_oracle() const {
    feature_oracle feature;
    feature.name = policy.feature;
    feature.channels = static_cast<std::size_t>(channels);
    feature.length = static_cast<std::size_t>(q->extents.length);
    feature.w = matrix(static_cast<std::size_t>(policy.w_rows(channels)), feature.channels);
    for (std::size_t i = 0; i < feature.w.values.size(); ++i) feature.w.values[i] = to_double(w[i]);
    return feature;
  }
  // The sum of dy * y after moving q, k and v by `step` times their directions.
  tracked_sum loss(feature_oracle const& feature, matrix q_at, matrix k_at, matrix v_at,
                   matrix const (&directions)[3], double step) const {
    matrix* const points[] = {&q_at, &k_at, &v_at};
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t i = 0; i < directions[t].values.size(); ++i)
        points[t]->values[i] += step * directions[t].values[i];
    linear_attention_oracle const oracle(feature, q_at, k_at, v_at, policy.eps(), policy.is_causal);
    tracked_sum sum;
    for (std::size_t i = 0; i < q_at.rows; ++i)
      for (std::size_t c = 0; c < v_at.columns; ++c)
        sum += tracked_sum::exact(oracle.y(i)[c].value) *
               to_double(dy->values[this->row_offset(i) + c]);
    return sum;
  }
  double gradient_error(matrix const& q_head, matrix const& k_head, matrix const& v_head) const {
    matrix const grads[] = {this->last_head(this->dq), this->last_head(this->dk),
                            this->last_head(this->dv)};
    feature_oracle feature = make_feature_oracle();
    if (feature.is_random())
      for (std::size_t i = 0; i < q_head.rows; ++i) {
        feature.q_maxima.push_back(feature.maximum(q_head.row(i)));
        feature.k_maxima.push_back(feature.maximum(k_head.row(i)));
      }
    double error = 0.0;
    for (std::size_t t = 0; t < 3; ++t) {
      matrix directions[3];
      directions[t] = matrix(grads[t].rows, grads[t].columns);
      tracked_sum computed;
      for (std::size_t i = 0; i < grads[t].values.size(); ++i) {
        directions[t].values[i] = 2 * random_uniform(t, i) - 1;
        computed += tracked_sum::exact(grads[t].values[i]) * directions[t].values[i];
      }
      double const step = 1e-6;
      tracked_sum const after = loss(feature, q_head, k_head, v_head, directions, step),
                        before = loss(feature, q_head, k_head, v_head, directions, -step);
      // Adds a share of the loss to the magnitude: if keys are similar, gradients are differences
      // of larger numbers and close to their rounding errors.
      tracked_sum const expected{(after.value - before.value) / (2 * step),
                                 computed.magnitude + 0.01 * after.magnitude};
      error = larger_error(error, expected.error_of(computed.value));
    }
    return error <= 2e-3 + 8 * unit_roundoff<T>() ? error : wrong_result;
  }

  linear_policy const policy;
  buffer<T> w;
  typename base::tensor backend_w;
};

template <class T, class F>
void for_each_linear_setting(F const& f) {
  auto const policies = [](std::string const& heads) {
    std::vector<std::string> names;
    for (char const* const prefix :
         {"elu_plus_one-both-H:", "elu_plus_one-causal-H:", "random_exp-both-H:",
          "random_exp-causal-H:", "cosine_reweighted-both-H:", "random_fourier-both-H:"})
      names.push_back(prefix + heads);
    return names;
  };
  for_each_task_direction<T>("linear_attention", policies(""), f);
  // Heads of 64 channels: the shape of the targets, and lengths around the crossover with softmax.
  for (ss::index_t const n : {64, 128, 256, 512, 1024, 4096})
    for_each_direction<T>("linear_attention", policies("8"), "normal", {1, n, 512}, f);
  // Small shape for --smoke.
  for (char const* const input : {"normal", "text"})
    for_each_direction<T>("linear_attention", policies("4"), input, {2, 37, 24}, f);
}

}  // namespace bench
