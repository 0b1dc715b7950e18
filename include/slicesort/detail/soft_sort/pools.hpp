// SPDX-License-Identifier: Apache-2.0
// Isotonic regression of a sorted column by pool adjacent violators (Blondel et al., 2020,
// proposition 3 and appendix B), on the host and in kernels.
//
// s_0 >= s_1 >= .. are the sorted values: x if the rows descend (soft_rank: ascend), else -x. The
// weights w_r are (rows - r) / strength in soft_sort, and rows - r in soft_rank, which divides s by
// the strength instead. A pool is a range of rows in which the regression v is constant:
//
//                        v of a pool                  result of row r
//   soft_sort, l2        mean(w) - mean(s)            w_r - v
//   soft_sort, entropic  logsumexp(w) - logsumexp(s)  w_r - v
//   soft_rank, l2        mean(s) - mean(w)            s_r - v
//   soft_rank, entropic  logsumexp(s) - log(sum(w))   exp(s_r - v)
//
// Neighboring pools are merged while v does not decrease. All arithmetic is in double, relative to
// the first value of the pool, so equal values and small strengths lose no digits. Comparisons with
// NaN are false: a NaN stays alone in its pool and does not change other rows. Entropic soft_rank
// computes relative to the first value of the column if the exponents are small (`shares_scale`),
// so that a row has one exponential.
//
// `Math` has multiply_add(a, b, c) = c + a * b, rounded twice, product(a, b) and divide(a, b).
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Converts between elements and the double precision of pools.
template <class T>
SLICESORT_HD double widened(T value) {
  return static_cast<double>(static_cast<accumulator_t<T>>(value));
}
template <class T>
SLICESORT_HD T narrowed(double value) {
  return rounded<T>(static_cast<accumulator_t<T>>(value));
}

// Rows [start, end) with one value of the regression.
struct row_pool {
  index_t start, end;
  double first;   // s of the first row
  double sum;     // l2: sum of s - first; entropic: sum of exp(s - first), or of exp(s - s_0)
  double weight;  // l2: mean of s - first; entropic soft_sort: sum of exp(w - w of the first row);
                  // entropic soft_rank: sum of w

  SLICESORT_HD double count() const { return static_cast<double>(end - start); }
};

// Pools of a column: element i is at [i * pitch].
struct pool_stack {
  std::uint32_t* starts;
  double *sums, *weights;
  index_t pitch;

  SLICESORT_HD void store(index_t i, row_pool const& pool) const {
    starts[i * pitch] = static_cast<std::uint32_t>(pool.start);
    sums[i * pitch] = pool.sum;
    weights[i * pitch] = pool.weight;
  }
  // `end` is the first row behind the pool, value(r) is s of row r.
  SLICESORT_HD_UNCHECKED
  template <class Value>
  SLICESORT_HD row_pool load(index_t i, index_t end, Value const& value) const {
    index_t const start = static_cast<index_t>(starts[i * pitch]);
    return {start, end, value(start), sums[i * pitch], weights[i * pitch]};
  }
};

template <bool Ranks, bool Entropic>
struct isotonic_regression {
  double inverse_strength;
  index_t rows;
  bool shares_scale;  // true if sums are relative to the first value of the column

  // value(r) is s of row r.
  SLICESORT_HD_UNCHECKED
  template <class Value>
  SLICESORT_HD isotonic_regression(double inverse, index_t row_count, Value const& value)
      : inverse_strength(inverse), rows(row_count), shares_scale(false) {
    if constexpr (Ranks && Entropic)
      shares_scale = rows > 0 && exponent(value(rows - 1), value(0)) >= -64;
  }

  SLICESORT_HD double exponent(double value, double first) const {
    return (value - first) * inverse_strength;
  }

