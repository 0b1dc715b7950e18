// SPDX-License-Identifier: Apache-2.0
// LayerNorm over the channels of all heads of a row, and its gradients. For long_short.
#pragma once

#include "support.hpp"

#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>

namespace recipes {

// Scale and offset, [1, heads, 1, channels]. Empty: rows are not normalized.
template <class T>
struct row_norm_params {
  tensor4<T const> weight, bias;
};
template <class T>
struct row_norm_grads {
  tensor4<T> dweight, dbias;
};

// y = weight * (x - mean) / sqrt(variance + epsilon) + bias, undefined past the lengths.
template <class T>
struct row_norm_step {
  using A = accumulator<T>;
  row_norm_params<T> params;
  tensor4<T const> x;
  ss::row_lengths lengths;
  A epsilon;
  tensor4<T const> y;
  tensor4<A> stats;  // [batch, 1, length, 2]: mean, and reciprocal standard deviation

  RECIPES_HD index_t size() const { return x.extents().heads * x.extents().channels; }
  // Element i of the channels of all heads of a row.
  RECIPES_HD position element_of(position row, index_t i) const {
    index_t const channels = x.extents().channels;
    return {row.batch, i / channels, row.row, i % channels};
  }
  RECIPES_HD bool is_valid(index_t sample, index_t row) const {
    return lengths.lengths.data() == nullptr || row < lengths.lengths(sample);
  }
  RECIPES_HD A value(position const& p) const { return static_cast<A>(element(x, p)); }
  RECIPES_HD A normalized(position const& p) const {
    return (value(p) - stats(p.batch, 0, p.row, 0)) * stats(p.batch, 0, p.row, 1);
  }
  RECIPES_HD A weight(position const& p) const {
    return static_cast<A>(params.weight(0, p.head, 0, p.channel));
  }

  // Replaces dy by dx, and writes or adds the gradients of the parameters.
  template <class Exec>
  void backward(Exec const& exec, tensor4<T> d, row_norm_grads<T> const& grads,
                ss::grad_mode mode = ss::grad_mode::overwrite) const;
};

template <class T>
struct normalize_row {
  using A = accumulator<T>;
  row_norm_step<T> step;
  tensor4<T> y;

  RECIPES_HD void operator()(position row) const {
    A const size = static_cast<A>(step.size());
    A sum = 0, squares = 0;
    for (index_t i = 0; i < step.size(); ++i) sum += step.value(step.element_of(row, i));
    A const mean = sum / size;
    for (index_t i = 0; i < step.size(); ++i) {
      A const difference = step.value(step.element_of(row, i)) - mean;
      squares += difference * difference;
    }
    step.stats(row.batch, 0, row.row, 0) = mean;
    step.stats(row.batch, 0, row.row, 1) = 1 / std::sqrt(squares / size + step.epsilon);
    for (index_t i = 0; i < step.size(); ++i) {
      position const p = step.element_of(row, i);
      element(y, p) = static_cast<T>(step.weight(p) * step.normalized(p) +
                                     static_cast<A>(step.params.bias(0, p.head, 0, p.channel)));
    }
  }
};

// Gradients of the weight and the bias of a channel.
template <class T>
struct sum_row_norm_gradients {
  using A = accumulator<T>;
  row_norm_step<T> step;
  tensor4<T const> dy;
  row_norm_grads<T> grads;
  bool adds;

  RECIPES_HD void operator()(position const& p) const {
    A dweight = adds ? static_cast<A>(element(grads.dweight, p)) : 0,
      dbias = adds ? static_cast<A>(element(grads.dbias, p)) : 0;
    for (index_t b = 0; b < dy.extents().batch; ++b)
      for (index_t row = 0; row < dy.extents().length && step.is_valid(b, row); ++row) {
        position const i(b, p.head, row, p.channel);
        dweight += static_cast<A>(element(dy, i)) * step.normalized(i);
        dbias += static_cast<A>(element(dy, i));
      }
    element(grads.dweight, p) = static_cast<T>(dweight);
    element(grads.dbias, p) = static_cast<T>(dbias);
  }
};

// dx = (u - mean(u) - x^ mean(u x^)) / deviation, where x^ is the normalized row and u = weight dy.
template <class T>
struct differentiate_row_norm {
  using A = accumulator<T>;
  row_norm_step<T> step;
  tensor4<T> d;

  RECIPES_HD A scaled(position const& p) const {
    return step.weight(p) * static_cast<A>(element(d, p));
  }
  RECIPES_HD void operator()(position row) const {
    if (!step.is_valid(row.batch, row.row)) return;  // dy is 0
    A const size = static_cast<A>(step.size()), scale = step.stats(row.batch, 0, row.row, 1);
    A sum = 0, radial = 0;
    for (index_t i = 0; i < step.size(); ++i) {
      position const p = step.element_of(row, i);
      sum += scaled(p), radial += scaled(p) * step.normalized(p);
    }
    for (index_t i = 0; i < step.size(); ++i) {
      position const p = step.element_of(row, i);
      element(d, p) =
          static_cast<T>((scaled(p) - sum / size - step.normalized(p) * (radial / size)) * scale);
    }
  }
};

template <class T, class Exec>
row_norm_step<T> normalize(Exec const& exec, memory<Exec>& memory, row_norm_params<T> const& params,
                           tensor4<T const> x, ss::row_lengths lengths, double epsilon) {
  using A = accumulator<T>;
  extents4 const e = x.extents();
  row_norm_step<T> step{params, x, lengths, static_cast<A>(epsilon), x, {}};
  if (params.weight.data() == nullptr) return step;
  auto const y = memory.template tensor<T>(e);
  step.y = y, step.stats = memory.template tensor<A>({e.batch, 1, e.length, 2});
  for_each_position(exec, {e.batch, 1, e.length, 1}, normalize_row<T>{step, y});
  return step;
}

template <class T>
template <class Exec>
void row_norm_step<T>::backward(Exec const& exec, tensor4<T> d, row_norm_grads<T> const& grads,
                                ss::grad_mode mode) const {
  if (params.weight.data() == nullptr) return;
  extents4 const e = x.extents();
  for_each_position(exec, {1, e.heads, 1, e.channels},
                    sum_row_norm_gradients<T>{*this, d, grads, mode == ss::grad_mode::accumulate});
  for_each_position(exec, {e.batch, 1, e.length, 1}, differentiate_row_norm<T>{*this, d});
}

}  // namespace recipes
