// SPDX-License-Identifier: Apache-2.0
// Common to all cases that move rows without sorting them: forward and backward each map one tensor
// to another, and the oracle says which row goes where.
#pragma once

#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/tensors.hpp"
#include "sort_jobs.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// Forward, `from` is x and `to` is y; backward, they are dy and dx. `x` decides where rows go.
template <class T>
class move_job : public job {
 public:
  explicit move_job(fields const& f)
      : at(f),
        backward(f.direction == "backward"),
        x(get_dataset<T>(f.input, f.extents)),
        from(backward ? get_dataset<T>("uniform", f.extents) : x),
        to(from->values.size()) {
    traffic_bytes = from->values.bytes() + to.bytes();
  }

  // Row n of the forward result of column number `column` comes from row `[n]` of the input.
  virtual std::vector<std::uint32_t> rows_of(std::size_t column) const = 0;

  double max_error() override {
    std::vector<std::vector<std::uint32_t>> columns;
    for (std::size_t const c : x->verified) columns.push_back(rows_of(c));
    return error_of_values(columns);
  }

 protected:
  // `columns` holds `rows_of` for every verified column.
  double error_of_values(std::vector<std::vector<std::uint32_t>> const& columns) const {
    return worst_column(*x, columns, [&](auto const& row, std::size_t n, auto const& cell) {
      return backward ? moved_value_error(to[cell(row[n])], from->values[cell(n)])
                      : moved_value_error(to[cell(n)], from->values[cell(row[n])]);
    });
  }

  auto source() const { return const_view(from->values, at.extents); }
  auto target() const { return view(to, at.extents); }

  fields const at;
  bool const backward;
  std::shared_ptr<dataset<T>> x, from;
  buffer<T> to;
};

}  // namespace bench
