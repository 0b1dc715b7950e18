// SPDX-License-Identifier: Apache-2.0
// Base classes of cases that sort or move rows: data, results, and the comparison with the oracle.
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

// Calls `f` with the named order policy.
template <class Backend = host_backend, class F>
auto with_order(std::string const& policy, F const& f) {
  if constexpr (Backend::all_policies)
    if (policy == "descending") return f(ss::descending{});
  if (policy == "interleave") return f(ss::interleave{1, 3});
  return f(ss::ascending{});
}

// True if channel `c` of the case ascends.
inline bool ascends(case_params const& params, ss::index_t c) {
  return with_order(params.policy, [&](auto order) {
    return ss::detail::ascends(order, c, params.extents.channels);
  });
}

// Stable argsorts of the verified columns.
template <class T>
auto const& expected_order(dataset<T>& data, case_params const& params) {
  return data.permutations_for(params.policy, [&](std::size_t c) {
    auto const channel = static_cast<ss::index_t>(c) % params.extents.channels;
    return support::argsort_by_stable_sort(data.column(c), ascends(params, channel));
  });
}

// The largest f(p, n, offset) over all rows n of the verified columns, where p is the column's
// entry of `columns` and offset(n) the position of its row n in the tensor.
template <class T, class Columns, class F>
double worst_column(dataset<T> const& data, Columns const& columns, F const& f) {
  auto const channels = static_cast<std::size_t>(data.extents.channels);
  double error = 0.0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    auto const offset = [channels, start = data.start(data.verified[k])](std::size_t n) {
      return start + n * channels;
    };
    for (std::size_t n = 0; n < static_cast<std::size_t>(data.extents.length); ++n)
      error = std::max(error, f(columns[k], n, offset));
  }
  return error;
}

// y = sort(x), with the permutation for direction forward.
template <class T, class Backend = host_backend>
class sort_job : public backend_job<Backend> {
 public:
  explicit sort_job(case_params const& params)
      : backend_job<Backend>(params),
        saving(params.direction == "forward"),
        x(get_dataset<T>(params.input, Backend::host_params(params).extents)),
        y(x->values.size()),
        perm(saving ? index_buffer(x->extents, params.extents.length) : index_buffer()),
        backend_x(params.extents, x->values),
        backend_y(params.extents, y),
        backend_perm(params.extents.batch, perm) {
    this->saved_bytes = backend_perm.bytes();
    this->traffic_bytes = backend_x.bytes() + backend_y.bytes() + backend_perm.bytes();
  }

  double max_error() override {
    return backend_y.fetch(y) && backend_perm.fetch(perm) ? measure_error() : wrong;
  }

 protected:
  virtual double measure_error() {
    return worst_column(*x, expected_order(*x, this->params_),
                        [&](auto const& p, std::size_t n, auto const& offset) {
                          double const error =
                              moved_value_error(y[offset(n)], x->values[offset(p[n])]);
                          return saving && perm[offset(n)] != p[n] ? wrong : error;
                        });
  }

  bool const saving;
  std::shared_ptr<dataset<T>> x;
  buffer<T> y;
  index_buffer perm;
  typename Backend::template tensor<T> backend_x, backend_y;
  typename Backend::indices backend_perm;
};

// dx[perm] = dy, with the permutation saved by the operator.
template <class T, class Backend = host_backend>
class unsort_job : public backend_job<Backend> {
 public:
  explicit unsort_job(case_params const& params)
      : backend_job<Backend>(params),
        x(get_dataset<T>(params.input, Backend::host_params(params).extents)),
        dy(get_dataset<T>("uniform", x->extents)),
        dx(dy->values.size()),
        perm(x->extents, params.extents.length),
        backend_dy(params.extents, dy->values),
        backend_dx(params.extents, dx),
        backend_perm(params.extents.batch, perm) {
    save_permutation();
    backend_perm.fill(perm);
    this->saved_bytes = backend_perm.bytes();
    this->traffic_bytes = backend_dy.bytes() + backend_dx.bytes() + backend_perm.bytes();
  }

  double max_error() override { return backend_dx.fetch(dx) ? measure_error() : wrong; }

 protected:
  virtual double measure_error() {
    return worst_column(*x, expected_order(*x, this->params_),
                        [&](auto const& p, std::size_t n, auto const& offset) {
                          return moved_value_error(dx[offset(p[n])], dy->values[offset(n)]);
                        });
  }

  std::shared_ptr<dataset<T>> x, dy;
  buffer<T> dx;
  index_buffer perm;
  typename Backend::template tensor<T> backend_dy, backend_dx;
  typename Backend::indices backend_perm;

 private:
  void save_permutation();  // defined in slicing_sort_jobs.hpp
};

// Base of cases that move rows. `from` and `to` are x and y in forward, dy and dx in backward. The
// permutation depends on x.
template <class T, class Backend = host_backend>
class move_job : public backend_job<Backend> {
 public:
  explicit move_job(case_params const& params)
      : backend_job<Backend>(params),
        backward(params.direction == "backward"),
        x(get_dataset<T>(params.input, Backend::host_params(params).extents)),
        from(backward ? get_dataset<T>("uniform", x->extents) : x),
        to(from->values.size()),
        backend_from(params.extents, from->values),
        backend_to(params.extents, to) {
    this->traffic_bytes = backend_from.bytes() + backend_to.bytes();
  }

  // The oracle: row n of a column of y is row source_rows(column)[n] of x.
  virtual std::vector<std::uint32_t> source_rows(std::size_t column) const = 0;

  double max_error() override {
    std::vector<std::vector<std::uint32_t>> columns;
    for (std::size_t const c : x->verified) columns.push_back(source_rows(c));
    return error_of_values(columns);
  }

 protected:
  // `columns` are the source rows of the verified columns.
  double error_of_values(std::vector<std::vector<std::uint32_t>> const& columns) const {
    if (!backend_to.fetch(to)) return wrong;
    return worst_column(*x, columns, [&](auto const& row, std::size_t n, auto const& offset) {
      return backward ? moved_value_error(to[offset(row[n])], from->values[offset(n)])
                      : moved_value_error(to[offset(n)], from->values[offset(row[n])]);
    });
  }
  auto source() const { return backend_from.const_view(); }
  auto target() const { return backend_to.view(); }

  bool const backward;
  std::shared_ptr<dataset<T>> x, from;
  buffer<T> to;
  typename Backend::template tensor<T> backend_from, backend_to;
};

}  // namespace bench
