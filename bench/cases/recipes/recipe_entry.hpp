// SPDX-License-Identifier: Apache-2.0
// Makes a recipe of examples/recipes an entry of the arena, through the interface of user-defined
// operators.
//
// A case type `Recipe` holds the settings and the learned tensors of a recipe:
//     using element, layer                     element type, and the recipe for counting_exec
//     Recipe(shape)                            shape of q: [batch, heads, length, channels]
//     make(exec)                               a layer
//     params(inputs), grads(gradients)         arguments of the layer; gradients of learned tensors
//                                              are computed, but not compared
//     expected(tape, inputs, head)             the oracle of a head of the last sample
//     count_operations(shape)                  operations for an element of y, forward and backward
//     tolerance(shape)                         relative to the largest value
//     joins_heads = true                       optional: the recipe has one head of all channels
#pragma once

#include "../../driver/numbers.hpp"
#include "dense.hpp"
#include "recipes/support.hpp"

#include <slicesort/bench.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

using ss::extents4, ss::tensor3, ss::tensor4;

// Host policy by which a layer counts the bytes that it holds.
struct counting_exec : ss::exec::host {
  std::shared_ptr<std::size_t> bytes;
};
class counted_bytes : public ss::host_bytes {
 public:
  explicit counted_bytes(std::shared_ptr<std::size_t> total) : total_(std::move(total)) {}
  counted_bytes(counted_bytes&&) noexcept = default;
  counted_bytes& operator=(counted_bytes&& other) noexcept {
    ss::host_bytes::operator=(std::move(other));
    std::swap(total_, other.total_);
    return *this;
  }
  ~counted_bytes() {
    if (total_) *total_ -= size();
  }
  void resize(std::size_t count) {
    *total_ -= size();
    ss::host_bytes::resize(count);
    *total_ += size();
    if (size() < count) throw std::bad_alloc();
  }

 private:
  std::shared_ptr<std::size_t> total_;
};

// A learned tensor of normal numbers, and its gradient.
template <class T>
struct learned_tensor {
  extents4 shape;
  std::vector<T> values, gradient;

  learned_tensor(extents4 e, double deviation, std::uint64_t seed)
      : shape(e), values(static_cast<std::size_t>(e.size())), gradient(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = from_double<T>(deviation * random_normals(seed, i).even);
  }
  tensor4<T const> view() const { return {values.data(), shape}; }
  tensor4<T> grad() { return {gradient.data(), shape}; }
  // The matrix of a head of the last sample.
  dense::matrix matrix(ss::index_t head) const {
    dense::matrix m(shape.length, shape.channels);
    for (ss::index_t i = 0; i < m.rows; ++i)
      for (ss::index_t j = 0; j < m.columns; ++j)
        m(i, j) = to_double(view()(shape.batch - 1, shape.heads == 1 ? 0 : head, i, j));
    return m;
  }
};

template <class T>
struct recipe_inputs {
  tensor4<T> q, k, v;
};

// Gradients of inputs that a recipe does not read. A job has the same tensors in all calls: only
// its first call, which is not timed, fills them.
template <class T>
class unread_gradients {
 public:
  template <class... Tensors>
  void fill_once(tensor4<T> first, Tensors const&... others) {
    if (std::exchange(filled_, first.data()) == first.data()) return;
    recipes::fill(ss::exec::host{}, first, 0);
    (recipes::fill(ss::exec::host{}, others, 0), ...);
  }

 private:
  T const* filled_ = nullptr;
};

// The nodes of a head, and queries of all heads, [length, heads * channels].
struct head_inputs {
  dense::node &q, &k, &v;
  tensor3<double const> rows;
};
struct operations {
  double forward, backward;
};

// Tolerance of results that depend on `roundings` roundings to T and, in float, on three sums over
// the length (of weights, of weighted rows, of gradients) and three over channels (of scores, of
// their gradients, of dy * y). Rounding errors have random signs.
template <class T>
double recipe_tolerance(double roundings, extents4 x) {
  double const sums =
      3 * (std::sqrt(static_cast<double>(x.length)) + std::sqrt(static_cast<double>(x.channels)));
  return 4 * (roundings * unit_roundoff<T>() + sums * unit_roundoff<float>());
}

// True if the recipe has one head of all channels.
template <class Recipe, class = void>
inline constexpr bool joins_heads = false;
template <class Recipe>
inline constexpr bool joins_heads<Recipe, std::enable_if_t<Recipe::joins_heads>> = true;

template <class Recipe>
class recipe_entry {
  using T = typename Recipe::element;

  // The first call makes it.
  struct state {
    std::shared_ptr<std::size_t> held = std::make_shared<std::size_t>(0);
    std::shared_ptr<typename Recipe::layer> layer{};

