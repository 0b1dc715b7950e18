// SPDX-License-Identifier: Apache-2.0
// What linear attention must compute, in long double and from the definition of its weights, one
// for each query and key: A_ij = <phi(q_i), phi(k_j)>, times exp(m_j - m_i) where features of keys
// are relative to a maximum m that grows; y_i = sum A_ij v_j / D(sum A_ij).
// Operands of native products are rounded before: those of a weight, and the weight, or a sum of
// weights' parts that stands for it; likewise those of the gradient of a weight.
//
// How many roundings a term goes through (estimate.hpp), in any order of the sums: at most one for
// each key, or query, that is added up, and one for each feature, channel or value; some more for
// products, and for a sum that is rescaled from tile to tile of 64 rows, or added to one. The
// factors of a sum that is rescaled are exponentials: 4 u each, and what rounding their arguments
// changes, in all at most (|m_j| + |m_i|) u, as if it were one.
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

// The maxima of random_exp as constants: of every query, and of every key, of every head. Central
// differences take those of where they start.
struct feature_maxima {
  std::vector<estimate> q, k;
};

template <class T>
class linear_oracle {
 public:
  explicit linear_oracle(linear_problem<T> const& p, feature_maxima const* fixed = nullptr)
      : p_(p), r_(roundings::of<T>(p.multiply)), fixed_(fixed) {
    auto const size = [](extents4 e) { return static_cast<std::size_t>(e.size()); };
    y_.resize(size(p.size.y()));
    dq_.resize(size(p.size.q())), dk_.resize(size(p.size.k())), dv_.resize(size(p.size.v()));
    dw_.resize(size(p.of_w()));
    maxima_.q.resize(size({p.size.batch, p.size.heads, p.size.queries, 1}));
    maxima_.k.resize(size({p.size.batch, p.size.heads, p.size.keys, 1}));
    for (b_ = 0; b_ < p.size.batch; ++b_)
      for (h_ = 0; h_ < p.size.heads; ++h_) head();
    index_t const heads = p.size.batch * p.size.heads;
    for (estimate& one : dw_) one = r_.settled(one, heads * (p.size.queries + p.size.keys + 1) + 6);
  }

  // What forward puts out, without bounds.
  std::vector<long double> outputs() const {
    std::vector<long double> values;
    for (estimate const& one : y_) values.push_back(one.value);
    return values;
  }
  // The sums that queries are divided by, before their divisors.
  std::vector<long double> const& sums() const { return sums_; }
  feature_maxima const& maxima() const { return maxima_; }
  linear_answer answer() const {
    auto const stored = [&](estimates const& from, std::vector<T> const& before,
                            ss::grad_mode mode) {
      std::vector<bounded> to;
      for (std::size_t i = 0; i < from.size(); ++i)
        to.push_back(r_.stored(from[i], mode, mode == ss::grad_mode::accumulate ? before[i] : T{}));
      return to;
    };
    return {stored(y_, {}, ss::grad_mode::overwrite), stored(dq_, p_.dq, p_.mode),
            stored(dk_, p_.dk, p_.mode), stored(dv_, p_.dv, p_.mode), stored(dw_, p_.dw, p_.mode)};
  }

 private:
  using vector = std::vector<long double>;
  static std::size_t as_size(index_t i) { return static_cast<std::size_t>(i); }
  std::size_t at(extents4 e, index_t row, index_t c) const {
    return linear_size::at(e, b_, h_, row, c);
  }
  vector row_of(std::vector<T> const& all, extents4 e, index_t row) const {
    vector values;
    for (index_t c = 0; c < e.channels; ++c) values.push_back(decode(all[at(e, row, c)]).value);
    return values;
  }
  bool relative() const { return std::holds_alternative<ss::feature::random_exp>(p_.feature); }
  // Where an element of the head's w is.
  std::size_t first_of_w() const {
    return p_.shared_w ? 0 : as_size(h_ * p_.size.rows_of_w * p_.size.channels);
  }

