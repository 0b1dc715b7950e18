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
// - The error of delta = <dy, y> is sum |dy| |y - y*| + gamma(E + 2) sum |dy| |y|; that of dp =
// <dy, v> is gamma(E + 2) sum |dy| |v|; that of ds = p (dp - delta) is |p - p*| |dp - delta| + p
// (|dp - dp*| + |delta - delta*|) and four roundings. dq, dk and dv are sums of products of these:
// each error is
//   multiplied by the other factor, plus gamma of the length.
// - The gradient of a relative or broadcast bias is a sum of n values of ds. Its error is the sum
//   of their errors, plus gamma(n) times the sum of their absolute values.
// - Dropout multiplies by 0, which is exact, or by 1 / (1 - rate), with four roundings at most.
// - 16-bit results are rounded once more. Kernels and `materialized` also round p and ds to 16 bits
//   before multiplying. Tensor cores truncate instead of rounding, which doubles u.
// - Native products round p and ds as well. They sum in a different order, with no more roundings
//   per term (an odd depth adds a zero), but flush numbers below f = 2^-126 to 0, both elements and
//   partial sums. This adds an error of f sum (|a| + |b| + 1) to a sum of products a b, times its
//   scale.
// - A function of each score instead of the softmax gives p and its slope with bounds of their own
//   (score_oracle); then ds = slope dp, and delta is 0.
#pragma once

#include "problem.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

// Defines the masks independently of the library's ranges.
inline bool is_visible_pair(pattern_mask const& m, index_t i, index_t j) {
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
    case mask_kind::scattered:
      break;
  }
  index_t const first = i * 7 % 23 - 5, last = i % 6 == 4 ? 0 : i * 5 % 41 + 3;
  return first <= j && j < last && m.allows(i, j);
}

// Defines the sparse masks pair by pair.
inline bool is_visible_pair(sparse_mask const& m, index_t head, index_t i, index_t j) {
  sparse_mask const head_mask = m.for_head(head);
  return (!m.causal || j - i <= head_mask.ahead()) && head_mask.allows(i, j);
}

struct expected_attention {
  std::vector<bounded> y, row_max, row_sum, weights, dq, dk, dv,
      dbias;                          // row_max and row_sum: one per query
  std::vector<bool> has_visible_key;  // true for queries with a visible key
};

// Rounding errors of an implementation. With `rounds_weights`, it rounds weights and score
// gradients to T before it multiplies them.
template <class T>
class attention_roundings {
 public:
  attention_roundings(bool rounds_weights, bool truncates, bool flushes_denormals = false)
      : element_unit_(is_accumulator_type ? 0 : half_unit(element)),
        element_tiny_(is_accumulator_type ? 0 : min_denormal(element)),
        rounds_weights_(rounds_weights),
        unit_(half_unit(accumulator) * (truncates && !is_accumulator_type ? 2 : 1)),
        flush_limit_(flushes_denormals ? std::ldexp(1.0L, 1 - accumulator.bias()) : 0) {}

  // Adds a margin for the roundings of long double.
  long double gamma(index_t n) const {
    long double const nu = 1.002L * static_cast<long double>(n) * unit_;
    return nu / (1 - nu);
  }
  long double unit() const { return unit_; }
  long double tiny() const { return tiny_; }
  // Error of a term a b in a sum due to flushed denormals.
  long double flush_error(long double a, long double b) const {
    return flush_limit_ * (std::fabs(a) + std::fabs(b) + 1);
  }
  // Error of a weight, including the rounding to T.
  long double weight_error(bounded p) const { return rounds_weights_ ? stored_error(p) : p.error; }
  long double stored_error(bounded x) const {
    return x.error + element_unit_ * (std::fabs(x.value) + x.error) + element_tiny_;
  }
  bounded stored_value(long double value, long double error) const {
    return {value, stored_error({value, error})};
  }
  // Stored gradient with its error.
  bounded stored_gradient(ss::grad_mode mode, T before, bounded x) const {
    bool const accumulates = mode == ss::grad_mode::accumulate;
    long double const sum = x.value + (accumulates ? decode(before).value : 0);
    if (x.value == 0 && x.error == 0) return {sum, 0};
    return stored_value(sum, x.error + (accumulates ? unit_ * (std::fabs(sum) + x.error) : 0));
  }

