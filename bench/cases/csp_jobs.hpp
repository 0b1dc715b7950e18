// SPDX-License-Identifier: Apache-2.0
// The cases of csp: their results, for the comparison with the oracle, and the calls.
#pragma once

#include "csp/oracle.hpp"
#include "csp_settings.hpp"
#include "sort_jobs.hpp"

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

template <class T, class Place = host_place>
class csp_of_rows : public move_job<T, Place> {
 public:
  explicit csp_of_rows(fields const& f)
      : move_job<T, Place>(f),
        group(static_cast<std::size_t>(csp_policy(f.policy).rows_of_group(f.extents.length))),
        order(new_order()),
        placed_order(f.extents.batch, order) {
    this->saved_bytes = placed_order.bytes();
    this->traffic_bytes += placed_order.bytes();
  }

  double max_error() override {
    auto const& rows =
        this->x->remembered(this->at.policy, [&](std::size_t c) { return rows_of(c); });
    double const error = this->error_of_values(rows);
    if (order.bytes() == 0) return error;
    return placed_order.fetch(order) ? std::max(error, error_of_order(rows)) : wrong;
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
  // Runs the operator's forward, which saves the order that backward and its baseline read.
  void save_order() {
    fields widest = this->at;
    widest.instructions = ss::isa::best;
    typename Place::template tensor<T> const in(widest.extents, this->x->values);
    with_csp(widest, [&](auto const& op) {
      auto const exec = Place::exec(widest);
      typename Place::template memory<unsigned char> const memory(
          op.workspace_bytes(exec, in.const_view()));
      op.forward(exec, in.const_view(), this->target(), placed_order.view(), memory);
      Place::wait();
    });
  }

  std::size_t const group;
  index_buffer order;
  typename Place::indices placed_order;

 private:
  index_buffer new_order() const {
    ss::extents3 saved = this->x->extents;
    if (group == 2) saved.length = (saved.length + 15) / 16;
    if (this->at.direction == "forward_values" || group == 1) return {};
    return {saved, group <= 256     ? ss::index_width::bits8
                   : group <= 65536 ? ss::index_width::bits16
                                    : ss::index_width::bits32};
  }

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

template <class T, class Place>
class csp_job final : public csp_of_rows<T, Place> {
 public:
  explicit csp_job(fields const& f) : csp_of_rows<T, Place>(f) {
    with_csp(f, [&](auto const& op) {
      this->allocate(op.workspace_bytes(this->exec(), this->source()));
    });
    if (this->backward) this->save_order();
  }
  void run() override {
    with_csp(this->at, [&](auto const& op) {
      auto const saved = this->placed_order.view();
      if (this->backward)
        op.backward(this->exec(), this->source(), saved, this->target(), this->scratch);
      else if (this->at.direction == "forward")
        op.forward(this->exec(), this->source(), this->target(), saved, this->scratch);
      else
        op.forward(this->exec(), this->source(), this->target(), ss::no_saved, this->scratch);
    });
  }
};

}  // namespace bench
