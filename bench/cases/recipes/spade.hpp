// SPDX-License-Identifier: Apache-2.0
// SPADE in the arena. Its state space reads q, with all heads as channels. The output of the recipe
// is twice as wide as its input; y is the sum of both halves, in place of the projection.
#pragma once

#include "recipes/state_space/spade.hpp"
#include "recurrent.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/policies/mask.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

template <class T, class Exec>
class spade_sum {
  using recipe = recipes::spade<T, Exec>;

 public:
  spade_sum(Exec const& exec, ss::mask::window window, double norm_epsilon)
      : exec_(exec), memory_(exec), recipe_(exec, window, norm_epsilon) {}

  void forward(typename recipe::params_type const& params, tensor4<T> y) {
    memory_.clear();
    halves_ = wide(y.extents());
    recipe_.forward(params, halves_);
    recipes::copy(exec_, half(halves_, 0), y);
    recipes::add(exec_, half(halves_, 1), y);
  }
  // Adds the gradient of the state space's rows to that of q.
  void backward(tensor4<T const> dy, typename recipe::params_type const& params, tensor4<T const>,
                typename recipe::grads_type const& grads) {
    typename recipes::memory<Exec>::scope const temporaries(memory_);
    tensor4<T> const d = wide(dy.extents());
    recipes::copy(exec_, dy, half(d, 0));
    recipes::copy(exec_, dy, half(d, 1));
    recipe_.backward(d, params, halves_, grads);
    auto const rows = recipes::head(grads.dstate_space.dx, 0);
    recipes::add(exec_, ss::split_heads(rows, grads.dq.extents().heads), grads.dq);
  }

 private:
  tensor4<T> wide(extents4 e) {
    return memory_.template tensor<T>({e.batch, 1, e.length, 2 * e.channels});
  }
  static tensor4<T> half(tensor4<T> x, ss::index_t i) {
    extents4 const e = x.extents();
    return {x.data() + i * (e.channels / 2), {e.batch, 1, e.length, e.channels / 2}, x.strides()};
  }

  Exec exec_;
  recipes::memory<Exec> memory_;
  recipe recipe_;
  tensor4<T> halves_;
};

template <class T>
struct spade_case {
  using element = T;
  using layer = spade_sum<T, counting_exec>;
  static constexpr bool joins_heads = true;
  static constexpr ss::index_t rows_before = 63, rows_after = 64;
  static constexpr double norm_epsilon = 1e-5;
  ss::index_t heads;
  s4d_parameters<T> parameters;
  learned_tensor<T> local_weight, local_bias, global_weight, global_bias;
  std::vector<T> drows;

  explicit spade_case(extents4 x)
      : heads(head_count(x.channels)),
        parameters(x),
        local_weight({1, heads, 1, x.channels / heads}, 1, 6),
        local_bias(local_weight.shape, 1, 7),
        global_weight({1, 1, 1, x.channels}, 1, 8),
        global_bias(global_weight.shape, 1, 9),
        drows(static_cast<std::size_t>(x.size())) {}
  layer make(counting_exec const& exec) const {
    return layer(exec, ss::mask::window{rows_before, rows_after}, norm_epsilon);
  }
  auto params(recipe_inputs<T const> const& x) const {
    return recipes::spade_params<T, recipes::s4d<T, counting_exec>>{
        split(x.q),
        split(x.k),
        split(x.v),
        parameters.params(x.q),
        {local_weight.view(), local_bias.view()},
        {global_weight.view(), global_bias.view()}};
  }
  auto grads(recipe_inputs<T> const& d) {
    return recipes::spade_grads<T, recipes::s4d<T, counting_exec>>{
        split(d.q),
        split(d.k),
        split(d.v),
        parameters.grads({drows.data(), d.q.extents()}),
        {local_weight.grad(), local_bias.grad()},
        {global_weight.grad(), global_bias.grad()}};
  }

  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t) const {
    ss::index_t const length = x.q.value.rows;
    auto const list_window = [length](ss::index_t i, std::vector<dense::term>& keys) {
      for (ss::index_t j = std::max<ss::index_t>(0, i - rows_before);
           j < std::min(length, i + rows_after + 1); ++j)
        keys.push_back({j, 0});
    };
    dense::node* local = nullptr;
    for (ss::index_t h = 0; h < heads; ++h) {
      dense::matrix const columns = columns_of_head(h);
      dense::node& select = t.constant(columns);
      dense::node& y = t.product(t.attention(t.product(x.q, select), t.product(x.k, select),
                                             t.product(x.v, select), list_window),
                                 t.constant(dense::transposed(columns)));
      local = local == nullptr ? &y : &t.combine(1, *local, 1, y);
    }
    dense::node& global = t.filtered(x.q, parameters.filter(length));
    return t.combine(1, normalized(t, *local, local_weight, local_bias), 1,
                     normalized(t, global, global_weight, global_bias));
  }
  static operations count_operations(extents4) {
    double const window = rows_before + rows_after + 1.0;
    operations const state_space = s4d_parameters<T>::count_operations();
    return {4 * window + state_space.forward, 10 * window + state_space.backward};
  }
  // Roundings of both parts, of their norms, of the gradients of both parts, and of the results.
  // Values in a window are averaged, so that norms multiply rounding errors.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(8, x); }

 private:
  template <class U>
  tensor4<U> split(tensor4<U> x) const {
    return ss::split_heads(recipes::head(x, 0), heads);
  }
  // [channels, channels of a head]
  dense::matrix columns_of_head(ss::index_t h) const {
    ss::index_t const count = local_weight.shape.channels;
    dense::matrix m(heads * count, count);
    for (ss::index_t c = 0; c < count; ++c) m(h * count + c, c) = 1;
    return m;
  }
  // weight * (x - mean) / sqrt(variance + epsilon) + bias
  static dense::node& normalized(dense::tape& t, dense::node& x, learned_tensor<T> const& weight,
                                 learned_tensor<T> const& bias) {
    auto const number = [](learned_tensor<T> const& numbers, ss::index_t c) {
      return to_double(numbers.values[static_cast<std::size_t>(c)]);
    };
    auto const statistics = [](double const* row, ss::index_t count) {
      double mean = 0, variance = 0;
      for (ss::index_t c = 0; c < count; ++c) mean += row[c] / static_cast<double>(count);
      for (ss::index_t c = 0; c < count; ++c)
        variance += (row[c] - mean) * (row[c] - mean) / static_cast<double>(count);
      return std::pair(mean, 1 / std::sqrt(variance + norm_epsilon));
    };
    return t.rowwise(
        x,
        [=, &weight, &bias](double const* row, double* y, ss::index_t count) {
          auto const [mean, scale] = statistics(row, count);
          for (ss::index_t c = 0; c < count; ++c)
            y[c] = number(weight, c) * (row[c] - mean) * scale + number(bias, c);
        },
        [=, &weight](double const* row, double const*, double const* dy, double* drow,
                     ss::index_t count) {
          auto const [mean, scale] = statistics(row, count);
          double sum = 0, radial = 0;
          for (ss::index_t c = 0; c < count; ++c) {
            double const u = number(weight, c) * dy[c] / static_cast<double>(count);
            sum += u, radial += u * (row[c] - mean) * scale;
          }
          for (ss::index_t c = 0; c < count; ++c)
            drow[c] += (number(weight, c) * dy[c] - sum - (row[c] - mean) * scale * radial) * scale;
        });
  }
};

}  // namespace bench