 private:
  static constexpr number_format element = format_of<T>();
  static constexpr number_format accumulator = format_of<slicesort::detail::accumulator_t<T>>();
  static constexpr bool is_accumulator_type = element.fraction_bits == accumulator.fraction_bits;
  static long double half_unit(number_format f) { return std::ldexp(1.0L, -(f.fraction_bits + 1)); }
  static long double min_denormal(number_format f) {
    return std::ldexp(1.0L, -(f.bias() + f.fraction_bits));
  }
  long double tiny_ = 4 * std::ldexp(1.0L, -accumulator.bias());
  long double element_unit_, element_tiny_;
  bool rounds_weights_;
  long double unit_, flush_limit_;
};

// Processes one head of one sample at a time.
template <class T>
class attention_oracle {
 public:
  attention_oracle(attention_problem<T> const& p, attention_roundings<T> r)
      : problem_(p),
        roundings_(r),
        scale_(p.op(ss::streaming{}).scale(p.size.channels)),
        q_(values(p.q)),
        k_(values(p.k)),
        v_(values(p.v)),
        dy_(values(p.dy)) {
    auto const size = [](extents4 e) { return static_cast<std::size_t>(e.size()); };
    expected_.y.resize(size(p.size.y()));
    expected_.weights.resize(size(p.size.pairs()));
    std::size_t const rows = size({p.size.batch, p.size.heads, p.size.queries, 1});
    expected_.row_max.resize(rows), expected_.row_sum.resize(rows),
        expected_.has_visible_key.resize(rows);
    dq_.resize(p.q.size()), dk_.resize(p.k.size()), dv_.resize(p.v.size());
    ds_.resize(p.dbias.size());
    for (auto* list : {&ds_magnitudes_, &ds_counts_}) list->resize(p.dbias.size());
    for (index_t b = 0; b < p.size.batch; ++b)
      for (index_t h = 0; h < p.size.heads; ++h)
        for (index_t i = 0; i < p.valid_queries(b); ++i) {
          sample_ = b, head_ = h, query_ = i;
          if (p.per_key) scale_ = 1 / std::max(1.0L, static_cast<long double>(p.valid_keys(b)));
          add_query();
        }
    auto const store = [&](std::vector<bounded> const& sums, std::vector<T> const& before) {
      std::vector<bounded> gradients;
      for (std::size_t i = 0; i < sums.size(); ++i)
        gradients.push_back(roundings_.stored_gradient(problem_.mode, before[i], sums[i]));
      return gradients;
    };
    expected_.dq = store(dq_, p.dq);
    expected_.dk = store(dk_, p.dk);
    expected_.dv = store(dv_, p.dv);
    for (std::size_t n = 0; n < ds_.size(); ++n)
      if (ds_counts_[n] > 1)
        ds_[n].error += roundings_.gamma(static_cast<index_t>(ds_counts_[n])) * ds_magnitudes_[n];
    expected_.dbias = store(ds_, p.dbias);
  }
  expected_attention const& expected() const { return expected_; }

