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

struct linear_answer {
  std::vector<bounded> y, dq, dk, dv, dw;
};

// Maxima of random_exp for every query and key of every head. Gradients treat them as constants, so
// finite differences use the maxima of the unperturbed problem.
struct feature_maxima {
  std::vector<estimate> q, k;
};

template <class T>
class linear_oracle {
 public:
  explicit linear_oracle(linear_problem<T> const& problem, feature_maxima const* fixed = nullptr)
      : problem_(problem), r_(roundings::make<T>(problem.multiply)), fixed_(fixed) {
    auto const size = [](extents4 e) { return static_cast<std::size_t>(e.size()); };
    y_.resize(size(problem.size.y()));
    dq_.resize(size(problem.size.q())), dk_.resize(size(problem.size.k())),
        dv_.resize(size(problem.size.v()));
    dw_.resize(size(problem.w_shape()));
    maxima_.q.resize(size({problem.size.batch, problem.size.heads, problem.size.queries, 1}));
    maxima_.k.resize(size({problem.size.batch, problem.size.heads, problem.size.keys, 1}));
    for (b_ = 0; b_ < problem.size.batch; ++b_)
      for (h_ = 0; h_ < problem.size.heads; ++h_) head();
    index_t const heads = problem.size.batch * problem.size.heads;
    for (estimate& sum : dw_)
      sum = r_.rounded(sum, heads * (problem.size.queries + problem.size.keys + 1) + 6);
  }

  // Outputs of forward, without bounds.
  std::vector<long double> outputs() const {
    std::vector<long double> values;
    for (estimate const& y : y_) values.push_back(y.value);
    return values;
  }
  // Returns each query's sum of weights, before the divisor.
  std::vector<long double> const& sums() const { return sums_; }
  feature_maxima const& maxima() const { return maxima_; }
  linear_answer answer() const {
    auto const stored = [&](estimates const& exact, std::vector<T> const& before,
                            ss::grad_mode mode) {
      std::vector<bounded> result;
      for (std::size_t i = 0; i < exact.size(); ++i)
        result.push_back(
            r_.stored(exact[i], mode, mode == ss::grad_mode::accumulate ? before[i] : T{}));
      return result;
    };
    return {stored(y_, {}, ss::grad_mode::overwrite), stored(dq_, problem_.dq, problem_.mode),
            stored(dk_, problem_.dk, problem_.mode), stored(dv_, problem_.dv, problem_.mode),
            stored(dw_, problem_.dw, problem_.mode)};
  }

 private:
  using vector = std::vector<long double>;
  static std::size_t as_size(index_t i) { return static_cast<std::size_t>(i); }
  std::size_t at(extents4 e, index_t row, index_t c) const {
    return linear_size::at(e, b_, h_, row, c);
  }
  vector row_of(std::vector<T> const& tensor, extents4 e, index_t row) const {
    vector values;
    for (index_t c = 0; c < e.channels; ++c) values.push_back(decode(tensor[at(e, row, c)]).value);
    return values;
  }
  bool relative() const {
    return std::holds_alternative<ss::feature::random_exp>(problem_.feature);
  }
  // Index of the first element of the head's w.
  std::size_t w_offset() const {
    return problem_.shared_w ? 0 : as_size(h_ * problem_.size.w_rows * problem_.size.channels);
  }

