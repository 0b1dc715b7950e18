// SPDX-License-Identifier: Apache-2.0
// Common to all cases that sort: data, results, and their comparison with the oracle. Each subject
// derives from these and adds the call.
#pragma once

#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/tensors.hpp"
#include "slicing_sort/oracle.hpp"

#include <slicesort/order.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace bench {

// Calls `f` with the order policy of that name.
template <class F>
auto with_order(std::string const& policy, F const& f) {
  if (policy == "descending") return f(ss::descending{});
  if (policy == "interleave") return f(ss::interleave{1, 3});
  return f(ss::ascending{});
}

// Whether channel `c` of the case ascends.
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
template <class T>
class sort_job : public job {
 public:
  explicit sort_job(fields const& f)
      : at(f),
        saving(f.direction == "forward"),
        x(get_dataset<T>(f.input, f.extents)),
        y(x->values.size()) {
    if (saving) perm = index_buffer(at.extents, at.extents.length);
    saved_bytes = perm.bytes();
    traffic_bytes = x->values.bytes() + y.bytes() + perm.bytes();
  }

  double max_error() override {
    return worst_column(*x, expected_order(*x, at),
                        [&](auto const& p, std::size_t n, auto const& cell) {
                          double const error = moved_value_error(y[cell(n)], x->values[cell(p[n])]);
                          return saving && perm[cell(n)] != p[n] ? wrong : error;
                        });
  }

 protected:
  fields const at;
  bool const saving;
  std::shared_ptr<dataset<T>> x;
  buffer<T> y;
  index_buffer perm;
};

// dx[perm] = dy, with the permutation that the operator itself has saved.
template <class T>
class unsort_job : public job {
 public:
  explicit unsort_job(fields const& f)
      : at(f),
        x(get_dataset<T>(f.input, f.extents)),
        dy(get_dataset<T>("uniform", f.extents)),
        dx(dy->values.size()),
        perm(f.extents, f.extents.length) {
    sort_once();
    saved_bytes = perm.bytes();
    traffic_bytes = dy->values.bytes() + dx.bytes() + perm.bytes();
  }

  double max_error() override {
    return worst_column(*x, expected_order(*x, at),
                        [&](auto const& p, std::size_t n, auto const& cell) {
                          return moved_value_error(dx[cell(p[n])], dy->values[cell(n)]);
                        });
  }

 protected:
  fields const at;
  std::shared_ptr<dataset<T>> x, dy;
  buffer<T> dx;
  index_buffer perm;

 private:
  void sort_once();  // where the operator is included: slicing_sort.cpp
};

}  // namespace bench
