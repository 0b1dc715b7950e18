// SPDX-License-Identifier: Apache-2.0
// The cases of linear attention. Their policy is a name such as elu_plus_one-causal-H:8: feature,
// direction and heads; elu_plus_one-causal-native-H:8 has native products. Divisors are those of
// the papers: `at_least` with cosine_reweighted, an eps of 0 with random_exp, of 1 with
// random_fourier. random_exp has D ln D orthogonal features, random_fourier D sines and D cosines.
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
  bool causal;
  ss::products multiply;
  ss::index_t heads;

  explicit linear_policy(std::string const& name)
      : feature(name.substr(0, name.find('-'))),
        causal(name.find("-causal-") != std::string::npos),
        multiply(name.find("-native-") != std::string::npos ? ss::products::native
                                                            : ss::products::exact),
        heads(std::stol(name.substr(name.rfind(':') + 1))) {}

  // Rows of w for heads of so many channels.
  ss::index_t random_features(ss::index_t channels) const {
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
void with_linear_attention(linear_policy const& p, F const& f) {
  namespace feature = ss::feature;
  auto const directed = [&](auto map, auto divisor) {
    using Map = decltype(map);
    using Divisor = decltype(divisor);
    if (p.causal)
      f(ss::linear_attention<Map, Divisor, ss::direction::causal>{map, divisor, p.multiply});
    else
      f(ss::linear_attention<Map, Divisor>{map, divisor, p.multiply});
  };
  ss::divisor::sum_plus const plus{p.eps()};
  if (p.feature == "cosine_reweighted")
    directed(feature::cosine_reweighted{}, ss::divisor::at_least{p.eps()});
  else if (p.feature == "random_exp")
    directed(feature::random_exp{}, plus);
  else if (p.feature == "random_fourier")
    directed(feature::random_fourier{}, plus);
  else
    directed(feature::elu_plus_one{}, plus);
}

// Data, the calls, and the comparison of their results with the oracle.
template <class T, class Place>
class linear_attention_job final : public attention_tensors<T, Place> {
  using base = attention_tensors<T, Place>;
  using base::at, base::backward, base::channels, base::q, base::k, base::v, base::dy, base::y;
  using base::placed_dy, base::placed_dq, base::placed_dk, base::placed_dv;
  using base::split, base::placed_q, base::placed_k, base::placed_v, base::placed_y;

 public:
  explicit linear_attention_job(fields const& f)
      : base(f, linear_policy(f.policy).heads, false),
        policy(f.policy),
        w(static_cast<std::size_t>(policy.random_features(channels) * channels)),
        placed_w({1, policy.random_features(channels), channels}, drawn_w()) {
    with_linear_attention(policy, [&](auto const& op) {
      auto const e = split(placed_q.view()).extents();
      this->allocate(op.template workspace_bytes<T>(this->exec(), e, e, placed_w.view().extents()));
    });
    this->traffic_bytes = (backward ? 7 : 4) * placed_q.bytes() + placed_w.bytes();
    double const rows = static_cast<double>(f.extents.batch * f.extents.length * policy.heads);
    double const features = static_cast<double>(oracle_of_feature().count());
    double const each =
        4.0 * features + 4.0 * static_cast<double>(policy.random_features(channels));
    this->flops = (backward ? 3.0 : 1.0) * rows * each * static_cast<double>(channels);
    this->tolerance = std::numeric_limits<double>::max();  // depends on the data: see max_error
  }

  void run() override {
    with_linear_attention(policy, [&](auto const& op) {
      ss::linear_attention_inputs<T> const in{split(placed_q.view()), split(placed_k.view()),
                                              split(placed_v.view()), placed_w.view()};
      if (backward)
        op.backward(this->exec(), split(placed_dy.const_view()), in,
                    {split(placed_dq.view()), split(placed_dk.view()), split(placed_dv.view())},
                    this->scratch);
      else
        op.forward(this->exec(), in, split(placed_y.view()), this->scratch);
    });
  }

  // Checks the last head of the last sample: y relative to the sums of absolute values, and the
  // gradients in one direction, against a difference quotient.
  double max_error() override {
    if (!this->fetch()) return wrong;
    double const u = unit_roundoff<ss::detail::accumulator_t<T>>();
    matrix const of_q = this->head_of(q->values), of_k = this->head_of(k->values),
                 of_v = this->head_of(v->values);
    if (backward) return gradient_error(of_q, of_k, of_v);
    double const sums = static_cast<double>(q->extents.length) / 64 + 64 +
                        static_cast<double>(oracle_of_feature().count());
    double const allowed = (4 * sums + 400) * u + 2 * unit_roundoff<T>();
    linear_attention_oracle const oracle(oracle_of_feature(), of_q, of_k, of_v, policy.eps(),
                                         policy.causal);
    double error = 0.0;
    for (std::size_t i = 0; i < of_q.rows; ++i)
      error = worst(error, this->error_of_row(y, i, oracle.y(i)));
    return error <= allowed ? error : wrong;
  }

 private:
  buffer<T> const& drawn_w() const {
    ss::index_t const r = policy.random_features(channels);
    if (r > 0)
      ss::random_rows{1, r, channels, ss::row_form::orthogonal_chi}.write(
          view(w, {1, r, channels}));
    return w;
  }
  feature_oracle oracle_of_feature() const {
    feature_oracle of;
    of.name = policy.feature;
    of.channels = static_cast<std::size_t>(channels);
    of.length = static_cast<std::size_t>(q->extents.length);
    of.w = matrix(static_cast<std::size_t>(policy.random_features(channels)), of.channels);
    for (std::size_t i = 0; i < of.w.values.size(); ++i) of.w.values[i] = decoded(w[i]);
    return of;
  }
  // The sum of dy * y where q, k and v are moved by `step` times their directions, and the sum of
  // absolute values.
  sized loss(feature_oracle const& of, matrix q_at, matrix k_at, matrix v_at,
             matrix const (&along)[3], double step) const {
    matrix* const moved[] = {&q_at, &k_at, &v_at};
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t i = 0; i < along[t].values.size(); ++i)
        moved[t]->values[i] += step * along[t].values[i];
    linear_attention_oracle const oracle(of, q_at, k_at, v_at, policy.eps(), policy.causal);
    sized sum;
    for (std::size_t i = 0; i < q_at.rows; ++i)
      for (std::size_t c = 0; c < v_at.columns; ++c)
        sum += sized::exact(oracle.y(i)[c].value) * decoded(dy->values[this->start(i) + c]);
    return sum;
  }
  double gradient_error(matrix const& of_q, matrix const& of_k, matrix const& of_v) const {
    matrix const all[] = {this->head_of(this->dq), this->head_of(this->dk),
                          this->head_of(this->dv)};
    feature_oracle of = oracle_of_feature();
    if (of.random())
      for (std::size_t i = 0; i < of_q.rows; ++i) {
        of.maxima_of_q.push_back(of.maximum(of_q.row(i)));
        of.maxima_of_k.push_back(of.maximum(of_k.row(i)));
      }
    double error = 0.0;
    for (std::size_t t = 0; t < 3; ++t) {
      matrix along[3];
      along[t] = matrix(all[t].rows, all[t].columns);
      sized computed;
      for (std::size_t i = 0; i < all[t].values.size(); ++i) {
        along[t].values[i] = 2 * random_uniform(t, i) - 1;
        computed += sized::exact(all[t].values[i]) * along[t].values[i];
      }
      double const step = 1e-6;
      sized const after = loss(of, of_q, of_k, of_v, along, step),
                  before = loss(of, of_q, of_k, of_v, along, -step);
      // Where keys are alike, gradients are differences of greater numbers, and hardly more than
      // their roundings.
      sized const want{(after.value - before.value) / (2 * step),
                       computed.size + 0.01 * after.size};
      error = worst(error, want.error_of(computed.value));
    }
    return error <= 2e-3 + 8 * unit_roundoff<T>() ? error : wrong;
  }

  linear_policy const policy;
  buffer<T> w;
  typename base::tensor placed_w;
};

template <class T, class F>
void for_each_linear_setting(F const& f) {
  auto const policies = [](std::string const& heads) {
    std::vector<std::string> all;
    for (char const* const form :
         {"elu_plus_one-both-H:", "elu_plus_one-causal-H:", "random_exp-both-H:",
          "random_exp-causal-H:", "cosine_reweighted-both-H:", "random_fourier-both-H:"})
      all.push_back(form + heads);
    return all;
  };
  for_each_task_direction<T>("linear_attention", policies(""), f);
  // The promised shape, and where softmax attention is left behind: heads of 64 channels.
  for (ss::index_t const n : {64, 128, 256, 512, 1024, 4096})
    for_each_direction<T>("linear_attention", policies("8"), "normal", {1, n, 512}, f);
  // Small enough to run everything once.
  for (char const* const input : {"normal", "text"})
    for_each_direction<T>("linear_attention", policies("4"), input, {2, 37, 24}, f);
}

}  // namespace bench