 private:
  static long double exponential(long double x) { return std::exp(std::min(x, 5000.0L)); }
  std::size_t offset_of(extents4 e, index_t row, index_t c) const {
    bool const is_grouped = e.heads != problem_.size.heads;  // e: extents of k or v
    return attention_size::offset_of(e, sample_, is_grouped ? head_ / problem_.size.group : head_,
                                     row, c);
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

  // Defines dropout with an independent SplitMix64.
  bool keeps(index_t j) const {
    if (problem_.dropout.rate == 0) return true;
    auto const hash = [](std::uint64_t seed, std::uint64_t n) {
      std::uint64_t z = seed + (n + 1) * 11400714819323198485u;
      z = (z ^ (z >> 30)) * 13787848793156543929u;
      z = (z ^ (z >> 27)) * 10723151780598845931u;
      return z ^ (z >> 31);
    };
    ss::dropout const& d = problem_.dropout;
    index_t const heads = d.heads == 0 ? problem_.size.heads : d.heads;
    auto const head = static_cast<std::uint64_t>((d.first_sample + sample_) * heads + d.first_head +
                                                 head_),
               position = static_cast<std::uint64_t>(query_ * problem_.size.keys + j);
    return static_cast<long double>(hash(hash(d.seed, head), position) >> 32) >=
           d.rate * 4294967296.0L;
  }
  long double kept_scale() const {
    return 1 / (1 - static_cast<long double>(problem_.dropout.rate));
  }
  long double kept_scale_error() const {
    return problem_.dropout.rate == 0 ? 0 : roundings_.gamma(4);
  }

  void add_query() {
    auto const& size = problem_.size;
    std::vector<index_t> keys;
    std::vector<bounded> score;
    long double max_score = 0, upper_max = 0, lower_max = 0;
    for (index_t j = 0; j < problem_.valid_keys(sample_); ++j) {
      if (!(problem_.is_visible ? problem_.is_visible(sample_, head_, query_, j)
            : problem_.sparse   ? is_visible_pair(*problem_.sparse, head_, query_, j)
                                : is_visible_pair(problem_.mask, query_, j)))
        continue;
      number const bias = problem_.bias.empty()
                              ? number{}
                              : decode(problem_.bias[problem_.bias_layout.offset_of(
                                    problem_.size, sample_, head_, query_, j)]);
      if (bias.kind == number_class::minus_infinity) continue;
      long double dot = 0, magnitude = 0, flushed = 0;
      for (index_t c = 0; c < size.channels; ++c) {
        long double const q = q_[offset_of(size.q(), query_, c)], k = k_[offset_of(size.k(), j, c)];
        dot += q * k, magnitude += std::fabs(q * k), flushed += roundings_.flush_error(q, k);
      }
      bounded const s_j{scale_ * dot + bias.value,
                        roundings_.gamma(size.channels + 4) *
                                (std::fabs(scale_) * magnitude + std::fabs(bias.value)) +
                            roundings_.tiny() * static_cast<long double>(size.channels) +
                            std::fabs(scale_) * flushed};
      if (keys.empty() || s_j.value > max_score) max_score = s_j.value;
      if (keys.empty() || s_j.value + s_j.error > upper_max) upper_max = s_j.value + s_j.error;
      if (keys.empty() || s_j.value - s_j.error > lower_max) lower_max = s_j.value - s_j.error;
      keys.push_back(j), score.push_back(s_j);
    }
    if (keys.empty()) return;
    if (problem_.function != nullptr) return add_weighted_values(keys, score);

    std::size_t const n = keys.size();
    std::vector<long double> x(n), lo(n), hi(n);  // see above; r below is R
    long double sum = 0, sum_lo = 0, sum_hi = 0;
    for (std::size_t k = 0; k < n; ++k) {
      long double const exponent = score[k].value - max_score;
      long double const exponent_error =
          score[k].error +
          4 * roundings_.unit() * (std::fabs(score[k].value) + std::fabs(max_score));
      sum += x[k] = exponential(exponent);
      sum_lo += lo[k] = exponential(exponent - exponent_error);
      sum_hi += hi[k] = exponential(exponent + exponent_error);
    }
    sum_lo = std::max(sum_lo, 1e-2000L);  // for unknown weights
    index_t const roundings = size.keys + 6 * (size.keys / 16 + 2) + 16;
    long double const r = roundings_.gamma(roundings);
    std::size_t const row = offset_of({size.batch, size.heads, size.queries, 1}, query_, 0);
    long double const score_error = std::max(upper_max - max_score, max_score - lower_max);
    expected_.has_visible_key[row] = true;
    expected_.row_max[row] = {max_score, score_error};
    expected_.row_sum[row] = {sum, std::max(sum_hi * exponential(score_error) * (1 + r) - sum,
                                            sum - sum_lo * exponential(-score_error) * (1 - r))};
    std::vector<bounded> p(n);
    for (std::size_t k = 0; k < n; ++k) {
      long double const weight = x[k] / sum;
      p[k] = {weight,
              std::max(hi[k] / sum_lo * (1 + r) - weight, weight - lo[k] / sum_hi * (1 - r)) +
                  roundings_.tiny()};
      expected_.weights[offset_of(size.pairs(), query_, keys[k])] =
          roundings_.stored_value(p[k].value, p[k].error);
      p[k].error = roundings_.weight_error(p[k]);
    }

    // y, and <dy, y>.
    bounded delta;
    long double delta_magnitude = 0;
    for (index_t c = 0; c < size.values; ++c) {
      bounded y;
      for (std::size_t k = 0; k < n; ++k) {
        if (!keeps(keys[k])) continue;
        long double const v = kept_scale() * v_[offset_of(size.v(), keys[k], c)];
        add(y, p[k].value * v,
            p[k].error * std::fabs(v) +
                (r + kept_scale_error()) * (p[k].value + p[k].error) * std::fabs(v) +
                kept_scale() *
                    (roundings_.tiny() + roundings_.flush_error(p[k].value + p[k].error, 0)));
      }
      y = expected_.y[offset_of(size.y(), query_, c)] = roundings_.stored_value(y.value, y.error);
      long double const dy = dy_[offset_of(size.y(), query_, c)];
      add(delta, dy * y.value, std::fabs(dy) * y.error + roundings_.tiny());
      delta_magnitude += std::fabs(dy) * (std::fabs(y.value) + y.error);
    }
    delta.error += roundings_.gamma(size.values + 2) * delta_magnitude;
    for (std::size_t k = 0; k < n; ++k) add_gradients(keys[k], p[k], p[k], delta);
  }

  // Adds values and gradients whose weights are a function of each score.
  void add_weighted_values(std::vector<index_t> const& keys, std::vector<bounded> const& score) {
    auto const& size = problem_.size;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      bounded p = problem_.function->value(score[k], roundings_.unit());
      p.error = roundings_.weight_error({p.value, p.error + roundings_.tiny()});
      for (index_t c = 0; c < size.values; ++c) {
        long double const v = v_[offset_of(size.v(), keys[k], c)];
        add(expected_.y[offset_of(size.y(), query_, c)], p.value * v,
            std::fabs(v) * (p.error + roundings_.gamma(size.keys + size.keys / 8 + 20) *
                                          (std::fabs(p.value) + p.error)) +
                roundings_.tiny());
      }
      add_gradients(keys[k], p, problem_.function->slope(score[k], roundings_.unit()), {});
    }
    for (index_t c = 0; c < size.values; ++c) {
      bounded& y = expected_.y[offset_of(size.y(), query_, c)];
      y = roundings_.stored_value(y.value, y.error);
    }
  }

