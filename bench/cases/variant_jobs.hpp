// SPDX-License-Identifier: Apache-2.0
// The cases of the variants of slicing-sort: their results, for the comparison with the oracle, and
// the calls.
#pragma once

#include "sort_jobs.hpp"

#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
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
template <class T, class Place>
class exchange_job final : public move_job<T, Place> {
 public:
  explicit exchange_job(fields const& f)
      : move_job<T, Place>(f), maximum_(new_maximum()), placed_maximum_(f.extents.batch, maximum_) {
    this->allocate(op_.workspace_bytes(this->exec(), this->source()));
    this->saved_bytes = placed_maximum_.bytes();
    this->traffic_bytes += placed_maximum_.bytes();
    if (!this->backward) return;
    typename Place::template tensor<T> const in(f.extents, this->x->values);
    op_.forward(this->exec(), in.const_view(), this->target(), placed_maximum_.view(),
                this->scratch);
    Place::wait();
  }

  void run() override {
    if (this->backward)
      op_.backward(this->exec(), this->source(), placed_maximum_.view(), this->target(),
                   this->scratch);
    else
      op_.forward(this->exec(), this->source(), this->target(), placed_maximum_.saved(),
                  this->scratch);
  }

  double max_error() override {
    double error = move_job<T, Place>::max_error();
    if (!placed_maximum_.fetch(maximum_)) return wrong;
    // The maxima are [batch, 1, channels], so a column's number is its index there.
    if (maximum_.bytes() != 0)
      for (std::size_t const c : this->x->verified)
        if (maximum_[c] != first_maximum(c)) error = wrong;
    return error;
  }

  std::vector<std::uint32_t> rows_of(std::size_t column) const override {
    std::vector<std::uint32_t> rows(static_cast<std::size_t>(this->at.extents.length));
    std::iota(rows.begin(), rows.end(), 0u);
    std::swap(rows[0], rows[first_maximum(column)]);
    return rows;
  }

 private:
  index_buffer new_maximum() const {
    if (this->at.direction == "forward_values") return {};
    ss::extents3 const e = this->x->extents;
    return {{e.batch, 1, e.channels}, e.length};
  }
  std::uint32_t first_maximum(std::size_t column) const {
    auto const channels = static_cast<std::size_t>(this->at.extents.channels);
    T const* const values = this->x->values.data() + this->x->start(column);
    auto const value = [&](std::size_t n) { return support::decode(values[n * channels]); };
    std::size_t best = 0;
    for (std::size_t n = 1; n < static_cast<std::size_t>(this->at.extents.length); ++n)
      if (support::less(value(best), value(n))) best = n;
    return static_cast<std::uint32_t>(best);
  }

  ss::max_exchange const op_{0};
  index_buffer maximum_;
  typename Place::indices placed_maximum_;
};

inline constexpr std::uint64_t shuffle_seed = 7;

template <class T, class Form, class Place>
class shuffle_job final : public move_job<T, Place> {
 public:
  explicit shuffle_job(fields const& f) : move_job<T, Place>(f) {
    this->allocate(op_.workspace_bytes(this->exec(), this->source()));
  }
  void run() override {
    if (this->backward)
      op_.backward(this->exec(), this->source(), this->target(), this->scratch);
    else
      op_.forward(this->exec(), this->source(), this->target(), this->scratch);
  }

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

 private:
  ss::shuffle<Form> const op_{shuffle_seed};
};

// multi_permutation with two terms of weight 1/2. Its tolerance is the largest rounding error of a
// mean of two values below 8 in T.
template <class T, class Place>
class powers_job final : public sort_job<T, Place> {
 public:
  explicit powers_job(fields const& f) : sort_job<T, Place>(f) {
    this->allocate(op_.workspace_bytes(this->exec(), this->placed_x.const_view()));
    this->tolerance = 16 * unit_roundoff<T>();
    this->flops = 2.0 * static_cast<double>(f.extents.size());
  }
  void run() override {
    op_.forward(this->exec(), this->placed_x.const_view(), ss::uniform_weights,
                this->placed_y.view(), this->placed_perm.saved(), this->scratch);
  }

 private:
  double error_of_results() override {
    auto const& in = this->x->values;
    return worst_column(*this->x, expected_order(*this->x, this->at),
                        [&](auto const& p, std::size_t n, auto const& cell) {
                          double const want =
                              (decoded(in[cell(p[n])]) + decoded(in[cell(p[p[n]])])) / 2;
                          double const error = std::abs(decoded(this->y[cell(n)]) - want);
                          return this->saving && this->perm[cell(n)] != p[n] ? wrong : error;
                        });
  }

  ss::multi_permutation<> const op_{2};
};

template <class T, class Place>
class inverse_powers_job final : public unsort_job<T, Place> {
 public:
  explicit inverse_powers_job(fields const& f) : unsort_job<T, Place>(f) {
    this->allocate(op_.workspace_bytes(this->exec(), this->placed_dy.const_view()));
    this->tolerance = 16 * unit_roundoff<T>();
    this->flops = 2.0 * static_cast<double>(f.extents.size());
  }
  void run() override {
    op_.backward(this->exec(), this->placed_dy.const_view(), ss::uniform_weights,
                 this->placed_perm.view(), this->placed_dx.view(), this->scratch);
  }

 private:
  double error_of_results() override {
    auto const& order = expected_order(*this->x, this->at);
    auto const& from = this->dy->values;
    // Row n of the input went to row inverse[n], and from there to row inverse[inverse[n]].
    auto inverses = order;
    for (std::size_t k = 0; k < order.size(); ++k)
      for (std::size_t n = 0; n < order[k].size(); ++n)
        inverses[k][order[k][n]] = static_cast<std::uint32_t>(n);
    return worst_column(*this->x, inverses, [&](auto const& p, std::size_t n, auto const& cell) {
      double const want = (decoded(from[cell(p[n])]) + decoded(from[cell(p[p[n]])])) / 2;
      return std::abs(decoded(this->dx[cell(n)]) - want);
    });
  }

  ss::multi_permutation<> const op_{2};
};

}  // namespace bench
