// SPDX-License-Identifier: Apache-2.0
// What the variants of slicing-sort must compute, for the comparison with the oracle. The cases of
// the host and of the GPU derive from these and add the call.
#pragma once

#include "move_jobs.hpp"
#include "sort_jobs.hpp"

#include <slicesort/shuffle.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

// max_exchange with readout row 0.
template <class T>
class exchange_of_maximum : public move_job<T> {
 public:
  using move_job<T>::move_job;

  double max_error() override {
    double error = move_job<T>::max_error();
    // `maximum` is [batch, 1, channels], so a column's number is its index there.
    if (maximum.bytes() != 0)
      for (std::size_t const c : this->x->verified)
        if (maximum[c] != first_maximum(c)) error = wrong;
    return error;
  }

  std::vector<std::uint32_t> rows_of(std::size_t column) const override {
    std::vector<std::uint32_t> rows(static_cast<std::size_t>(this->at.extents.length));
    std::iota(rows.begin(), rows.end(), 0u);
    std::swap(rows[0], rows[first_maximum(column)]);
    return rows;
  }

 protected:
  index_buffer new_maximum() const {
    ss::extents3 const e = this->at.extents;
    return {{e.batch, 1, e.channels}, e.length};
  }
  index_buffer maximum;

 private:
  std::uint32_t first_maximum(std::size_t column) const {
    auto const channels = static_cast<std::size_t>(this->at.extents.channels);
    T const* const values = this->x->values.data() + this->x->start(column);
    auto const value = [&](std::size_t n) { return support::decode(values[n * channels]); };
    std::size_t best = 0;
    for (std::size_t n = 1; n < static_cast<std::size_t>(this->at.extents.length); ++n)
      if (support::less(value(best), value(n))) best = n;
    return static_cast<std::uint32_t>(best);
  }
};

inline constexpr std::uint64_t shuffle_seed = 7;

template <class T, class Form>
class shuffle_of_rows : public move_job<T> {
 public:
  using move_job<T>::move_job;

  // Rows are sorted by their hashes, stably.
  std::vector<std::uint32_t> rows_of(std::size_t column) const override {
    bool const shared = std::is_same_v<Form, ss::shared_by_channels>;
    std::uint64_t const channel =
        shared ? 0 : column % static_cast<std::uint64_t>(this->at.extents.channels);
    std::vector<double> hashes(static_cast<std::size_t>(this->at.extents.length));
    for (std::size_t n = 0; n < hashes.size(); ++n)
      hashes[n] = static_cast<double>(random_bits(random_bits(shuffle_seed, channel), n) >> 32);
    return support::argsort_by_stable_sort(hashes);
  }
};

// multi_permutation with two terms of weight 1/2.

// The largest rounding error of a mean of two values below 8 in T.
template <class T>
constexpr double rounding_of_means() {
  return 16 * unit_roundoff<T>();
}

template <class T>
double mean_of_powers_error(dataset<T>& x, fields const& at, buffer<T> const& y,
                            index_buffer const* perm) {
  auto const& in = x.values;
  return worst_column(
      x, expected_order(x, at), [&](auto const& p, std::size_t n, auto const& cell) {
        double const want = (decoded(in[cell(p[n])]) + decoded(in[cell(p[p[n]])])) / 2;
        double const error = std::abs(decoded(y[cell(n)]) - want);
        return perm != nullptr && (*perm)[cell(n)] != p[n] ? wrong : error;
      });
}

template <class T>
double mean_of_inverse_powers_error(dataset<T>& x, fields const& at, buffer<T> const& dy,
                                    buffer<T> const& dx) {
  auto const& order = expected_order(x, at);
  // Row n of the input went to row inverse[n], and from there to row inverse[inverse[n]].
  auto inverses = order;
  for (std::size_t k = 0; k < order.size(); ++k)
    for (std::size_t n = 0; n < order[k].size(); ++n)
      inverses[k][order[k][n]] = static_cast<std::uint32_t>(n);
  return worst_column(x, inverses, [&](auto const& inverse, std::size_t n, auto const& cell) {
    double const want =
        (decoded(dy[cell(inverse[n])]) + decoded(dy[cell(inverse[inverse[n]])])) / 2;
    return std::abs(decoded(dx[cell(n)]) - want);
  });
}

}  // namespace bench