  // Adds the gradients of one pair of weight p, where ds = factor (<dy, v> - delta).
  void add_gradients(index_t j, bounded p, bounded factor, bounded delta) {
    auto const& size = problem_.size;
    long double const key_sum_error = roundings_.gamma(size.keys + size.keys / 8 + 20),
                      query_sum_error =
                          roundings_.gamma((size.queries + size.queries / 8 + 20) * size.group);
    auto const product = [&](bounded& sum, bounded a, long double b, long double roundings,
                             long double scale = 1) {
      long double const max_a = std::fabs(a.value) + a.error;
      add(sum, a.value * scale * b,
          std::fabs(scale * b) * (a.error + roundings * max_a) + roundings_.tiny() +
              std::fabs(scale) * roundings_.flush_error(max_a, b));
    };
    bounded dp;
    long double magnitude = 0;
    for (index_t c = 0; c < size.values; ++c) {
      long double const dy = dy_[offset_of(size.y(), query_, c)], v = v_[offset_of(size.v(), j, c)];
      add(dp, dy * v, roundings_.tiny() + roundings_.flush_error(dy, v));
      magnitude += std::fabs(dy * v);
      if (keeps(j))
        product(dv_[offset_of(size.v(), j, c)], p, dy, query_sum_error + kept_scale_error(),
                kept_scale());
    }
    dp.error += roundings_.gamma(size.values + 2) * magnitude;
    if (keeps(j))
      dp = {kept_scale() * dp.value,
            kept_scale() * (dp.error + kept_scale_error() * (std::fabs(dp.value) + dp.error))};
    else
      dp = {};
    long double const difference = dp.value - delta.value,
                      difference_error = dp.error + delta.error;
    bounded ds{factor.value * difference,
               factor.error * (std::fabs(difference) + difference_error) +
                   std::fabs(factor.value) * difference_error};
    ds.error += roundings_.gamma(4) * (std::fabs(factor.value) + factor.error) *
                    (std::fabs(difference) + difference_error) +
                roundings_.tiny();
    std::size_t const index =
        problem_.dbias_layout.offset_of(problem_.size, sample_, head_, query_, j);
    add(ds_[index], ds.value, ds.error);
    ds_magnitudes_[index] += std::fabs(ds.value) + ds.error, ++ds_counts_[index];
    ds.error = roundings_.weight_error(ds);
    for (index_t c = 0; c < size.channels; ++c) {
      product(dq_[offset_of(size.q(), query_, c)], ds, k_[offset_of(size.k(), j, c)], key_sum_error,
              scale_);
      product(dk_[offset_of(size.k(), j, c)], ds, q_[offset_of(size.q(), query_, c)],
              query_sum_error, scale_);
    }
  }

  attention_problem<T> const& problem_;
  attention_roundings<T> roundings_;
  long double scale_;
  std::vector<long double> q_, k_, v_, dy_;
  expected_attention expected_;
  std::vector<bounded> dq_, dk_, dv_, ds_;
  std::vector<long double> ds_magnitudes_, ds_counts_;  // sums of absolute values, and counts
  index_t sample_ = 0, head_ = 0, query_ = 0;
};

}  // namespace support
