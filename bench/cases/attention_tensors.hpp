// SPDX-License-Identifier: Apache-2.0
// Common to the cases of attention: tensors of a call, the head that is compared with an oracle,
// and settings. Queries, keys and values are three tensors of the same input; for a text, its bytes
// embedded by three tables.
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

template <class T, class Place>
class attention_tensors : public place_job<Place> {
 protected:
  using tensor = typename Place::template tensor<T>;

  // `backward_reads_y`: where it does not, the place has no y then.
  attention_tensors(fields const& f, ss::index_t of_heads, bool backward_reads_y)
      : place_job<Place>(f),
        backward(f.direction == "backward"),
        heads(of_heads),
        channels(f.extents.channels / heads),
        q(get_dataset<T>(f.input, Place::held(f).extents)),
        k(get_dataset<T>(f.input + "#1", q->extents)),
        v(get_dataset<T>(f.input + "#2", q->extents)),
        dy(backward ? get_dataset<T>("uniform", q->extents) : nullptr),
        y(q->values.size()),
        dq(backward ? y.size() : 0),
        dk(dq.size()),
        dv(dq.size()),
        placed_q(f.extents, q->values),
        placed_k(f.extents, k->values),
        placed_v(f.extents, v->values),
        placed_dq(f.extents, dq),
        placed_dk(f.extents, dk),
        placed_dv(f.extents, dv) {
    if (backward) placed_dy = tensor(f.extents, dy->values);
    if (!backward || backward_reads_y) placed_y = tensor(f.extents, y);
  }

  template <class E>
  ss::tensor4<E> split(ss::tensor3<E> x) const {
    return ss::split_heads(x, heads);
  }
  // Fetches the results; false if samples differ.
  bool fetch() const {
    return backward ? placed_dq.fetch(dq) && placed_dk.fetch(dk) && placed_dv.fetch(dv)
                    : placed_y.fetch(y);
  }
  // The offset of a row of the last head of the last held sample.
  std::size_t start(std::size_t row) const {
    auto const width = static_cast<std::size_t>(q->extents.channels),
               rows = static_cast<std::size_t>(q->extents.length),
               batch = static_cast<std::size_t>(q->extents.batch);
    return ((batch - 1) * rows + row) * width + (width - static_cast<std::size_t>(channels));
  }
  matrix head_of(buffer<T> const& values) const {
    matrix m(static_cast<std::size_t>(q->extents.length), static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < m.rows; ++i)
      for (std::size_t c = 0; c < m.columns; ++c) m.row(i)[c] = decoded(values[start(i) + c]);
    return m;
  }
  double error_of_row(buffer<T> const& values, std::size_t row,
                      std::vector<sized> const& want) const {
    double error = 0.0;
    for (std::size_t c = 0; c < want.size(); ++c)
      error = worst(error, want[c].error_of(decoded(values[start(row) + c])));
    return error;
  }

  bool const backward;
  ss::index_t const heads, channels;  // of a head
  std::shared_ptr<dataset<T>> q, k, v, dy;
  buffer<T> y, dq, dk, dv;
  tensor placed_q, placed_k, placed_v, placed_y, placed_dy, placed_dq, placed_dk, placed_dv;
};

// Every direction of some policies. `f(fields)` adds the case; backend and threads are still to be
// set.
template <class T, class F>
void for_each_direction(std::string const& subject, std::vector<std::string> const& policies,
                        std::string const& input, ss::extents3 e, F const& f) {
  for (std::string const& policy : policies)
    for (char const* const direction : {"forward", "forward_values", "backward"})
      f(fields{subject, direction, ss::dtype_traits<T>::name, policy, input, e});
}

// The text task, with every number of heads that divides the channels.
template <class T, class F>
void for_each_task_direction(std::string const& subject, std::vector<std::string> const& forms,
                             F const& f) {
  for_each_task_shape([&](std::string const& input, ss::extents3 e) {
    for (ss::index_t const heads : the_task().heads) {
      if (e.channels % heads != 0) continue;
      std::vector<std::string> policies;
      for (std::string const& form : forms) policies.push_back(form + std::to_string(heads));
      for_each_direction<T>(subject, policies, input, e, f);
    }
  });
}

}  // namespace bench
