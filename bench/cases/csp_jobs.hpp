// SPDX-License-Identifier: Apache-2.0
// What csp must compute, for the comparison with the oracle. The cases of the host and of the GPU
// derive from this and add the call.
#pragma once

#include "csp/oracle.hpp"
#include "csp_settings.hpp"
#include "move_jobs.hpp"

#include <slicesort/csp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// Calls `f` with the operator of the case.
template <class F>
auto with_csp(fields const& at, F const& f) {
  csp_policy const p(at.policy);
  ss::group_size const groups{p.rows_of_group(at.extents.length)};
  auto const with_shift = [&](auto shift) {
    if (p.aligned()) return f(ss::csp{groups, shift, ss::reference{}});
    return f(ss::csp{groups, shift, ss::ascending{}});
  };
  return p.shift == "none" ? with_shift(ss::shift::none{}) : with_shift(ss::shift::linear{});
}

// The shift of a channel; the reference, channel 0, is not shifted.
inline std::size_t expected_shift(fields const& at, std::size_t channel) {
  csp_policy const p(at.policy);
  if (p.shift == "none" || (p.aligned() && channel == 0)) return 0;
  auto const rows = static_cast<std::size_t>(at.extents.length),
             channels = static_cast<std::size_t>(at.extents.channels);
  return (channel + 1) * ((rows + channels - 1) / channels) % rows;
}

template <class T>
class csp_of_rows : public move_job<T> {
 public:
  explicit csp_of_rows(fields const& f)
      : move_job<T>(f),
        group(static_cast<std::size_t>(csp_policy(f.policy).rows_of_group(f.extents.length))) {
    ss::extents3 saved = f.extents;
    if (group == 2) saved.length = (saved.length + 15) / 16;
    if (f.direction != "forward_values" && group != 1)
      order = index_buffer(saved, group <= 256     ? ss::index_width::bits8
                                  : group <= 65536 ? ss::index_width::bits16
                                                   : ss::index_width::bits32);
    this->saved_bytes = order.bytes();
    this->traffic_bytes += order.bytes();
  }

  double max_error() override {
    auto const& rows =
        this->x->remembered(this->at.policy, [&](std::size_t c) { return rows_of(c); });
    double const error = this->error_of_values(rows);
    return order.bytes() == 0 ? error : std::max(error, error_of_order(rows));
  }

  std::vector<std::uint32_t> rows_of(std::size_t column) const override {
    auto const channels = static_cast<std::size_t>(this->at.extents.channels);
    support::csp_column const how{
        static_cast<ss::index_t>(expected_shift(this->at, column % channels)),
        static_cast<ss::index_t>(group)};
    std::vector<double> leader;
    if (csp_policy(this->at.policy).aligned())
      leader = this->x->column(column / channels * channels);
    return support::csp_by_sorting(how, this->x->column(column), leader.empty() ? nullptr : &leader)
        .source;
  }

 protected:
  std::size_t const group;
  index_buffer order;

 private:
  // Compares the saved state with the rows that it must encode.
  double error_of_order(std::vector<std::vector<std::uint32_t>> const& columns) const {
    auto const length = static_cast<std::size_t>(this->at.extents.length),
               channels = static_cast<std::size_t>(this->at.extents.channels);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      std::size_t const column = this->x->verified[k], c = column % channels;
      std::size_t const shift = expected_shift(this->at, c);
      std::size_t const saved_rows = group == 2 ? (length + 15) / 16 : length;
      auto const saved = [&](std::size_t row) {
        return order[(column / channels * saved_rows + row) * channels + c];
      };
      for (std::size_t n = 0; n < length; ++n) {
        std::size_t const want = (columns[k][n] + shift) % length - n / group * group;
        std::size_t const is = group == 2 ? (saved(n / 16) >> n / 2 % 8 & 1u) ^ (n % 2) : saved(n);
        if (is != want) return wrong;
      }
    }
    return 0.0;
  }
};

}  // namespace bench