  // `exponential` is that of the row relative to the column.
  SLICESORT_HD row_pool pool_of_row(index_t row, double value, double exponential) const {
    double const weight = !Entropic ? 0 : Ranks ? static_cast<double>(rows - row) : 1;
    return {row, row + 1, value, shares_scale ? exponential : Entropic ? 1.0 : 0.0, weight};
  }

  // Merges `next` into the pool before it if v does not decrease. Returns true if it merged.
  template <class Math>
  SLICESORT_HD bool try_merge(Math& math, row_pool& pool, row_pool const& next) const {
    double const distance = next.first - pool.first;  // at most 0
    if constexpr (!Entropic) {
      double const gap = (pool.weight - next.weight) - distance,
                   step = 0.5 * static_cast<double>(next.end - pool.start);
      if (!(Ranks ? gap * inverse_strength <= step : gap >= step * inverse_strength)) return false;
      pool.sum = pool.sum + math.multiply_add(next.count(), distance, next.sum);
      pool.end = next.end;
      pool.weight = math.divide(pool.sum, pool.count());
    } else if constexpr (Ranks) {
      double const difference = distance * inverse_strength, before = pool.sum * next.weight,
                   after = next.sum * pool.weight;
      if (shares_scale) {
        if (!(before <= after)) return false;
        pool.sum = pool.sum + next.sum;
      } else {
        if (certainly_above(before, after, difference)) return false;
        double const scale = exp_at_most_one(math, difference);
        if (!(before <= after * scale)) return false;
        pool.sum = math.multiply_add(next.sum, scale, pool.sum);
      }
      pool.weight = pool.weight + next.weight;
      pool.end = next.end;
    } else {
      double const shift = -static_cast<double>(next.start - pool.start),
                   difference = math.multiply_add(shift, inverse_strength, -distance),
                   before = pool.weight * next.sum, after = next.weight * pool.sum;
      if (difference >= 0) {
        if (before > after && !(before * exp_at_most_one(math, -difference) <= after)) return false;
      } else {
        if (certainly_above(before, after, difference)) return false;
        if (!(before <= after * exp_at_most_one(math, difference))) return false;
      }
      pool.sum = math.multiply_add(next.sum, exp_at_most_one(math, distance), pool.sum);
      pool.weight = math.multiply_add(next.weight, exp_at_most_one(math, shift * inverse_strength),
                                      pool.weight);
      pool.end = next.end;
    }
    return true;
  }

  // True if before > after * exp(difference) by more than rounding errors, without an exponential:
  // exp(d) is at most 1 / (1 - d) for d <= 0.
  static SLICESORT_HD bool certainly_above(double before, double after, double difference) {
    return before * (1 - difference) > after * (1 + 0x1p-30);
  }

  // Stores the pools of a column to the stack. Returns their number. value(r) is s of row r;
  // exponential(r), only called if `shares_scale`, exp(exponent(value(r), value(0))).
  SLICESORT_HD_UNCHECKED
  template <class Math, class Value, class Exponential>
  SLICESORT_HD index_t find_pools(Math& math, Value const& value, Exponential const& exponential,
                                  pool_stack const& stack) const {
    if (rows == 0) return 0;
    index_t below = 0;  // pools before the last one
    row_pool last = pool_of_row(0, value(0), 1.0);
    for (index_t row = 1; row < rows; ++row) {
      row_pool const next = pool_of_row(row, value(row), shares_scale ? exponential(row) : 0.0);
      if (!try_merge(math, last, next)) {
        stack.store(below++, last);
        last = next;
        continue;
      }
      while (below > 0) {
        row_pool previous = stack.load(below - 1, last.start, value);
        if (!try_merge(math, previous, last)) break;
        last = previous;
        --below;
      }
    }
    stack.store(below, last);
    return below + 1;
  }

