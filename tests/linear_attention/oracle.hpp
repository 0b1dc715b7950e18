// SPDX-License-Identifier: Apache-2.0
// Linear attention by definition, in long double, with one weight per query and key: A_ij =
// <phi(q_i), phi(k_j)>, times exp(m_j - m_i) where the features of keys are relative to a running
// maximum m; y_i = sum A_ij v_j / D(sum A_ij). Native products first round their operands: the
// features, the weights (or partial sums in their place), and likewise for gradients of weights.
//
// Roundings of a term (estimate.hpp), in any order of the sums: at most one per summed key or
// query, and one per feature, channel or value. Products add a few, and so does rescaling or adding
// sums once per tile of 64 rows. Factors that rescale a sum are exponentials: 4 u each, plus the
// rounding of their arguments, in total at most (|m_j| + |m_i|) u.
#pragma once

#include "estimate.hpp"
#include "feature_oracle.hpp"
#include "operators/compiled_once.hpp"
#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace support {

struct bounded_linear_results {
  std::vector<bounded> y, dq, dk, dv, dw;
};

// Maxima of random_exp, per query and key of every head. Gradients treat them as constants, so
// finite differences use the maxima of the unperturbed problem.
struct feature_maxima {
  std::vector<estimate> q, k;
};

template <class T>
class linear_oracle {
 public:
  explicit linear_oracle(linear_problem<T> const& problem,
                         feature_maxima const* fixed_maxima = nullptr)
      : problem_(problem),
        roundings_(roundings::make<T>(problem.multiply)),
        fixed_maxima_(fixed_maxima) {
    auto const size = [](extents4 e) { return static_cast<std::size_t>(e.size()); };
    y_.resize(size(problem.size.y()));
    dq_.resize(size(problem.size.q())), dk_.resize(size(problem.size.k())),
        dv_.resize(size(problem.size.v()));
    dw_.resize(size(problem.w_shape()));
    maxima_.q.resize(size({problem.size.batch, problem.size.heads, problem.size.queries, 1}));
    maxima_.k.resize(size({problem.size.batch, problem.size.heads, problem.size.keys, 1}));
    for (sample_ = 0; sample_ < problem.size.batch; ++sample_)
      for (head_ = 0; head_ < problem.size.heads; ++head_) compute_head();
    index_t const heads = problem.size.batch * problem.size.heads;
    for (estimate& sum : dw_)
      sum = roundings_.rounded(sum, heads * (problem.size.queries + problem.size.keys + 1) + 6);
  }

  // Returns the outputs of forward, without bounds.
  std::vector<long double> outputs() const {
    std::vector<long double> values;
    for (estimate const& y : y_) values.push_back(y.value);
    return values;
  }
  // Returns each query's sum of weights, before the divisor.
  std::vector<long double> const& weight_sums() const { return weight_sums_; }
  feature_maxima const& maxima() const { return maxima_; }
  bounded_linear_results answer() const {
    auto const round_result = [&](estimates const& exact, std::vector<T> const& before,
                                  ss::grad_mode mode) {
      std::vector<bounded> result;
      for (std::size_t i = 0; i < exact.size(); ++i)
        result.push_back(roundings_.round_result(
            exact[i], mode, mode == ss::grad_mode::accumulate ? before[i] : T{}));
      return result;
    };
    return {round_result(y_, {}, ss::grad_mode::overwrite),
            round_result(dq_, problem_.dq, problem_.mode),
            round_result(dk_, problem_.dk, problem_.mode),
            round_result(dv_, problem_.dv, problem_.mode),
            round_result(dw_, problem_.dw, problem_.mode)};
  }

 private:
  using vector = std::vector<long double>;
  static std::size_t as_size(index_t i) { return static_cast<std::size_t>(i); }
  std::size_t at(extents4 e, index_t row, index_t c) const {
    index_t const group = problem_.size.heads / std::max<index_t>(e.heads, 1);
    return linear_size::at(e, sample_, head_ / group, row, c);
  }
  vector row_of(std::vector<T> const& tensor, extents4 e, index_t row) const {
    vector values;
    for (index_t c = 0; c < e.channels; ++c) values.push_back(decode(tensor[at(e, row, c)]).value);
    return values;
  }
  bool has_maximum() const {
    return std::holds_alternative<ss::feature::random_exp>(problem_.feature);
  }
  // Index of the first element of the head's w.
  std::size_t w_offset() const {
    index_t const kv_head = head_ / problem_.size.group;
    return problem_.shared_w ? 0 : as_size(kv_head * problem_.size.w_rows * problem_.size.channels);
  }