    std::size_t bytes() const { return *held; }
  };

 public:
  using inputs = tensor3<T const>;
  using oracle_inputs = tensor3<double const>;

  state saved(inputs, inputs, inputs) const { return {}; }
  void forward(host const& exec, inputs q, inputs k, inputs v, tensor3<T> y) {
    forward(exec, q, k, v, y, inference_);
  }
  void forward(host const& exec, inputs q, inputs k, inputs v, tensor3<T> y, state& s) {
    heads_ = joins_heads<Recipe> ? 1 : exec.heads;
    auto const x = split(q, k, v, heads_);
    if (recipe_ == nullptr) recipe_ = std::make_shared<Recipe>(x.q.extents());
    if (s.layer == nullptr)
      s.layer =
          std::make_shared<typename Recipe::layer>(recipe_->make(counting_exec{exec, s.held}));
    s.layer->forward(recipe_->params(x), ss::split_heads(y, heads_));
  }
  void backward(host const&, inputs dy, inputs q, inputs k, inputs v, inputs y, state const& s,
                tensor3<T> dq, tensor3<T> dk, tensor3<T> dv) {
    s.layer->backward(ss::split_heads(dy, heads_), recipe_->params(split(q, k, v, heads_)),
                      ss::split_heads(y, heads_), recipe_->grads(split(dq, dk, dv, heads_)));
  }

  void expected(oracle_inputs q, oracle_inputs k, oracle_inputs v, tensor3<double> y) const {
    for (ss::index_t h = 0; h < heads_; ++h) {
      dense::tape tape;
      head_inputs const x = inputs_of_head(tape, q, k, v, h);
      store(recipe_->expected(tape, x, h).value, y, h);
    }
  }
  void expected_backward(oracle_inputs dy, oracle_inputs q, oracle_inputs k, oracle_inputs v,
                         tensor3<double> dq, tensor3<double> dk, tensor3<double> dv) const {
    for (ss::index_t h = 0; h < heads_; ++h) {
      dense::tape tape;
      head_inputs const x = inputs_of_head(tape, q, k, v, h);
      tape.backward(recipe_->expected(tape, x, h), head_of(dy, h));
      store(x.q.grad, dq, h);
      store(x.k.grad, dk, h);
      store(x.v.grad, dv, h);
    }
  }
  double tolerance(ss::extents3 x) const { return Recipe::tolerance(shape_of(x)); }
  double flops(ss::extents3 x) const {
    return Recipe::count_operations(shape_of(x)).forward * static_cast<double>(x.size());
  }
  double backward_flops(ss::extents3 x) const {
    return Recipe::count_operations(shape_of(x)).backward * static_cast<double>(x.size());
  }

 private:
  static extents4 shape_of(ss::extents3 x) {
    ss::index_t const heads = joins_heads<Recipe> ? 1 : head_count(x.channels);
    return {x.batch, heads, x.length, x.channels / heads};
  }
  template <class U>
  static recipe_inputs<U> split(tensor3<U> q, tensor3<U> k, tensor3<U> v, ss::index_t heads) {
    return {ss::split_heads(q, heads), ss::split_heads(k, heads), ss::split_heads(v, heads)};
  }
  dense::matrix head_of(oracle_inputs x, ss::index_t h) const {
    auto const head = recipes::head(ss::split_heads(x, heads_), h);
    dense::matrix m(head.extents().length, head.extents().channels);
    for (ss::index_t i = 0; i < m.rows; ++i)
      for (ss::index_t j = 0; j < m.columns; ++j) m(i, j) = head(0, i, j);
    return m;
  }
  void store(dense::matrix const& m, tensor3<double> x, ss::index_t h) const {
    auto const head = recipes::head(ss::split_heads(x, heads_), h);
    for (ss::index_t i = 0; i < m.rows; ++i)
      for (ss::index_t j = 0; j < m.columns; ++j) head(0, i, j) = m(i, j);
  }
  head_inputs inputs_of_head(dense::tape& tape, oracle_inputs q, oracle_inputs k, oracle_inputs v,
                             ss::index_t h) const {
    return {tape.variable(head_of(q, h)), tape.variable(head_of(k, h)),
            tape.variable(head_of(v, h)), q};
  }

  // Made by the first call.
  std::shared_ptr<Recipe> recipe_;
  state inference_;
  ss::index_t heads_ = 1;
};

}  // namespace bench

template <>
struct recipes::bytes_of<bench::counting_exec> {
  using type = bench::counted_bytes;
  static type make(bench::counting_exec const& exec) { return type(exec.bytes); }
};
