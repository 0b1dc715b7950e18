// SPDX-License-Identifier: Apache-2.0
// Base classes of benchmark jobs that sort or permute rows: data, results, and their verification.
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
  if constexpr (Backend::has_all_policies)
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

// Returns stable argsorts of the verified columns.
template <class T>
auto const& expected_order(dataset<T>& data, case_params const& params) {
  return data.permutations_for(params.policy, [&](std::size_t c) {
    auto const channel = static_cast<ss::index_t>(c) % params.extents.channels;
    return support::argsort_by_stable_sort(data.column(c), ascends(params, channel));
  });
}

// Returns the largest error f(rows, n, offset) over all rows n of the verified columns. `rows` is
// the column's entry of `columns`; offset(n) is the position of its row n in the tensor.
template <class T, class Columns, class F>
double max_column_error(dataset<T> const& data, Columns const& columns, F const& f) {
  auto const channels = static_cast<std::size_t>(data.extents.channels);
  double error = 0.0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    auto const offset = [channels, start = data.column_offset(data.verified_columns[k])](
                            std::size_t n) { return start + n * channels; };
    for (std::size_t n = 0; n < static_cast<std::size_t>(data.extents.length); ++n)
      error = larger_error(error, f(columns[k], n, offset));
  }
  return error;
}

// y = sort(x), with the permutation for direction forward.
template <class T, class Backend = host_backend>
class sort_job : public backend_job<Backend> {
 public:
  explicit sort_job(case_params const& params)
      : backend_job<Backend>(params),
        saves_permutation(params.direction == "forward"),
        x(get_dataset<T>(params.input, Backend::host_params(params).extents)),
        y(x->values.size()),
        perm(saves_permutation ? index_buffer(x->extents, params.extents.length) : index_buffer()),
        backend_x(params.extents, x->values),
        backend_y(params.extents, y),
        backend_perm(params.extents.batch, perm) {
    this->saved_bytes = backend_perm.bytes();
    this->traffic_bytes = backend_x.bytes() + backend_y.bytes() + backend_perm.bytes();
  }

  double max_error() override {
    return backend_y.fetch(y) && backend_perm.fetch(perm) ? measure_error() : wrong_result;
  }

 protected:
  virtual double measure_error() {
    return max_column_error(
        *x, expected_order(*x, this->params_),
        [&](auto const& rows, std::size_t n, auto const& offset) {
          double const error = moved_value_error(y[offset(n)], x->values[offset(rows[n])]);
          return saves_permutation && perm[offset(n)] != rows[n] ? wrong_result : error;
        });
  }

  bool const saves_permutation;
  std::shared_ptr<dataset<T>> x;
  buffer<T> y;
  index_buffer perm;
  typename Backend::template tensor<T> backend_x, backend_y;
  typename Backend::indices backend_perm;
};

// dx[perm] = dy, with the permutation saved by the operator.
template <class T, class Backend = host_backend>
class sort_backward_job : public backend_job<Backend> {
 public:
  explicit sort_backward_job(case_params const& params)
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

  double max_error() override { return backend_dx.fetch(dx) ? measure_error() : wrong_result; }

 protected:
  virtual double measure_error() {
    return max_column_error(*x, expected_order(*x, this->params_),
                            [&](auto const& rows, std::size_t n, auto const& offset) {
                              return moved_value_error(dx[offset(rows[n])], dy->values[offset(n)]);
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

// Base of jobs that permute rows. `from` and `to` are x and y in forward, dy and dx in backward.
// The permutation depends on x.
template <class T, class Backend = host_backend>
class move_job : public backend_job<Backend> {
 public:
  explicit move_job(case_params const& params)
      : backend_job<Backend>(params),
        is_backward(params.direction == "backward"),
        x(get_dataset<T>(params.input, Backend::host_params(params).extents)),
        from(is_backward ? get_dataset<T>("uniform", x->extents) : x),
        to(from->values.size()),
        backend_from(params.extents, from->values),
        backend_to(params.extents, to) {
    this->traffic_bytes = backend_from.bytes() + backend_to.bytes();
  }

  // Returns the expected source rows: row n of a column of y is row source_rows(column)[n] of x.
  virtual std::vector<std::uint32_t> source_rows(std::size_t column) const = 0;

  double max_error() override {
    std::vector<std::vector<std::uint32_t>> columns;
    for (std::size_t const c : x->verified_columns) columns.push_back(source_rows(c));
    return value_error(columns);
  }

 protected:
  // `columns` are the source rows of the verified columns.
  double value_error(std::vector<std::vector<std::uint32_t>> const& columns) const {
    if (!backend_to.fetch(to)) return wrong_result;
    return max_column_error(*x, columns, [&](auto const& rows, std::size_t n, auto const& offset) {
      return is_backward ? moved_value_error(to[offset(rows[n])], from->values[offset(n)])
                         : moved_value_error(to[offset(n)], from->values[offset(rows[n])]);
    });
  }
  auto source() const { return backend_from.const_view(); }
  auto target() const { return backend_to.view(); }

  bool const is_backward;
  std::shared_ptr<dataset<T>> x, from;
  buffer<T> to;
  typename Backend::template tensor<T> backend_from, backend_to;
};

}  // namespace bench