  void compute_head() {
    linear_size const& s = problem_.size;
    index_t const valid_queries = problem_.valid_queries(sample_),
                  valid_keys = problem_.valid_keys(sample_);
    vector w;
    if (uses_w(problem_.feature))
      for (index_t i = 0; i < s.w_rows * s.channels; ++i)
        w.push_back(decode(problem_.w[w_offset() + as_size(i)]).value);
    feature_oracle const features(problem_.feature, roundings_, s.channels, s.w_rows, w);

    std::vector<oracle_row> q, k;
    for (index_t i = 0; i < valid_queries; ++i)
      q.push_back({row_of(problem_.q, s.q(), i), i, std::max(valid_queries, valid_keys), {}});
    for (index_t j = 0; j < valid_keys; ++j)
      k.push_back({row_of(problem_.k, s.k(), j), j, std::max(valid_queries, valid_keys), {}});
    if (has_maximum()) set_maxima(features, q, k);
    std::vector<estimates> phi_q, phi_k;
    for (oracle_row const& row : q) phi_q.push_back(features.map(row));
    for (oracle_row const& row : k) phi_k.push_back(features.map(row));

    index_t const feature_count = valid_queries > 0 ? static_cast<index_t>(phi_q[0].size()) : 0;
    // Roundings from rescaling and from adding sums once per tile.
    index_t const tile_roundings = 4 * (std::max(valid_queries, valid_keys) / 64 + 2) + 16;
    std::vector<estimates> dphi_q(as_size(valid_queries), estimates(as_size(feature_count))),
        dphi_k(as_size(valid_keys), estimates(valid_keys > 0 ? phi_k[0].size() : 0));
    for (index_t i = 0; i < valid_queries; ++i) {
      index_t const visible = problem_.causal ? std::min(i + 1, valid_keys) : valid_keys;
      estimates const& query_features = phi_q[as_size(i)];
      // Key features, relative to the maximum at the last visible key.
      std::vector<estimates> key_features(phi_k.begin(), phi_k.begin() + visible);
      estimates factor(as_size(visible), estimate::exact(1));
      if (has_maximum() && problem_.causal)
        for (index_t j = 0; j < visible; ++j) {
          factor[as_size(j)] = rescale_factor(k[as_size(j)].maximum,
                                              k[as_size(visible - 1)].maximum, tile_roundings);
          for (estimate& phi : key_features[as_size(j)]) phi = phi * factor[as_size(j)];
        }
      estimates weights(as_size(visible));
      estimate weight_sum;
      for (index_t j = 0; j < visible; ++j) {
        for (index_t f = 0; f < feature_count; ++f)
          weights[as_size(j)] += query_features[as_size(f)] * key_features[as_size(j)][as_size(f)];
        weights[as_size(j)] = roundings_.with_rounded_operands(weights[as_size(j)], 3);
        weight_sum += weights[as_size(j)];
      }
      weight_sums_.push_back(weight_sum.value);
      auto const [inverse, slope] = divisor_terms(
          roundings_.rounded(weight_sum, valid_keys + feature_count + tile_roundings));

      // y, and g = dy / D, c = -D' <dy, y> / D.
      estimates scaled_dy(as_size(s.values));
      estimate dy_dot_y;
      for (index_t c = 0; c < s.values; ++c) {
        estimate sum;
        for (index_t j = 0; j < visible; ++j)
          sum += weights[as_size(j)] * value(problem_.v, s.v(), j, c);
        y_[at(s.y(), i, c)] =
            roundings_.rounded(sum * inverse, valid_keys + feature_count + tile_roundings);
        scaled_dy[as_size(c)] = roundings_.rounded(inverse * value(problem_.dy, s.y(), i, c), 1);
        dy_dot_y += scaled_dy[as_size(c)] * sum;
      }
      dy_dot_y =
          roundings_.rounded(dy_dot_y, valid_keys + feature_count + s.values + tile_roundings);
      estimate const weight_sum_grad = roundings_.rounded(-(dy_dot_y * slope * inverse), 2);

      for (index_t j = 0; j < visible; ++j) {
        estimate weight_grad = weight_sum_grad;
        for (index_t c = 0; c < s.values; ++c) {
          weight_grad += scaled_dy[as_size(c)] * value(problem_.v, s.v(), j, c);
          dv_[at(s.v(), j, c)] +=
              roundings_.with_rounded_operands(weights[as_size(j)] * scaled_dy[as_size(c)], 1);
        }
        weight_grad = roundings_.with_rounded_operands(weight_grad, 3);
        for (index_t f = 0; f < feature_count; ++f) {
          dphi_q[as_size(i)][as_size(f)] += weight_grad * key_features[as_size(j)][as_size(f)];
          dphi_k[as_size(j)][as_size(f)] +=
              weight_grad * factor[as_size(j)] * query_features[as_size(f)];
        }
      }
    }

    estimates dw(w.size());
    auto const map_backward = [&](oracle_row const& row, estimates& dphi, index_t partners,
                                  estimates& out, extents4 e) {
      for (estimate& sum : dphi)
        sum = roundings_.rounded(sum, partners + s.values + tile_roundings * s.group);
      estimates const dx = features.backward(row, dphi, dw);
      for (index_t c = 0; c < s.channels; ++c) out[at(e, row.index, c)] += dx[as_size(c)];
    };
    for (index_t i = 0; i < valid_queries; ++i)
      map_backward(q[as_size(i)], dphi_q[as_size(i)], valid_keys, dq_, s.q());
    // Gradients of keys and values are sums over the queries of all heads of the group.
    index_t const group_queries = valid_queries * s.group;
    for (index_t j = 0; j < valid_keys; ++j) {
      map_backward(k[as_size(j)], dphi_k[as_size(j)], group_queries, dk_, s.k());
      for (index_t c = 0; c < s.values; ++c) {
        estimate& sum = dv_[at(s.v(), j, c)];
        sum = roundings_.rounded(sum, group_queries + feature_count + tile_roundings * s.group);
      }
    }
    for (std::size_t i = 0; i < dw.size(); ++i) dw_[w_offset() + i] += dw[i];
  }

