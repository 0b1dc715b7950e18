// SPDX-License-Identifier: Apache-2.0
// Base of the attention jobs: tensors, the head to compare with an oracle, and settings. Queries,
// keys and values are three embeddings of the same text, or three tensors of different noise.
#pragma once

#include "attention_oracle.hpp"
#include "driver/dataset.hpp"
#include "driver/settings.hpp"
#include "driver/tensors.hpp"

#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace bench {

template <class T, class Backend>
class attention_tensors : public backend_job<Backend> {
 protected:
  using tensor = typename Backend::template tensor<T>;

  // Backward has a tensor y only if `backward_reads_y`.
  attention_tensors(case_params const& params, ss::index_t head_count, bool backward_reads_y)
      : backend_job<Backend>(params),
        is_backward(params.direction == "backward"),
        heads(head_count),
        channels(params.extents.channels / heads),
        q(get_dataset<T>(params.input, Backend::host_params(params).extents)),
        k(get_dataset<T>(params.input + "#1", q->extents)),
        v(get_dataset<T>(params.input + "#2", q->extents)),
        dy(is_backward ? get_dataset<T>("uniform", q->extents) : nullptr),
        y(q->values.size()),
        dq(is_backward ? y.size() : 0),
        dk(dq.size()),
        dv(dq.size()),
        backend_q(params.extents, q->values),
        backend_k(params.extents, k->values),
        backend_v(params.extents, v->values),
        backend_dq(params.extents, dq),
        backend_dk(params.extents, dk),
        backend_dv(params.extents, dv) {
    if (is_backward) backend_dy = tensor(params.extents, dy->values);
    if (!is_backward || backward_reads_y) backend_y = tensor(params.extents, y);
  }

  template <class E>
  ss::tensor4<E> split(ss::tensor3<E> x) const {
    return ss::split_heads(x, heads);
  }
  // Copies the results to the host; false if samples differ.
  bool fetch() const {
    return is_backward ? backend_dq.fetch(dq) && backend_dk.fetch(dk) && backend_dv.fetch(dv)
                       : backend_y.fetch(y);
  }
  // Offset of a row of the last head in the last sample on the host.
  std::size_t row_offset(std::size_t row) const {
    auto const width = static_cast<std::size_t>(q->extents.channels),
               rows = static_cast<std::size_t>(q->extents.length),
               batch = static_cast<std::size_t>(q->extents.batch);
    return ((batch - 1) * rows + row) * width + (width - static_cast<std::size_t>(channels));
  }
  // Copies the last head of the last sample.
  matrix last_head(buffer<T> const& values) const {
    matrix head(static_cast<std::size_t>(q->extents.length), static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < head.rows; ++i)
      for (std::size_t c = 0; c < head.columns; ++c)
        head.row(i)[c] = to_double(values[row_offset(i) + c]);
    return head;
  }
  double row_error(buffer<T> const& values, std::size_t row,
                   std::vector<tracked_sum> const& expected) const {
    double error = 0.0;
    for (std::size_t c = 0; c < expected.size(); ++c)
      error = larger_error(error, expected[c].error_of(to_double(values[row_offset(row) + c])));
    return error;
  }

  // Error of sampled rows of the last head, or wrong_result. Each weight may have
  // `weight_roundings` more roundings.
  double error_of(attention_oracle const& oracle, double weight_roundings = 0) const {
    double const sum_roundoff = unit_roundoff<ss::detail::accumulator_t<T>>(),
                 error_bound = oracle.tolerance(sum_roundoff, unit_roundoff<T>()) +
                               weight_roundings * sum_roundoff;
    std::vector<std::size_t> const rows = sampled_rows();
    double error = 0.0;
    if (!is_backward) {
      for (std::size_t const i : rows) error = larger_error(error, row_error(y, i, oracle.y(i)));
    } else {
      for (std::size_t const i : rows) error = larger_error(error, row_error(dq, i, oracle.dq(i)));
      auto const grads = oracle.key_gradients_of(rows);
      for (std::size_t n = 0; n < rows.size(); ++n) {
        error = larger_error(error, row_error(dk, rows[n], grads.dk[n]));
        error = larger_error(error, row_error(dv, rows[n], grads.dv[n]));
      }
    }
    return error <= error_bound ? error : wrong_result;
  }
  std::vector<std::size_t> sampled_rows() const {
    auto const n = static_cast<std::size_t>(q->extents.length);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < n; i += n / 24 | 1) rows.push_back(i);
    if (rows.back() != n - 1) rows.push_back(n - 1);
    return rows;
  }

  bool const is_backward;
  ss::index_t const heads, channels;  // channels per head
  std::shared_ptr<dataset<T>> q, k, v, dy;
  buffer<T> y, dq, dk, dv;
  tensor backend_q, backend_k, backend_v, backend_y, backend_dy, backend_dq, backend_dk, backend_dv;
};

// Calls f(params) for every direction of some policies. Backend and threads keep their defaults.
template <class T, class F>
void for_each_direction(std::string const& subject, std::vector<std::string> const& policies,
                        std::string const& input, ss::extents3 shape, F const& f) {
  for (std::string const& policy : policies)
    for (char const* const direction : {"forward", "forward_values", "backward"})
      f(case_params{subject, direction, ss::dtype_traits<T>::name, policy, input, shape});
}

// Calls f(params) for the text task, with every head count that divides the channels.
template <class T, class F>
void for_each_task_direction(std::string const& subject, std::vector<std::string> const& prefixes,
                             F const& f) {
  for_each_task_shape([&](std::string const& input, ss::extents3 shape) {
    for (ss::index_t const heads : text_task_settings().heads) {
      if (shape.channels % heads != 0) continue;
      std::vector<std::string> policies;
      for (std::string const& prefix : prefixes) policies.push_back(prefix + std::to_string(heads));
      for_each_direction<T>(subject, policies, input, shape, f);
    }
  });
}

}  // namespace bench
