// SPDX-License-Identifier: Apache-2.0
// Oracle of softmax attention in long double, from the dense definitions of the masks, with error
// bounds.
//
// u is half a unit in the accumulator's last place; gamma(n) = n u / (1 - n u) bounds the relative
// error of a term with n roundings, in a sum of any order. `*` marks exact values.
// - A score is a dot product of D terms, times a rounded scale, plus the bias:
//     |s - s*| <= d = gamma(D + 4) (|scale| sum |q| |k| + |bias|).
// - The exponent s - m, in any base and relative to the maximum of a tile first, adds an error of
//   4 u (|s| + |m|):
//     |e| <= E_j = d_j + 4 u (|s_j*| + |M|), where M is the largest s*.
//   Errors common to all keys of a query cancel, such as the error of m. With x_j = exp(s_j* - M)
//   and [lo_j, hi_j] = x_j exp(-/+ E_j):
//     lo_j / sum hi <= p_j <= hi_j / sum lo,
//   up to underflow and R = gamma(keys + 6 tiles + 16): the roundings of the sum, of exponentials
//   (4 u), of the factors between tiles, and of the division.
// - The error of y = sum p v is sum |p - p*| |v| + R sum p |v|.
// - The error of g = <dy, y> is sum |dy| |y - y*| + gamma(E + 2) sum |dy| |y|; that of dp = <dy, v>
//   is gamma(E + 2) sum |dy| |v|; that of ds = p (dp - g) is |p - p*| |dp - g| + p (|dp - dp*| +
//   |g - g*|) and four roundings. dq, dk and dv are sums of products of these: each error is
//   multiplied by the other factor, plus gamma of the length.
// - The gradient of a relative or broadcast bias is a sum of n values of ds. Its error is the sum
// of their errors, plus gamma(n) times the sum of their absolute values.
// - Dropout multiplies by 0, which is exact, or by 1 / (1 - rate), with four roundings at most.
// - 16-bit results are rounded once more. Kernels and `materialized` also round p and ds to 16 bits
//   before multiplying. Tensor cores truncate instead of rounding, which doubles u.
// - Native products round p and ds as well. They sum in a different order, with no more roundings
// per term (an odd depth adds a zero), but flush numbers below f = 2^-126 to 0, both elements and
//   partial sums. This adds an error of f sum (|a| + |b| + 1) to a sum of products a b, times its
//   scale.
#pragma once

#include "problem.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

// Definitions of the masks, independent of the library's ranges.
inline bool looks_at(pattern_mask const& m, index_t i, index_t j) {
  index_t const distance = std::max(i - j, j - i);
  switch (m.kind) {
    case mask_kind::full:
      return true;
    case mask_kind::causal:
      return j <= i + m.a;
    case mask_kind::window:
      return i - m.a <= j && j <= i + m.b;
    case mask_kind::block_local:
      return i / m.a == j / m.a;
    case mask_kind::strided:
      return distance % m.a == 0 || distance < m.b;
    case mask_kind::causal_strided:
      return j <= i + m.a && distance % m.b == 0;
    case mask_kind::irregular:
      break;
  }
  index_t const first = i * 7 % 23 - 5, last = i % 6 == 4 ? 0 : i * 5 % 41 + 3;
  return first <= j && j < last && m.allows(i, j);
}

// Definitions of the sparse masks, pair by pair.
inline bool looks_at(sparse_mask const& m, index_t head, index_t i, index_t j) {
  sparse_mask const head_mask = m.for_head(head);
  return (!m.causal || j - i <= head_mask.ahead()) && head_mask.allows(i, j);
}

struct bounded {
  long double value = 0, error = 0;
};

struct attention_answer {
  std::vector<bounded> y, maxima, total, map, dq, dk, dv, dbias;  // maxima and total are per query
  std::vector<bool> looks;  // true for queries with a visible key
};

// Roundings of an implementation. `narrow`: weights and gradients of scores are rounded to T.
template <class T>
class attention_roundings {
 public:
  attention_roundings(bool narrow, bool cut_off, bool flushes = false)
      : narrow_(wide ? 0 : half_unit(element)),
        narrow_tiny_(wide ? 0 : least(element)),
        of_weights_(narrow),
        unit_(half_unit(accumulator) * (cut_off && !wide ? 2 : 1)),
        flushed_(flushes ? std::ldexp(1.0L, 1 - accumulator.bias()) : 0) {}

