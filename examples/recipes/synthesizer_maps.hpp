// SPDX-License-Identifier: Apache-2.0
// Maps for `synthesizer` (Tay et al., Synthesizer: Rethinking Self-Attention, 2020): factorized,
// map = a b^T of two parameters; dense, map = relu(x w1) w2 of the rows x. `mapped_synthesizer` is
// the layer of a map and the attention.
#pragma once

#include "support.hpp"
#include "synthesizer.hpp"

#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T>
struct factorized_map_params {
  tensor4<T const> a, b;  // [1, heads or 1, length, rank]
};
template <class T>
struct factorized_map_grads {
  tensor4<T> da, db;
};
template <class T, class Exec>
class factorized_map {
 public:
  using params_type = factorized_map_params<T>;
  using grads_type = factorized_map_grads<T>;

  explicit factorized_map(Exec const& exec) : exec_(exec), memory_(exec) {}

  static extents4 extents(factorized_map_params<T> const& params) {
    extents4 const a = params.a.extents();
    return {1, a.heads, a.length, params.b.extents().length};
  }
  void forward(factorized_map_params<T> const& params, tensor4<T> map, ss::row_lengths = {}) {
    product_.forward(exec_, params.a, ss::transposed(params.b), map, memory_.workspace());
  }
  void backward(tensor4<T const> dmap, factorized_map_params<T> const& params,
                factorized_map_grads<T> const& grads) {
    product_.forward(exec_, dmap, params.b, grads.da, memory_.workspace());
    product_.forward(exec_, ss::transposed(dmap), params.a, grads.db, memory_.workspace());
  }

 private:
  Exec exec_;
  memory<Exec> memory_;
  ss::matmul<> product_;
};

// Sets x to 0 where `hidden` is not positive.
template <class T>
struct relu_element {
  tensor4<T const> hidden;
  tensor4<T> x;

  RECIPES_HD void operator()(position const& p) const {
    if (!(static_cast<accumulator<T>>(element(hidden, p)) > 0)) element(x, p) = T(0.0f);
  }
};
template <class T>
struct dense_map_params {
  tensor4<T const> x;   // [batch, heads or 1, length, channels]
  tensor4<T const> w1;  // [1, heads or 1, channels, hidden]
  tensor4<T const> w2;  // [1, heads or 1, hidden, columns]: the first `length` columns are read
};
template <class T>
struct dense_map_grads {
  tensor4<T> dx, dw1, dw2;
};
template <class T, class Exec>
class dense_map {
 public:
  using params_type = dense_map_params<T>;
  using grads_type = dense_map_grads<T>;

  explicit dense_map(Exec const& exec) : exec_(exec), memory_(exec) {}

  static extents4 extents(dense_map_params<T> const& params) {
    extents4 const x = params.x.extents();
    return {x.batch, params.w1.extents().heads, x.length, x.length};
  }
  // map: [batch, heads, length, length]
  void forward(dense_map_params<T> const& params, tensor4<T> map, ss::row_lengths lengths = {}) {
    extents4 const e = map.extents();
    memory_.clear();
    x_ = zero_padding(exec_, memory_, params.x, lengths);
    hidden_ =
        memory_.template tensor<T>({e.batch, e.heads, e.length, params.w1.extents().channels});
    multiply(x_, params.w1, hidden_);
    relu(hidden_);
    multiply(hidden_, columns(params.w2, e.length), map);
  }
  void backward(tensor4<T const> dmap, dense_map_params<T> const& params,
                dense_map_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    using ss::transposed;
    index_t const length = dmap.extents().length;
    auto const dhidden = memory_.template tensor<T>(hidden_.extents());
    multiply(dmap, transposed(columns(params.w2, length)), dhidden);
    relu(dhidden);
    fill(exec_, grads.dw2, 0);
    multiply(transposed(hidden_), dmap, columns(grads.dw2, length));
    multiply(transposed(x_), dhidden, grads.dw1);
    multiply(dhidden, transposed(params.w1), grads.dx);
  }

 private:
  void multiply(tensor4<T const> a, tensor4<T const> b, tensor4<T> c) {
    product_.forward(exec_, a, b, c, memory_.workspace());
  }
  void relu(tensor4<T> x) { for_each_position(exec_, x.extents(), relu_element<T>{hidden_, x}); }

  Exec exec_;
  memory<Exec> memory_;
  ss::matmul<> product_;
  tensor4<T const> x_;
  tensor4<T> hidden_;
};

// `Map` is factorized_map or dense_map.
template <class T, class Exec, class Map>
class mapped_synthesizer {
 public:
  struct params_type {
    tensor4<T const> q, k;  // empty: the weights depend on the map alone
    tensor4<T const> v;
    typename Map::params_type map;
  };
  struct grads_type {
    tensor4<T> dq, dk, dv;
    typename Map::grads_type dmap;
  };

  explicit mapped_synthesizer(Exec const& exec)
      : memory_(exec), map_layer_(exec), attention_(exec) {}

  void forward(params_type const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    memory_.clear();
    map_ = memory_.template tensor<T>(Map::extents(params.map));
    map_layer_.forward(params.map, map_, lengths);
    attention_.forward({params.q, params.k, params.v, map_}, y, lengths);
  }
  void backward(tensor4<T const> dy, params_type const& params, tensor4<T const> y,
                grads_type const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    auto const dmap = memory_.template tensor<T>(map_.extents());
    attention_.backward(dy, {params.q, params.k, params.v, map_}, y,
                        {grads.dq, grads.dk, grads.dv, dmap});
    map_layer_.backward(dmap, params.map, grads.dmap);
  }

 private:
  memory<Exec> memory_;
  Map map_layer_;
  synthesizer<T, Exec> attention_;
  tensor4<T> map_;
};

}  // namespace recipes
