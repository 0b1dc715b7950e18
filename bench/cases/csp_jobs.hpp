// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of csp.
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
auto with_csp(case_params const& params, F const& f) {
  csp_policy const policy(params.policy);
  ss::group_size const groups{policy.rows_per_group(params.extents.length)};
  auto const with_shift = [&](auto shift) {
    if (policy.is_aligned()) return f(ss::csp{groups, shift, ss::reference{}});
    return f(ss::csp{groups, shift, ss::ascending{}});
  };
  return policy.shift == "none" ? with_shift(ss::shift::none{}) : with_shift(ss::shift::linear{});
}

// Returns the shift of a channel. Channel 0 is not shifted if it is the reference.
inline std::size_t expected_shift(case_params const& params, std::size_t channel) {
  csp_policy const policy(params.policy);
  if (policy.shift == "none" || (policy.is_aligned() && channel == 0)) return 0;
  auto const rows = static_cast<std::size_t>(params.extents.length),
             channels = static_cast<std::size_t>(params.extents.channels);
  return (channel + 1) * ((rows + channels - 1) / channels) % rows;
}

template <class T, class Backend = host_backend>
class csp_base_job : public move_job<T, Backend> {
 public:
  explicit csp_base_job(case_params const& params)
      : move_job<T, Backend>(params),
        rows_per_group(static_cast<std::size_t>(
            csp_policy(params.policy).rows_per_group(params.extents.length))),
        order(make_order()),
        backend_order(params.extents.batch, order) {
    this->saved_bytes = backend_order.bytes();
    this->traffic_bytes += backend_order.bytes();
  }

  double max_error() override {
    auto const& rows = this->x->permutations_for(this->params_.policy,
                                                 [&](std::size_t c) { return source_rows(c); });
    double const error = this->value_error(rows);
    if (order.bytes() == 0) return error;
    return backend_order.fetch(order) ? larger_error(error, order_error(rows)) : wrong_result;
  }

  std::vector<std::uint32_t> source_rows(std::size_t column) const override {
    auto const channels = static_cast<std::size_t>(this->params_.extents.channels);
    support::csp_column const config{
        static_cast<ss::index_t>(expected_shift(this->params_, column % channels)),
        static_cast<ss::index_t>(rows_per_group)};
    std::vector<double> reference;
    if (csp_policy(this->params_.policy).is_aligned())
      reference = this->x->column(column / channels * channels);
    return support::csp_by_sorting(config, this->x->column(column),
                                   reference.empty() ? nullptr : &reference)
        .source;
  }

 protected:
  // Runs forward to save the order that backward and its baseline read.
  void save_order() {
    case_params forward_params = this->params_;
    forward_params.isa = ss::isa::best;
    typename Backend::template tensor<T> const backend_x(forward_params.extents, this->x->values);
    with_csp(forward_params, [&](auto const& op) {
      auto const exec = Backend::exec(forward_params);
      typename Backend::template memory<unsigned char> const workspace(
          op.workspace_bytes(exec, backend_x.const_view()));
      op.forward(exec, backend_x.const_view(), this->target(), backend_order.view(), workspace);
      Backend::wait();
    });
  }

  std::size_t const rows_per_group;
  index_buffer order;
  typename Backend::indices backend_order;

 private:
  index_buffer make_order() const {
    ss::extents3 saved = this->x->extents;
    if (rows_per_group == 2) saved.length = (saved.length + 15) / 16;
    if (this->params_.direction == "forward_values" || rows_per_group == 1) return {};
    return {saved, rows_per_group <= 256     ? ss::index_width::bits8
                   : rows_per_group <= 65536 ? ss::index_width::bits16
                                             : ss::index_width::bits32};
  }

  // Returns 0 if the saved order encodes these source rows, else wrong_result.
  double order_error(std::vector<std::vector<std::uint32_t>> const& columns) const {
    auto const length = static_cast<std::size_t>(this->params_.extents.length),
               channels = static_cast<std::size_t>(this->params_.extents.channels);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      std::size_t const column = this->x->verified_columns[k], c = column % channels;
      std::size_t const shift = expected_shift(this->params_, c);
      std::size_t const saved_rows = rows_per_group == 2 ? (length + 15) / 16 : length;
      auto const saved_entry = [&](std::size_t row) {
        return order[(column / channels * saved_rows + row) * channels + c];
      };
      for (std::size_t n = 0; n < length; ++n) {
        std::size_t const expected =
            (columns[k][n] + shift) % length - n / rows_per_group * rows_per_group;
        std::size_t const actual = rows_per_group == 2
                                       ? (saved_entry(n / 16) >> n / 2 % 8 & 1u) ^ (n % 2)
                                       : saved_entry(n);
        if (actual != expected) return wrong_result;
      }
    }
    return 0.0;
  }
};

template <class T, class Backend>
class csp_job final : public csp_base_job<T, Backend> {
 public:
  explicit csp_job(case_params const& params) : csp_base_job<T, Backend>(params) {
    with_csp(params, [&](auto const& op) {
      this->allocate_scratch(op.workspace_bytes(this->exec(), this->source()));
    });
    if (this->is_backward) this->save_order();
  }
  void run() override {
    with_csp(this->params_, [&](auto const& op) {
      auto const saved = this->backend_order.view();
      if (this->is_backward)
        op.backward(this->exec(), this->source(), saved, this->target(), this->scratch);
      else if (this->params_.direction == "forward")
        op.forward(this->exec(), this->source(), this->target(), saved, this->scratch);
      else
        op.forward(this->exec(), this->source(), this->target(), ss::no_saved, this->scratch);
    });
  }
};

}  // namespace bench