  // Adds a margin for the roundings of long double.
  long double gamma(index_t n) const {
    long double const nu = 1.002L * static_cast<long double>(n) * unit_;
    return nu / (1 - nu);
  }
  long double unit() const { return unit_; }
  long double tiny() const { return tiny_; }
  // Error of a term a b in a sum due to flushed denormals.
  long double flushed(long double a, long double b) const {
    return flushed_ * (std::fabs(a) + std::fabs(b) + 1);
  }
  // Error of a weight, including the rounding to T.
  long double weight(bounded p) const { return of_weights_ ? stored(p) : p.error; }
  long double stored(bounded x) const {
    return x.error + narrow_ * (std::fabs(x.value) + x.error) + narrow_tiny_;
  }
  bounded result(long double value, long double error) const {
    return {value, stored({value, error})};
  }
  // Stored gradient with its error.
  bounded gradient(ss::grad_mode mode, T before, bounded x) const {
    bool const accumulates = mode == ss::grad_mode::accumulate;
    long double const sum = x.value + (accumulates ? decode(before).value : 0);
    if (x.value == 0 && x.error == 0) return {sum, 0};
    return result(sum, x.error + (accumulates ? unit_ * (std::fabs(sum) + x.error) : 0));
  }

 private:
  static constexpr number_format element = format_of<T>();
  static constexpr number_format accumulator = format_of<slicesort::detail::accumulator_t<T>>();
  static constexpr bool wide = element.fraction_bits == accumulator.fraction_bits;
  static long double half_unit(number_format f) { return std::ldexp(1.0L, -(f.fraction_bits + 1)); }
  static long double least(number_format f) {
    return std::ldexp(1.0L, -(f.bias() + f.fraction_bits));
  }
  long double tiny_ = 4 * std::ldexp(1.0L, -accumulator.bias());
  long double narrow_, narrow_tiny_;
  bool of_weights_;
  long double unit_, flushed_;
};

// Processes one head of one sample at a time.
template <class T>
class attention_oracle {
 public:
  attention_oracle(attention_problem<T> const& p, attention_roundings<T> r)
      : p_(p),
        r_(r),
        scale_(p.op(ss::streaming{}).scale(p.size.channels)),
        q_(values(p.q)),
        k_(values(p.k)),
        v_(values(p.v)),
        dy_(values(p.dy)) {
    auto const size = [](extents4 e) { return static_cast<std::size_t>(e.size()); };
    a_.y.resize(size(p.size.y()));
    a_.map.resize(size(p.size.map()));
    std::size_t const rows = size({p.size.batch, p.size.heads, p.size.queries, 1});
    a_.maxima.resize(rows), a_.total.resize(rows), a_.looks.resize(rows);
    dq_.resize(p.q.size()), dk_.resize(p.k.size()), dv_.resize(p.v.size());
    ds_.resize(p.dbias.size());
    for (auto* list : {&ds_sizes_, &ds_terms_}) list->resize(p.dbias.size());
    for (index_t b = 0; b < p.size.batch; ++b)
      for (index_t h = 0; h < p.size.heads; ++h)
        for (index_t i = 0; i < p.valid_queries(b); ++i) {
          b_ = b, h_ = h, i_ = i;
          query();
        }
    auto const store = [&](std::vector<bounded> const& sums, std::vector<T> const& before) {
      std::vector<bounded> gradients;
      for (std::size_t i = 0; i < sums.size(); ++i)
        gradients.push_back(r_.gradient(p_.mode, before[i], sums[i]));
      return gradients;
    };
    a_.dq = store(dq_, p.dq);
    a_.dk = store(dk_, p.dk);
    a_.dv = store(dv_, p.dv);
    for (std::size_t n = 0; n < ds_.size(); ++n)
      if (ds_terms_[n] > 1)
        ds_[n].error += r_.gamma(static_cast<index_t>(ds_terms_[n])) * ds_sizes_[n];
    a_.dbias = store(ds_, p.dbias);
  }
  attention_answer const& answer() const { return a_; }