  estimate value(std::vector<T> const& tensor, extents4 e, index_t row, index_t c) const {
    return estimate::exact(decode(tensor[at(e, row, c)]).value);
  }

  // Returns exp(from - to), computed as a product of `factor_count` factors.
  estimate rescale_factor(estimate const& from, estimate const& to, index_t factor_count) const {
    estimate const argument{from.value - to.value, from.size + to.size,
                            from.error + to.error + roundings_.gamma(1) * (from.size + to.size)};
    return roundings_.rounded(roundings_.exponential(argument), 5 * factor_count);
  }

  void set_maxima(feature_oracle const& features, std::vector<oracle_row>& q,
                  std::vector<oracle_row>& k) {
    extents4 const q_rows{problem_.size.batch, problem_.size.heads, problem_.size.queries, 1},
        k_rows{problem_.size.batch, problem_.size.heads, problem_.size.keys, 1};
    auto const max_estimate = [](estimate a, estimate const& b) {
      a.value = std::max(a.value, b.value);
      a.error = std::max(a.error, b.error);
      a.size = std::fabs(a.value) + a.error;
      return a;
    };
    for (oracle_row& row : q) row.maximum = features.maximum(row.x);
    for (oracle_row& row : k) row.maximum = features.maximum(row.x);
    for (std::size_t j = 1; j < k.size(); ++j)
      k[j].maximum = max_estimate(k[j].maximum, k[j - 1].maximum);
    if (!problem_.causal)
      for (oracle_row& row : k) row.maximum = k.back().maximum;
    auto const save_maxima = [&](std::vector<oracle_row>& rows, extents4 e, estimates& maxima,
                                 estimates const* fixed_maxima) {
      for (oracle_row& row : rows) {
        std::size_t const index = at(e, row.index, 0);
        if (fixed_maxima != nullptr) row.maximum = (*fixed_maxima)[index];
        maxima[index] = row.maximum;
      }
    };
    save_maxima(q, q_rows, maxima_.q, fixed_maxima_ != nullptr ? &fixed_maxima_->q : nullptr);
    save_maxima(k, k_rows, maxima_.k, fixed_maxima_ != nullptr ? &fixed_maxima_->k : nullptr);
  }