  void head() {
    linear_size const& s = p_.size;
    index_t const n = p_.valid_queries(b_), m = p_.valid_keys(b_);
    vector w;
    if (has_matrix(p_.feature))
      for (index_t i = 0; i < s.rows_of_w * s.channels; ++i)
        w.push_back(decode(p_.w[first_of_w() + as_size(i)]).value);
    feature_oracle const features(p_.feature, r_, s.channels, s.rows_of_w, w);

    std::vector<oracle_row> q, k;
    for (index_t i = 0; i < n; ++i) q.push_back({row_of(p_.q, s.q(), i), i, std::max(n, m), {}});
    for (index_t j = 0; j < m; ++j) k.push_back({row_of(p_.k, s.k(), j), j, std::max(n, m), {}});
    if (relative()) set_maxima(features, q, k);
    std::vector<estimates> phi_q, phi_k;
    for (oracle_row const& row : q) phi_q.push_back(features.map(row));
    for (oracle_row const& row : k) phi_k.push_back(features.map(row));

    index_t const count = n > 0 ? static_cast<index_t>(phi_q[0].size()) : 0;
    index_t const tiles = 4 * (std::max(n, m) / 64 + 2) + 16;
    std::vector<estimates> dphi_q(as_size(n), estimates(as_size(count))),
        dphi_k(as_size(m), estimates(m > 0 ? phi_k[0].size() : 0));
    for (index_t i = 0; i < n; ++i) {
      index_t const looks = p_.causal ? std::min(i + 1, m) : m;
      estimates const& of_query = phi_q[as_size(i)];
      // The features of a key, relative to the maximum of the last one that is looked at.
      std::vector<estimates> keys(phi_k.begin(), phi_k.begin() + looks);
      estimates factor(as_size(looks), estimate::exact(1));
      if (relative() && p_.causal)
        for (index_t j = 0; j < looks; ++j) {
          factor[as_size(j)] = grown(k[as_size(j)].maximum, k[as_size(looks - 1)].maximum, tiles);
          for (estimate& one : keys[as_size(j)]) one = one * factor[as_size(j)];
        }
      estimates weights(as_size(looks));
      estimate d;
      for (index_t j = 0; j < looks; ++j) {
        for (index_t f = 0; f < count; ++f)
          weights[as_size(j)] += of_query[as_size(f)] * keys[as_size(j)][as_size(f)];
        weights[as_size(j)] = r_.of_operands(weights[as_size(j)], 3);
        d += weights[as_size(j)];
      }
      sums_.push_back(d.value);
      auto const [inverse, slope] = divided(r_.settled(d, m + count + tiles));

      // y, and g = dy / D, c = -D' <dy, y> / D.
      estimates g(as_size(s.values));
      estimate along;
      for (index_t c = 0; c < s.values; ++c) {
        estimate sum;
        for (index_t j = 0; j < looks; ++j) sum += weights[as_size(j)] * value(p_.v, s.v(), j, c);
        y_[at(s.y(), i, c)] = r_.settled(sum * inverse, m + count + tiles);
        g[as_size(c)] = r_.settled(inverse * value(p_.dy, s.y(), i, c), 1);
        along += g[as_size(c)] * sum;
      }
      along = r_.settled(along, m + count + s.values + tiles);
      estimate const change = r_.settled(-(along * slope * inverse), 2);

      for (index_t j = 0; j < looks; ++j) {
        estimate of_weight = change;
        for (index_t c = 0; c < s.values; ++c) {
          of_weight += g[as_size(c)] * value(p_.v, s.v(), j, c);
          dv_[at(s.v(), j, c)] += r_.of_operands(weights[as_size(j)] * g[as_size(c)], 1);
        }
        of_weight = r_.of_operands(of_weight, 3);
        for (index_t f = 0; f < count; ++f) {
          dphi_q[as_size(i)][as_size(f)] += of_weight * keys[as_size(j)][as_size(f)];
          dphi_k[as_size(j)][as_size(f)] += of_weight * factor[as_size(j)] * of_query[as_size(f)];
        }
      }
    }

    estimates dw(w.size());
    auto const pull = [&](oracle_row const& row, estimates& dphi, index_t others, estimates& to,
                          extents4 e) {
      for (estimate& one : dphi) one = r_.settled(one, others + s.values + tiles);
      estimates const dx = features.pull(row, dphi, dw);
      for (index_t c = 0; c < s.channels; ++c) to[at(e, row.index, c)] = dx[as_size(c)];
    };
    for (index_t i = 0; i < n; ++i) pull(q[as_size(i)], dphi_q[as_size(i)], m, dq_, s.q());
    for (index_t j = 0; j < m; ++j) {
      pull(k[as_size(j)], dphi_k[as_size(j)], n, dk_, s.k());
      for (index_t c = 0; c < s.values; ++c) {
        estimate& one = dv_[at(s.v(), j, c)];
        one = r_.settled(one, n + count + tiles);
      }
    }
    for (std::size_t i = 0; i < dw.size(); ++i) dw_[first_of_w() + i] += dw[i];
  }

  estimate value(std::vector<T> const& all, extents4 e, index_t row, index_t c) const {
    return estimate::exact(decode(all[at(e, row, c)]).value);
  }

  // exp(m_j - m_i), by a product of such factors.
  estimate grown(estimate const& from, estimate const& to, index_t factors) const {
    estimate const argument{from.value - to.value, from.size + to.size,
                            from.error + to.error + r_.gamma(1) * (from.size + to.size)};
    return r_.settled(r_.exponential(argument), 5 * factors);
  }