  void head() {
    linear_size const& s = problem_.size;
    index_t const n = problem_.valid_queries(b_), m = problem_.valid_keys(b_);
    vector w;
    if (has_matrix(problem_.feature))
      for (index_t i = 0; i < s.w_rows * s.channels; ++i)
        w.push_back(decode(problem_.w[w_offset() + as_size(i)]).value);
    feature_oracle const features(problem_.feature, r_, s.channels, s.w_rows, w);

    std::vector<oracle_row> q, k;
    for (index_t i = 0; i < n; ++i)
      q.push_back({row_of(problem_.q, s.q(), i), i, std::max(n, m), {}});
    for (index_t j = 0; j < m; ++j)
      k.push_back({row_of(problem_.k, s.k(), j), j, std::max(n, m), {}});
    if (relative()) set_maxima(features, q, k);
    std::vector<estimates> phi_q, phi_k;
    for (oracle_row const& row : q) phi_q.push_back(features.map(row));
    for (oracle_row const& row : k) phi_k.push_back(features.map(row));

    index_t const count = n > 0 ? static_cast<index_t>(phi_q[0].size()) : 0;
    index_t const tiles = 4 * (std::max(n, m) / 64 + 2) + 16;
    std::vector<estimates> dphi_q(as_size(n), estimates(as_size(count))),
        dphi_k(as_size(m), estimates(m > 0 ? phi_k[0].size() : 0));
    for (index_t i = 0; i < n; ++i) {
      index_t const visible = problem_.causal ? std::min(i + 1, m) : m;
      estimates const& query = phi_q[as_size(i)];
      // Key features, relative to the maximum at the last visible key.
      std::vector<estimates> keys(phi_k.begin(), phi_k.begin() + visible);
      estimates factor(as_size(visible), estimate::exact(1));
      if (relative() && problem_.causal)
        for (index_t j = 0; j < visible; ++j) {
          factor[as_size(j)] =
              growth(k[as_size(j)].maximum, k[as_size(visible - 1)].maximum, tiles);
          for (estimate& phi : keys[as_size(j)]) phi = phi * factor[as_size(j)];
        }
      estimates weights(as_size(visible));
      estimate d;
      for (index_t j = 0; j < visible; ++j) {
        for (index_t f = 0; f < count; ++f)
          weights[as_size(j)] += query[as_size(f)] * keys[as_size(j)][as_size(f)];
        weights[as_size(j)] = r_.with_rounded_operands(weights[as_size(j)], 3);
        d += weights[as_size(j)];
      }
      sums_.push_back(d.value);
      auto const [inverse, slope] = divisor_terms(r_.rounded(d, m + count + tiles));

      // y, and g = dy / D, c = -D' <dy, y> / D.
      estimates g(as_size(s.values));
      estimate along;
      for (index_t c = 0; c < s.values; ++c) {
        estimate sum;
        for (index_t j = 0; j < visible; ++j)
          sum += weights[as_size(j)] * value(problem_.v, s.v(), j, c);
        y_[at(s.y(), i, c)] = r_.rounded(sum * inverse, m + count + tiles);
        g[as_size(c)] = r_.rounded(inverse * value(problem_.dy, s.y(), i, c), 1);
        along += g[as_size(c)] * sum;
      }
      along = r_.rounded(along, m + count + s.values + tiles);
      estimate const sum_gradient = r_.rounded(-(along * slope * inverse), 2);

      for (index_t j = 0; j < visible; ++j) {
        estimate weight_gradient = sum_gradient;
        for (index_t c = 0; c < s.values; ++c) {
          weight_gradient += g[as_size(c)] * value(problem_.v, s.v(), j, c);
          dv_[at(s.v(), j, c)] += r_.with_rounded_operands(weights[as_size(j)] * g[as_size(c)], 1);
        }
        weight_gradient = r_.with_rounded_operands(weight_gradient, 3);
        for (index_t f = 0; f < count; ++f) {
          dphi_q[as_size(i)][as_size(f)] += weight_gradient * keys[as_size(j)][as_size(f)];
          dphi_k[as_size(j)][as_size(f)] +=
              weight_gradient * factor[as_size(j)] * query[as_size(f)];
        }
      }
    }

    estimates dw(w.size());
    auto const backward = [&](oracle_row const& row, estimates& dphi, index_t partners,
                              estimates& out, extents4 e) {
      for (estimate& sum : dphi) sum = r_.rounded(sum, partners + s.values + tiles);
      estimates const dx = features.backward(row, dphi, dw);
      for (index_t c = 0; c < s.channels; ++c) out[at(e, row.index, c)] = dx[as_size(c)];
    };
    for (index_t i = 0; i < n; ++i) backward(q[as_size(i)], dphi_q[as_size(i)], m, dq_, s.q());
    for (index_t j = 0; j < m; ++j) {
      backward(k[as_size(j)], dphi_k[as_size(j)], n, dk_, s.k());
      for (index_t c = 0; c < s.values; ++c) {
        estimate& sum = dv_[at(s.v(), j, c)];
        sum = r_.rounded(sum, n + count + tiles);
      }
    }
    for (std::size_t i = 0; i < dw.size(); ++i) dw_[w_offset() + i] += dw[i];
  }

  estimate value(std::vector<T> const& tensor, extents4 e, index_t row, index_t c) const {
    return estimate::exact(decode(tensor[at(e, row, c)]).value);
  }

  // exp(m_j - m_i), as a product of `factors` factors.
  estimate growth(estimate const& from, estimate const& to, index_t factors) const {
    estimate const argument{from.value - to.value, from.size + to.size,
                            from.error + to.error + r_.gamma(1) * (from.size + to.size)};
    return r_.rounded(r_.exponential(argument), 5 * factors);
  }

  void set_maxima(feature_oracle const& features, std::vector<oracle_row>& q,
                  std::vector<oracle_row>& k) {
    extents4 const q_rows{problem_.size.batch, problem_.size.heads, problem_.size.queries, 1},
        k_rows{problem_.size.batch, problem_.size.heads, problem_.size.keys, 1};
    auto const larger = [](estimate a, estimate const& b) {
      a.value = std::max(a.value, b.value);
      a.error = std::max(a.error, b.error);
      a.size = std::fabs(a.value) + a.error;
      return a;
    };
    for (oracle_row& row : q) row.maximum = features.maximum(row.x);
    for (oracle_row& row : k) row.maximum = features.maximum(row.x);
    for (std::size_t j = 1; j < k.size(); ++j)
      k[j].maximum = larger(k[j].maximum, k[j - 1].maximum);
    if (!problem_.causal)
      for (oracle_row& row : k) row.maximum = k.back().maximum;
    auto const remember = [&](std::vector<oracle_row>& rows, extents4 e, estimates& maxima,
                              estimates const* fixed) {
      for (oracle_row& row : rows) {
        std::size_t const index = at(e, row.index, 0);
        if (fixed != nullptr) row.maximum = (*fixed)[index];
        maxima[index] = row.maximum;
      }
    };
    remember(q, q_rows, maxima_.q, fixed_ != nullptr ? &fixed_->q : nullptr);
    remember(k, k_rows, maxima_.k, fixed_ != nullptr ? &fixed_->k : nullptr);
  }

