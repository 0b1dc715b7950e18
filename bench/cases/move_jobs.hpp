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
#include <vector>

namespace bench {

// Forward, `from` is x and `to` is y; backward, they are dy and dx. `x` decides where rows go.
template <class T, class Place = host_place>
class move_job : public place_job<Place> {
 public:
  explicit move_job(fields const& f)
      : place_job<Place>(f),
        backward(f.direction == "backward"),
        x(get_dataset<T>(f.input, Place::held(f).extents)),
        from(backward ? get_dataset<T>("uniform", x->extents) : x),
        to(from->values.size()),
        placed_from(f.extents, from->values),
        placed_to(f.extents, to) {
    this->traffic_bytes = placed_from.bytes() + placed_to.bytes();
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
    if (!placed_to.fetch(to)) return wrong;
    return worst_column(*x, columns, [&](auto const& row, std::size_t n, auto const& cell) {
      return backward ? moved_value_error(to[cell(row[n])], from->values[cell(n)])
                      : moved_value_error(to[cell(n)], from->values[cell(row[n])]);
    });
  }
  auto source() const { return placed_from.const_view(); }
  auto target() const { return placed_to.view(); }

  bool const backward;
  std::shared_ptr<dataset<T>> x, from;
  buffer<T> to;
  typename Place::template tensor<T> placed_from, placed_to;
};

}  // namespace bench