  void set_maxima(feature_oracle const& features, std::vector<oracle_row>& q,
                  std::vector<oracle_row>& k) {
    extents4 const of_q{p_.size.batch, p_.size.heads, p_.size.queries, 1},
        of_k{p_.size.batch, p_.size.heads, p_.size.keys, 1};
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
    if (!p_.causal)
      for (oracle_row& row : k) row.maximum = k.back().maximum;
    auto const remember = [&](std::vector<oracle_row>& rows, extents4 e, estimates& to,
                              estimates const* fixed) {
      for (oracle_row& row : rows) {
        std::size_t const place = at(e, row.index, 0);
        if (fixed != nullptr) row.maximum = (*fixed)[place];
        to[place] = row.maximum;
      }
    };
    remember(q, of_q, maxima_.q, fixed_ != nullptr ? &fixed_->q : nullptr);
    remember(k, of_k, maxima_.k, fixed_ != nullptr ? &fixed_->k : nullptr);
  }

  // 1 / D(d) and D'(d).
  std::pair<estimate, estimate> divided(estimate const& d) const {
    estimate const one = estimate::exact(1);
    if (auto const* sum = std::get_if<ss::divisor::sum_plus>(&p_.divisor))
      return {r_.reciprocal(r_.settled(d + estimate::exact(sum->eps), 2)), one};
    auto const* least = std::get_if<ss::divisor::at_least>(&p_.divisor);
    if (least == nullptr) return {one, {}};
    long double const eps = least->eps, of_eps = r_.gamma(1) * std::fabs(eps);
    bool const above = d.value > eps, unclear = std::fabs(d.value - eps) <= d.error + of_eps;
    long double const error = unclear ? d.error + of_eps : above ? d.error : of_eps;
    long double const by = above ? d.value : eps;
    estimate const slope{above ? 1.0L : 0.0L, above || unclear ? 1.0L : 0.0L,
                         unclear ? 1.0L : 0.0L};
    return {r_.reciprocal({by, std::fabs(by) + error, error}), slope};
  }

  linear_problem<T> const& p_;
  roundings r_;
  feature_maxima const* fixed_;
  feature_maxima maxima_;
  std::vector<long double> sums_;
  estimates y_, dq_, dk_, dv_, dw_;
  index_t b_ = 0, h_ = 0;
};

template <class T>
std::string within(char const* name, std::vector<T> const& got, std::vector<bounded> const& want,
                   long double* share = nullptr) {
  if (got.size() != want.size()) return std::string(name) + " has the wrong size";
  for (std::size_t i = 0; i < got.size(); ++i) {
    number const is = decode(got[i]);
    long double const error = std::fabs(is.value - want[i].value);
    if (is.kind != number_class::finite || !(error <= want[i].error))
      return std::string(name) + "[" + std::to_string(i) + "] is " +
             (is.kind == number_class::finite ? std::to_string(is.value) : "not finite") +
             ", must be " + std::to_string(want[i].value) + " (bound " +
             std::to_string(want[i].error) + ", error " + std::to_string(error) + ")";
    if (error > 0 && share != nullptr) *share = std::max(*share, error / want[i].error);
  }
  return {};
}

template <class T>
linear_answer answer_of(linear_problem<T> const& p) {
  return linear_oracle<T>(p).answer();
}

// Holds results to the answer. Returns "" or what is wrong.
template <class T>
std::string check_linear(linear_problem<T> const& p, linear_answer const& want,
                         linear_results<T> const& got, long double* share = nullptr) {
  std::string wrong = got.wrong;
  auto const note = [&](std::string const& what) {
    if (wrong.empty()) wrong = what;
  };
  note(within("y", got.y, want.y, share));
  auto const gradient = [&](char const* name, unsigned bit, std::vector<T> const& is,
                            std::vector<T> const& before, std::vector<bounded> const& must) {
    if ((p.wanted & bit) != 0)
      note(within(name, is, must, share));
    else if (!same_bits(is, before))
      note(std::string(name) + " was not asked for, and is written");
  };
  gradient("dq", linear_dq, got.dq, p.dq, want.dq);
  gradient("dk", linear_dk, got.dk, p.dk, want.dk);
  gradient("dv", linear_dv, got.dv, p.dv, want.dv);
  gradient("dw", linear_dw, got.dw, p.dw, want.dw);
  return wrong.empty() ? wrong : wrong + ": " + p.describe();
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_linear_attention(linkage, T)                                     \
  linkage template support::linear_results<T> support::run_linear(linear_problem<T> const&,        \
                                                                  any_exec const&, memory_layout); \
  linkage template support::linear_answer support::answer_of(linear_problem<T> const&);            \
  linkage template std::string support::check_linear(                                              \
      linear_problem<T> const&, linear_answer const&, linear_results<T> const&, long double*);     \
  linkage template support::linear_problem<T> support::any_linear(                                 \
      linear_size, std::size_t, std::size_t, bool, std::uint64_t);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_linear_attention)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_linear_attention)
#endif