  // 1 / D(d) and D'(d).
  std::pair<estimate, estimate> divisor_terms(estimate const& d) const {
    estimate const unit = estimate::exact(1);
    if (auto const* sum = std::get_if<ss::divisor::sum_plus>(&problem_.divisor))
      return {r_.reciprocal(r_.rounded(d + estimate::exact(sum->eps), 2)), unit};
    auto const* least = std::get_if<ss::divisor::at_least>(&problem_.divisor);
    if (least == nullptr) return {unit, {}};
    long double const eps = least->eps, eps_error = r_.gamma(1) * std::fabs(eps);
    bool const above = d.value > eps, unclear = std::fabs(d.value - eps) <= d.error + eps_error;
    long double const error = unclear ? d.error + eps_error : above ? d.error : eps_error;
    long double const divisor = above ? d.value : eps;
    estimate const slope{above ? 1.0L : 0.0L, above || unclear ? 1.0L : 0.0L,
                         unclear ? 1.0L : 0.0L};
    return {r_.reciprocal({divisor, std::fabs(divisor) + error, error}), slope};
  }

  linear_problem<T> const& problem_;
  roundings r_;
  feature_maxima const* fixed_;
  feature_maxima maxima_;
  std::vector<long double> sums_;
  estimates y_, dq_, dk_, dv_, dw_;
  index_t b_ = 0, h_ = 0;
};

template <class T>
std::string compare(char const* name, std::vector<T> const& actual,
                    std::vector<bounded> const& expected, long double* bound_share = nullptr) {
  if (actual.size() != expected.size()) return std::string(name) + " has the wrong size";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    number const result = decode(actual[i]);
    long double const error = std::fabs(result.value - expected[i].value);
    if (result.kind != number_class::finite || !(error <= expected[i].error))
      return std::string(name) + "[" + std::to_string(i) + "] is " +
             (result.kind == number_class::finite ? std::to_string(result.value) : "not finite") +
             ", must be " + std::to_string(expected[i].value) + " (bound " +
             std::to_string(expected[i].error) + ", error " + std::to_string(error) + ")";
    if (error > 0 && bound_share != nullptr)
      *bound_share = std::max(*bound_share, error / expected[i].error);
  }
  return {};
}

template <class T>
linear_answer answer_of(linear_problem<T> const& problem) {
  return linear_oracle<T>(problem).answer();
}

// Compares results with the expected ones. Returns "" or a description of the error.
template <class T>
std::string check_linear(linear_problem<T> const& problem, linear_answer const& expected,
                         linear_results<T> const& actual, long double* bound_share = nullptr) {
  std::string wrong = actual.wrong;
  auto const note = [&](std::string const& message) {
    if (wrong.empty()) wrong = message;
  };
  note(compare("y", actual.y, expected.y, bound_share));
  auto const gradient = [&](char const* name, unsigned bit, std::vector<T> const& result,
                            std::vector<T> const& before, std::vector<bounded> const& bounds) {
    if ((problem.gradients & bit) != 0)
      note(compare(name, result, bounds, bound_share));
    else if (!same_bits(result, before))
      note(std::string(name) + " was not asked for, and is written");
  };
  gradient("dq", linear_dq, actual.dq, problem.dq, expected.dq);
  gradient("dk", linear_dk, actual.dk, problem.dk, expected.dk);
  gradient("dv", linear_dv, actual.dv, problem.dv, expected.dv);
  gradient("dw", linear_dw, actual.dw, problem.dw, expected.dw);
  return wrong.empty() ? wrong : wrong + ": " + problem.describe();
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_linear_attention(linkage, T)                                     \
  linkage template support::linear_results<T> support::run_linear(linear_problem<T> const&,        \
                                                                  any_exec const&, memory_layout); \
  linkage template support::linear_answer support::answer_of(linear_problem<T> const&);            \
  linkage template std::string support::check_linear(                                              \
      linear_problem<T> const&, linear_answer const&, linear_results<T> const&, long double*);     \
  linkage template support::linear_problem<T> support::random_linear(                              \
      linear_size, std::size_t, std::size_t, bool, std::uint64_t);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_linear_attention)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_linear_attention)
#endif