 private:
  static long double exponential(long double x) { return std::exp(std::min(x, 5000.0L)); }
  std::size_t at(extents4 e, index_t row, index_t c) const {
    return attention_size::at(e, b_, h_, row, c);
  }
  static std::vector<long double> values(std::vector<T> const& elements) {
    std::vector<long double> result;
    result.reserve(elements.size());
    for (T const& element : elements) result.push_back(decode(element).value);
    return result;
  }
  static void add(bounded& sum, long double value, long double error) {
    sum.value += value;
    sum.error += error;
  }

  // Definition of dropout, with its own SplitMix64.
  bool keeps(index_t j) const {
    if (p_.dropout.rate == 0) return true;
    auto const hash = [](std::uint64_t seed, std::uint64_t n) {
      std::uint64_t z = seed + (n + 1) * 11400714819323198485u;
      z = (z ^ (z >> 30)) * 13787848793156543929u;
      z = (z ^ (z >> 27)) * 10723151780598845931u;
      return z ^ (z >> 31);
    };
    ss::dropout const& d = p_.dropout;
    index_t const heads = d.heads == 0 ? p_.size.heads : d.heads;
    auto const pair = static_cast<std::uint64_t>((d.first_sample + b_) * heads + d.first_head + h_),
               place = static_cast<std::uint64_t>(i_ * p_.size.keys + j);
    return static_cast<long double>(hash(hash(d.seed, pair), place) >> 32) >=
           d.rate * 4294967296.0L;
  }
  long double grown() const { return 1 / (1 - static_cast<long double>(p_.dropout.rate)); }
  long double of_grown() const { return p_.dropout.rate == 0 ? 0 : r_.gamma(4); }

  void query() {
    auto const& s = p_.size;
    std::vector<index_t> keys;
    std::vector<bounded> score;
    long double max_score = 0, above = 0, below = 0;
    for (index_t j = 0; j < p_.valid_keys(b_); ++j) {
      if (!(p_.looks    ? p_.looks(h_, i_, j)
            : p_.sparse ? looks_at(*p_.sparse, h_, i_, j)
                        : looks_at(p_.mask, i_, j)))
        continue;
      number const bias =
          p_.bias.empty() ? number{} : decode(p_.bias[p_.form.at(p_.size, b_, h_, i_, j)]);
      if (bias.kind == number_class::minus_infinity) continue;
      long double dot = 0, terms = 0, flushed = 0;
      for (index_t c = 0; c < s.channels; ++c) {
        long double const q = q_[at(s.q(), i_, c)], k = k_[at(s.k(), j, c)];
        dot += q * k, terms += std::fabs(q * k), flushed += r_.flushed(q, k);
      }
      bounded const s_j{
          scale_ * dot + bias.value,
          r_.gamma(s.channels + 4) * (std::fabs(scale_) * terms + std::fabs(bias.value)) +
              r_.tiny() * static_cast<long double>(s.channels) + std::fabs(scale_) * flushed};
      if (keys.empty() || s_j.value > max_score) max_score = s_j.value;
      if (keys.empty() || s_j.value + s_j.error > above) above = s_j.value + s_j.error;
      if (keys.empty() || s_j.value - s_j.error > below) below = s_j.value - s_j.error;
      keys.push_back(j), score.push_back(s_j);
    }
    if (keys.empty()) return;

    std::size_t const n = keys.size();
    std::vector<long double> x(n), lo(n), hi(n);
    long double sum = 0, sum_lo = 0, sum_hi = 0;
    for (std::size_t k = 0; k < n; ++k) {
      long double const d = score[k].value - max_score;
      long double const e =
          score[k].error + 4 * r_.unit() * (std::fabs(score[k].value) + std::fabs(max_score));
      sum += x[k] = exponential(d);
      sum_lo += lo[k] = exponential(d - e);
      sum_hi += hi[k] = exponential(d + e);
    }
    sum_lo = std::max(sum_lo, 1e-2000L);  // for unknown weights
    index_t const roundings = s.keys + 6 * (s.keys / 16 + 2) + 16;
    long double const r = r_.gamma(roundings);
    std::size_t const row = at({s.batch, s.heads, s.queries, 1}, i_, 0);
    long double const slip = std::max(above - max_score, max_score - below);
    a_.looks[row] = true;
    a_.maxima[row] = {max_score, slip};
    a_.total[row] = {sum, std::max(sum_hi * exponential(slip) * (1 + r) - sum,
                                   sum - sum_lo * exponential(-slip) * (1 - r))};
    std::vector<bounded> p(n);
    for (std::size_t k = 0; k < n; ++k) {
      long double const w = x[k] / sum;
      p[k] = {w, std::max(hi[k] / sum_lo * (1 + r) - w, w - lo[k] / sum_hi * (1 - r)) + r_.tiny()};
      a_.map[at(s.map(), i_, keys[k])] = r_.result(p[k].value, p[k].error);
      p[k].error = r_.weight(p[k]);
    }

    // y, and <dy, y>.
    bounded g;
    long double g_terms = 0;
    for (index_t c = 0; c < s.values; ++c) {
      bounded y;
      for (std::size_t k = 0; k < n; ++k) {
        if (!keeps(keys[k])) continue;
        long double const v = grown() * v_[at(s.v(), keys[k], c)];
        add(y, p[k].value * v,
            p[k].error * std::fabs(v) +
                (r + of_grown()) * (p[k].value + p[k].error) * std::fabs(v) +
                grown() * (r_.tiny() + r_.flushed(p[k].value + p[k].error, 0)));
      }
      y = a_.y[at(s.y(), i_, c)] = r_.result(y.value, y.error);
      long double const dy = dy_[at(s.y(), i_, c)];
      add(g, dy * y.value, std::fabs(dy) * y.error + r_.tiny());
      g_terms += std::fabs(dy) * (std::fabs(y.value) + y.error);
    }
    g.error += r_.gamma(s.values + 2) * g_terms;
    for (std::size_t k = 0; k < n; ++k) gradients(keys[k], p[k], g);
  }