  // Calls write(row, result) for the rows of a pool. value(r) is not called for a row before the
  // pool. Rows of soft_sort that are alone in their pool keep their value and are skipped.
  SLICESORT_HD_UNCHECKED
  template <class Math, class Value, class Exponential, class Write>
  SLICESORT_HD void for_each_result(Math& math, row_pool const& pool, Value const& value,
                                    Exponential const& exponential, Write const& write) const {
    double const middle = 0.5 * (pool.count() - 1);
    if (pool.end - pool.start == 1) {
      // The difference is 0 or NaN.
      if constexpr (Ranks)
        write(pool.start,
              pool.first == pool.first ? static_cast<double>(rows - pool.start) : pool.first);
    } else if constexpr (!Ranks) {
      double const base =
          pool.first +
          (Entropic ? log_normal_value(math, math.divide(pool.sum, pool.weight)) : pool.weight);
      for (index_t row = pool.start; row < pool.end; ++row) {
        double const steps = (Entropic ? 0.0 : middle) - static_cast<double>(row - pool.start);
        write(row, math.multiply_add(steps, inverse_strength, base));
      }
    } else if constexpr (!Entropic) {
      double const mean_rank = static_cast<double>(rows - pool.start) - middle;
      for (index_t row = pool.start; row < pool.end; ++row)
        write(row, math.multiply_add((value(row) - pool.first) - pool.weight, inverse_strength,
                                     mean_rank));
    } else {
      double const factor = math.divide(pool.weight, pool.sum);
      for (index_t row = pool.start; row < pool.end; ++row)
        write(row,
              factor * (shares_scale ? exponential(row)
                                     : exp_at_most_one(math, exponent(value(row), pool.first))));
    }
  }
};

// Gradients of one pool, sorted rows [start, end), with its rows in the order of the sort.
// `exponentials` is memory of the column, used if entropic: element n is at [n * pitch].
template <bool Ranks, bool Entropic>
struct pool_gradient {
  double inverse_strength;
  double sign;  // of s: 1 or -1

  SLICESORT_HD double scale() const { return Ranks ? sign * inverse_strength : sign; }

  // Calls write(n, exponent), where `value(n)` is x of sorted row n. The larger of both ends is the
  // maximum of the pool.
  SLICESORT_HD_UNCHECKED
  template <class Value, class Write>
  SLICESORT_HD void for_each_exponent(index_t start, index_t end, Value const& value,
                                      Write const& write) const {
    double const first = value(start), last = value(end - 1),
                 maximum = sign * first >= sign * last ? first : last;
    for (index_t n = start; n < end; ++n) write(n, (value(n) - maximum) * scale());
  }

  // Calls write(n, dx). `gradient(n)` is dy of sorted row n; `exponentials` has the exponentials of
  // the exponents.
  SLICESORT_HD_UNCHECKED
  template <class Math, class Gradient, class Write>
  SLICESORT_HD void operator()(Math& math, index_t start, index_t end, double const* exponentials,
                               index_t pitch, Gradient const& gradient, Write const& write) const {
    double const count = static_cast<double>(end - start);
    if constexpr (!Entropic) {
      double sum = 0;
      for (index_t n = start; n < end; ++n) sum += gradient(n);
      double const mean = math.divide(sum, count);
      for (index_t n = start; n < end; ++n) write(n, Ranks ? (gradient(n) - mean) * scale() : mean);
    } else {
      double sum = 0, weighted = 0;
      for (index_t n = start; n < end; ++n) {
        double const e = exponentials[n * pitch];
        sum += e;
        weighted = Ranks ? math.multiply_add(e, gradient(n), weighted) : weighted + gradient(n);
      }
      double const mean = math.divide(weighted, sum);
      // Sum of the ranks of the pool, start + 1 .. end, over the sum of exponentials.
      double const ranks = 0.5 * (static_cast<double>(start + end) + 1) * count,
                   factor = math.divide(ranks, sum);
      for (index_t n = start; n < end; ++n)
        write(n,
              exponentials[n * pitch] * (Ranks ? (gradient(n) - mean) * factor * scale() : mean));
    }
  }
};

SLICESORT_DETAIL_END