  // 1 / D(d) and D'(d).
  std::pair<estimate, estimate> divisor_terms(estimate const& d) const {
    estimate const unit = estimate::exact(1);
    if (auto const* sum = std::get_if<ss::divisor::sum_plus>(&problem_.divisor))
      return {roundings_.reciprocal(roundings_.rounded(d + estimate::exact(sum->eps), 2)), unit};
    auto const* at_least = std::get_if<ss::divisor::at_least>(&problem_.divisor);
    if (at_least == nullptr) return {unit, {}};
    long double const eps = at_least->eps, eps_error = roundings_.gamma(1) * std::fabs(eps);
    bool const is_above = d.value > eps,
               is_unclear = std::fabs(d.value - eps) <= d.error + eps_error;
    long double const error = is_unclear ? d.error + eps_error : is_above ? d.error : eps_error;
    long double const divisor = is_above ? d.value : eps;
    estimate const slope{is_above ? 1.0L : 0.0L, is_above || is_unclear ? 1.0L : 0.0L,
                         is_unclear ? 1.0L : 0.0L};
    return {roundings_.reciprocal({divisor, std::fabs(divisor) + error, error}), slope};
  }

  linear_problem<T> const& problem_;
  roundings roundings_;
  feature_maxima const* fixed_maxima_;
  feature_maxima maxima_;
  std::vector<long double> weight_sums_;
  estimates y_, dq_, dk_, dv_, dw_;
  index_t sample_ = 0, head_ = 0;
};

template <class T>
std::string compare(char const* name, std::vector<T> const& actual,
                    std::vector<bounded> const& expected, long double* max_error_share = nullptr) {
  if (actual.size() != expected.size()) return std::string(name) + " has the wrong size";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    number const result = decode(actual[i]);
    long double const error = std::fabs(result.value - expected[i].value);
    if (result.kind != number_class::finite || !(error <= expected[i].error))
      return std::string(name) + "[" + std::to_string(i) + "] is " +
             (result.kind == number_class::finite ? std::to_string(result.value) : "not finite") +
             ", must be " + std::to_string(expected[i].value) + " (bound " +
             std::to_string(expected[i].error) + ", error " + std::to_string(error) + ")";
    if (error > 0 && max_error_share != nullptr)
      *max_error_share = std::max(*max_error_share, error / expected[i].error);
  }
  return {};
}

template <class T>
bounded_linear_results compute_expected(linear_problem<T> const& problem) {
  return linear_oracle<T>(problem).answer();
}

// Compares results with the expected results. Returns "" or a description of the error. Raises
// `max_error_share` to the largest ratio of an error to its bound.
template <class T>
std::string check_linear(linear_problem<T> const& problem, bounded_linear_results const& expected,
                         linear_results<T> const& actual, long double* max_error_share = nullptr) {
  std::string error = actual.wrong;
  auto const add_error = [&](std::string const& message) {
    if (error.empty()) error = message;
  };
  add_error(compare("y", actual.y, expected.y, max_error_share));
  auto const check_gradient = [&](char const* name, unsigned bit, std::vector<T> const& result,
                                  std::vector<T> const& before,
                                  std::vector<bounded> const& bounds) {
    if ((problem.gradients & bit) != 0)
      add_error(compare(name, result, bounds, max_error_share));
    else if (!same_bits(result, before))
      add_error(std::string(name) + " was not asked for, and is written");
  };
  check_gradient("dq", linear_dq, actual.dq, problem.dq, expected.dq);
  check_gradient("dk", linear_dk, actual.dk, problem.dk, expected.dk);
  check_gradient("dv", linear_dv, actual.dv, problem.dv, expected.dv);
  check_gradient("dw", linear_dw, actual.dw, problem.dw, expected.dw);
  return error.empty() ? error : error + ": " + problem.describe();
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_linear_attention(linkage, T)                                     \
  linkage template support::linear_results<T> support::run_linear(linear_problem<T> const&,        \
                                                                  any_exec const&, memory_layout); \
  linkage template support::bounded_linear_results support::compute_expected(                      \
      linear_problem<T> const&);                                                                   \
  linkage template std::string support::check_linear(linear_problem<T> const&,                     \
                                                     bounded_linear_results const&,                \
                                                     linear_results<T> const&, long double*);      \
  linkage template support::linear_problem<T> support::random_linear(                              \
      linear_size, std::size_t, std::size_t, bool, std::uint64_t);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_linear_attention)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_linear_attention)
#endif
