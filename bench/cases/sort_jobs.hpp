// SPDX-License-Identifier: Apache-2.0
// Common to all cases that sort or move rows: data, results, and their comparison with the oracle.
// Each subject derives from these and adds the call.
#pragma once

#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/tensors.hpp"
#include "slicing_sort/oracle.hpp"

#include <slicesort/policies/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// Calls `f` with the order policy of that name.
template <class Place = host_place, class F>
auto with_order(std::string const& policy, F const& f) {
  if constexpr (Place::every_policy)
    if (policy == "descending") return f(ss::descending{});
  if (policy == "interleave") return f(ss::interleave{1, 3});
  return f(ss::ascending{});
}

// True if channel `c` of the case ascends.
inline bool ascends(fields const& at, ss::index_t c) {
  return with_order(at.policy,
                    [&](auto order) { return ss::detail::ascends(order, c, at.extents.channels); });
}

// The stable argsorts of the verified columns.
template <class T>
auto const& expected_order(dataset<T>& data, fields const& at) {
  return data.remembered(at.policy, [&](std::size_t c) {
    auto const channel = static_cast<ss::index_t>(c) % at.extents.channels;
    return support::argsort_by_stable_sort(data.column(c), ascends(at, channel));
  });
}

// The largest `f(p, n, cell)` over the rows `n` of every verified column, where `p` is that
// column's entry of `columns` and `cell(n)` is the offset of its row n in the tensor.
template <class T, class Columns, class F>
double worst_column(dataset<T> const& data, Columns const& columns, F const& f) {
  auto const channels = static_cast<std::size_t>(data.extents.channels);
  double error = 0.0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    auto const cell = [channels, start = data.start(data.verified[k])](std::size_t n) {
      return start + n * channels;
    };
    for (std::size_t n = 0; n < static_cast<std::size_t>(data.extents.length); ++n)
      error = std::max(error, f(columns[k], n, cell));
  }
  return error;
}

// y = sort(x), and the permutation unless the direction is forward_values.
template <class T, class Place = host_place>
class sort_job : public place_job<Place> {
 public:
  explicit sort_job(fields const& f)
      : place_job<Place>(f),
        saving(f.direction == "forward"),
        x(get_dataset<T>(f.input, Place::held(f).extents)),
        y(x->values.size()),
        perm(saving ? index_buffer(x->extents, f.extents.length) : index_buffer()),
        placed_x(f.extents, x->values),
        placed_y(f.extents, y),
        placed_perm(f.extents.batch, perm) {
    this->saved_bytes = placed_perm.bytes();
    this->traffic_bytes = placed_x.bytes() + placed_y.bytes() + placed_perm.bytes();
  }

  double max_error() override {
    return placed_y.fetch(y) && placed_perm.fetch(perm) ? error_of_results() : wrong;
  }

 protected:
  virtual double error_of_results() {
    return worst_column(*x, expected_order(*x, this->at),
                        [&](auto const& p, std::size_t n, auto const& cell) {
                          double const error = moved_value_error(y[cell(n)], x->values[cell(p[n])]);
                          return saving && perm[cell(n)] != p[n] ? wrong : error;
                        });
  }

  bool const saving;
  std::shared_ptr<dataset<T>> x;
  buffer<T> y;
  index_buffer perm;
  typename Place::template tensor<T> placed_x, placed_y;
  typename Place::indices placed_perm;
};

// dx[perm] = dy, with the permutation that the operator itself has saved.
template <class T, class Place = host_place>
class unsort_job : public place_job<Place> {
 public:
  explicit unsort_job(fields const& f)
      : place_job<Place>(f),
        x(get_dataset<T>(f.input, Place::held(f).extents)),
        dy(get_dataset<T>("uniform", x->extents)),
        dx(dy->values.size()),
        perm(x->extents, f.extents.length),
        placed_dy(f.extents, dy->values),
        placed_dx(f.extents, dx),
        placed_perm(f.extents.batch, perm) {
    sort_once();
    placed_perm.fill(perm);
    this->saved_bytes = placed_perm.bytes();
    this->traffic_bytes = placed_dy.bytes() + placed_dx.bytes() + placed_perm.bytes();
  }

  double max_error() override { return placed_dx.fetch(dx) ? error_of_results() : wrong; }

 protected:
  virtual double error_of_results() {
    return worst_column(*x, expected_order(*x, this->at),
                        [&](auto const& p, std::size_t n, auto const& cell) {
                          return moved_value_error(dx[cell(p[n])], dy->values[cell(n)]);
                        });
  }

  std::shared_ptr<dataset<T>> x, dy;
  buffer<T> dx;
  index_buffer perm;
  typename Place::template tensor<T> placed_dy, placed_dx;
  typename Place::indices placed_perm;

 private:
  void sort_once();  // where the operator is included: slicing_sort_jobs.hpp
};

// Common to the cases that move rows without sorting them: forward and backward each map one tensor
// to another, and the oracle says which row goes where. Forward, `from` is x and `to` is y;
// backward, they are dy and dx. `x` decides where rows go.
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
