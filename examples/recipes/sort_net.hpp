// SPDX-License-Identifier: Apache-2.0
// Blocks of rows, and the sorting network of the Sinkhorn Transformer (Tay et al., Sparse Sinkhorn
// Attention, 2020, section 3.1): logits = (sums of the keys of each block) w.
#pragma once

#include "support.hpp"

#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

// The rows of [batch, heads, blocks, block * channels] that are rows of a tensor with extents e.
template <class T>
tensor4<T> rows_of_blocks(tensor4<T> blocks, extents4 e) {
  return {blocks.data(), e, {blocks.strides().batch, blocks.strides().heads, e.channels, 1}};
}
// Returns blocks of the rows of x, [batch, heads, blocks, block * channels], with zeros past the
// lengths and in the rest of the last block.
template <class Exec, class T>
tensor4<T> blocks_of_rows(Exec const& exec, memory<Exec>& owner, tensor4<T const> x, index_t block,
                          ss::row_lengths lengths) {
  extents4 const e = x.extents();
  index_t const blocks = (e.length + block - 1) / block;
  auto const result = owner.template tensor<T>({e.batch, e.heads, blocks, block * e.channels});
  fill(exec, result, 0);
  copy(exec, x, rows_of_blocks(result, e), 1, lengths);
  return result;
}

template <class T>
struct sort_net_params {
  tensor4<T const> k;
  tensor4<T const> w;  // [1, heads or 1, channels, columns]; the first `blocks` columns are read
};
template <class T>
struct sort_net_grads {
  tensor4<T> dk, dw;  // dw: zeros in columns that were not read
};

template <class T, class Exec>
class sort_net {
 public:
  sort_net(Exec const& exec, index_t block) : exec_(exec), memory_(exec), block_(block) {}

  // Writes logits [batch, heads, blocks, blocks].
  void forward(sort_net_params<T> const& params, tensor4<T> logits, ss::row_lengths lengths = {}) {
    extents4 const e = params.k.extents();
    memory_.clear();
    lengths_ = lengths;
    auto const blocks = blocks_of_rows(exec_, memory_, params.k, block_, lengths);
    sums_ = memory_.template tensor<T>({e.batch, e.heads, blocks.extents().length, e.channels});
    ones_ = memory_.template tensor<T>({1, 1, 1, block_});
    fill(exec_, ones_, 1);
    multiply(ones_, rows_of_each(blocks, block_), rows_of_each(sums_, 1));
    multiply(sums_, columns(params.w, logits.extents().channels), logits);
  }

  void backward(tensor4<T const> dlogits, sort_net_params<T> const& params,
                sort_net_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    extents4 const e = sums_.extents();
    index_t const blocks = e.length;
    auto const dsums = memory_.template tensor<T>(e),
               dblocks =
                   memory_.template tensor<T>({e.batch, e.heads, blocks, block_ * e.channels});
    multiply(dlogits, ss::transposed(columns(params.w, blocks)), dsums);
    multiply(ss::transposed(ones_), rows_of_each(dsums, 1), rows_of_each(dblocks, block_));
    copy(exec_, rows_of_blocks(dblocks, params.k.extents()), grads.dk, 1, lengths_);
    fill(exec_, grads.dw, 0);
    multiply(ss::transposed(sums_), dlogits, columns(grads.dw, blocks));
  }

 private:
  // A matrix of `rows` rows for each block: [batch * heads, blocks, rows, channels].
  static tensor4<T> rows_of_each(tensor4<T> blocks, index_t rows) {
    extents4 const e = blocks.extents();
    return {blocks.data(), {e.batch * e.heads, e.length, rows, e.channels / rows}};
  }
  void multiply(tensor4<T const> a, tensor4<T const> b, tensor4<T> c) {
    ss::matmul<>{}.forward(exec_, a, b, c, memory_.workspace());
  }

  Exec exec_;
  memory<Exec> memory_;
  index_t block_;
  ss::row_lengths lengths_;
  tensor4<T> sums_, ones_;
};

}  // namespace recipes