  // Adds the gradients of one pair.
  void gradients(index_t j, bounded p, bounded g) {
    auto const& s = p_.size;
    long double const to_keys = r_.gamma(s.keys + s.keys / 8 + 20),
                      to_queries = r_.gamma(s.queries + s.queries / 8 + 20);
    auto const product = [&](bounded& sum, bounded a, long double b, long double roundings,
                             long double scale = 1) {
      long double const max_a = std::fabs(a.value) + a.error;
      add(sum, a.value * scale * b,
          std::fabs(scale * b) * (a.error + roundings * max_a) + r_.tiny() +
              std::fabs(scale) * r_.flushed(max_a, b));
    };
    bounded dp;
    long double terms = 0;
    for (index_t c = 0; c < s.values; ++c) {
      long double const dy = dy_[at(s.y(), i_, c)], v = v_[at(s.v(), j, c)];
      add(dp, dy * v, r_.tiny() + r_.flushed(dy, v));
      terms += std::fabs(dy * v);
      if (keeps(j)) product(dv_[at(s.v(), j, c)], p, dy, to_queries + of_grown(), grown());
    }
    dp.error += r_.gamma(s.values + 2) * terms;
    if (keeps(j))
      dp = {grown() * dp.value,
            grown() * (dp.error + of_grown() * (std::fabs(dp.value) + dp.error))};
    else
      dp = {};
    long double const change = dp.value - g.value, of_change = dp.error + g.error;
    bounded ds{p.value * change, p.error * (std::fabs(change) + of_change) + p.value * of_change};
    ds.error += r_.gamma(4) * (p.value + p.error) * (std::fabs(change) + of_change) + r_.tiny();
    std::size_t const index = p_.dbias_form.at(p_.size, b_, h_, i_, j);
    add(ds_[index], ds.value, ds.error);
    ds_sizes_[index] += std::fabs(ds.value) + ds.error, ++ds_terms_[index];
    ds.error = r_.weight(ds);
    for (index_t c = 0; c < s.channels; ++c) {
      product(dq_[at(s.q(), i_, c)], ds, k_[at(s.k(), j, c)], to_keys, scale_);
      product(dk_[at(s.k(), j, c)], ds, q_[at(s.q(), i_, c)], to_queries, scale_);
    }
  }

  attention_problem<T> const& p_;
  attention_roundings<T> r_;
  long double scale_;
  std::vector<long double> q_, k_, v_, dy_;
  attention_answer a_;
  std::vector<bounded> dq_, dk_, dv_, ds_;
  std::vector<long double> ds_sizes_, ds_terms_;  // sums of absolute values, and counts
  index_t b_ = 0, h_ = 0, i_ = 0;
};

}  // namespace support
