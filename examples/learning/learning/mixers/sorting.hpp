// SPDX-License-Identifier: Apache-2.0
// Sliceformer's mixers: slicing-sort and its variants.
#pragma once

#include "learning/mixers/projected.hpp"

#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/slicing_sort.hpp>

namespace learning::mixers {

/// Returns the order of a layer. The paper's `interleave` is finest in the first layer, the
/// published code's `haar_interleave` in the last.
template <class Order>
Order order_of_layer(Order order, index_t /*layer*/, index_t /*layers*/) {
  return order;
}
inline ss::interleave order_of_layer(ss::interleave, index_t layer, index_t layers) {
  return {layer + 1, layers};
}
inline ss::haar_interleave order_of_layer(ss::haar_interleave order, index_t layer, index_t) {
  return {layer, order.heads};
}

template <class Order, class T>
class sorting_core : public saving_core<sorting_core<Order, T>, ss::slicing_sort<Order>,
                                        ss::saved_permutation, T> {
 public:
  struct config {
    Order order{};
  };
  sorting_core(parameter_scope<T> const& scope, config const& options)
      : sorting_core::saving_core(
            ss::slicing_sort<Order>(order_of_layer(options.order, scope.layer, scope.layers))) {}
};

template <class T>
class max_exchange_core
    : public saving_core<max_exchange_core<T>, ss::max_exchange, ss::saved_maximum, T> {
 public:
  struct config {};
  max_exchange_core(parameter_scope<T> const&, config const&)
      : max_exchange_core::saving_core(ss::max_exchange{}) {}
  extents3 saved_extents(extents3 e) const { return {e.batch, 1, e.channels}; }
};

template <class T>
class multi_permutation_core {
 public:
  using element = T;
  struct config {
    index_t components = 2;
  };
  multi_permutation_core(parameter_scope<T> const&, config const& c) : op_(c.components) {}

  void forward(context<T>& c, tensor3<T const> v, tensor3<T> y) {
    extents3 const e = v.extents();
    perm_ = keep_indices(c, e, width_of_rows(e.length));
    auto const scratch = workspace(c, op_.workspace_bytes(c.exec(), v));
    c.compute([&] {
      op_.forward(c.exec(), v, ss::uniform_weights, y,
                  saved_if_training<ss::saved_permutation>(c, perm_), scratch, c.lengths);
    });
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dv) {
    auto const scratch = workspace(c, op_.workspace_bytes(c.exec(), dy));
    c.compute(
        [&] { op_.backward(c.exec(), dy, ss::uniform_weights, perm_, dv, scratch, c.lengths); });
  }

 private:
  ss::multi_permutation<> op_;
  ss::index_tensor3 perm_;
};

/// One permutation for all channels (Sliceformer's paper) or one per channel (its code), the same
/// at every step and in every layer.
template <class Sharing, class T>
class shuffle_core {
 public:
  using element = T;
  struct config {
    std::uint64_t seed = 0;
  };
  shuffle_core(parameter_scope<T> const&, config const& options) : op_(options.seed) {}

  void forward(context<T>& c, tensor3<T const> v, tensor3<T> y) {
    auto const scratch = workspace(c, op_.workspace_bytes(c.exec(), v));
    c.compute([&] { op_.forward(c.exec(), v, y, scratch, c.lengths); });
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dv) {
    auto const scratch = workspace(c, op_.workspace_bytes(c.exec(), dy));
    c.compute([&] { op_.backward(c.exec(), dy, dv, scratch, c.lengths); });
  }

 private:
  ss::shuffle<Sharing> op_;
};

/// Sliceformer, eq. 4.
template <class Order = ss::ascending, class T = float>
using sorting = projected<sorting_core<Order, T>>;
template <class T = float>
using multi_permutation = projected<multi_permutation_core<T>>;
template <class T = float>
using max_exchange = projected<max_exchange_core<T>>;
template <class Sharing = ss::per_channel, class T = float>
using shuffle = projected<shuffle_core<Sharing, T>>;

}  // namespace learning::mixers
