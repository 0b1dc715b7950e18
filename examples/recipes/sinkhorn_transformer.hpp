// SPDX-License-Identifier: Apache-2.0
// Sinkhorn Transformer attention (Tay et al., Sparse Sinkhorn Attention, 2020, section 3): each row
// attends to its block of rows, and to a sorted block, which is a mixture of all blocks. Sinkhorn's
// algorithm makes the mixtures doubly stochastic. Their logits are learned, e.g. by `sort_net`.
// The last block counts as filled up with zeros.
#pragma once

#include "attend.hpp"
#include "sort_net.hpp"
#include "support.hpp"

#include <slicesort/matmul.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/sinkhorn.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T>
struct sinkhorn_transformer_params {
  tensor4<T const> q, k, v;
  tensor4<T const> logits;  // [batch, heads, blocks, blocks]
};
template <class T>
struct sinkhorn_transformer_grads {
  tensor4<T> dq, dk, dv, dlogits;
};

// One softmax over the keys of both blocks, or the sum of two.
enum class joined_by { softmax, sum };

// The number of blocks with valid rows.
struct write_block_count {
  ss::row_lengths lengths;
  index_t block;
  tensor4<index_t> counts;  // [1, 1, 1, batch]

  RECIPES_HD void operator()(index_t b) const {
    counts(0, 0, 0, b) = (lengths.lengths(b) + block - 1) / block;
  }
};

template <class T, class Exec>
class sinkhorn_transformer {
 public:
  explicit sinkhorn_transformer(Exec const& exec, index_t block,
                                joined_by join = joined_by::softmax,
                                ss::sinkhorn normalization = ss::sinkhorn{0.75, 8})
      : exec_(exec),
        memory_(exec),
        block_(block),
        join_(join),
        normalization_(normalization),
        attention_(ss::mask::block_local{block}) {}

  void forward(sinkhorn_transformer_params<T> const& params, tensor4<T> y,
               ss::row_lengths lengths = {}) {
    memory_.clear();
    lengths_ = lengths, block_counts_ = {};
    if (lengths.lengths.data() != nullptr) {
      index_t const batch = y.extents().batch;
      auto const counts = memory_.template tensor<index_t>({1, 1, 1, batch});
      for_each_index(exec_, batch, write_block_count{lengths, block_, counts});
      block_counts_ = ss::tensor1<index_t const>(counts.data(), batch);
    }
    k_ = blocks_of_rows(exec_, memory_, params.k, block_, lengths);
    v_ = blocks_of_rows(exec_, memory_, params.v, block_, lengths);
    map_ = tensor(params.logits.extents());
    for (index_t h = 0; h < map_.extents().heads; ++h)
      normalization_.forward(exec_, head(params.logits, h), head(map_, h), memory_.workspace(),
                             block_lengths());
    auto const sorted_k = tensor(k_.extents()), sorted_v = tensor(v_.extents());
    multiply(map_, k_, sorted_k);
    multiply(map_, v_, sorted_v);

    local_ = attend<T>(exec_, memory_, attention_, {params.q, params.k, params.v},
                       {lengths.lengths, lengths.lengths});
    sorted_ = attend<T>(exec_, memory_, attention_,
                        {params.q, whole_blocks(sorted_k), whole_blocks(sorted_v)},
                        {ss::tensor1<index_t const>{}, lengths.lengths});
    if (join_ == joined_by::sum) {
      copy(exec_, local_.y, y);
      add(exec_, sorted_.y, y);
    } else {  // backward of both parts takes the merged y and state
      ss::merge_attention{}.forward(exec_, {{local_.y, local_.state}, {sorted_.y, sorted_.state}},
                                    y, local_.state);
      sorted_.state = local_.state;
    }
  }

  void backward(tensor4<T const> dy, sinkhorn_transformer_params<T> const& params,
                tensor4<T const> y, sinkhorn_transformer_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    bool const is_sum = join_ == joined_by::sum;
    auto const dsorted_k = tensor(k_.extents()), dsorted_v = tensor(v_.extents()),
               dblocks_k = tensor(k_.extents()), dblocks_v = tensor(v_.extents()),
               dmap = tensor(map_.extents());
    attention_.backward(exec_, dy, sorted_.inputs, is_sum ? sorted_.y : y, sorted_.state,
                        {grads.dq, whole_blocks(dsorted_k), whole_blocks(dsorted_v)},
                        memory_.workspace(), sorted_.lengths);
    multiply(ss::transposed(map_), dsorted_k, dblocks_k);
    multiply(ss::transposed(map_), dsorted_v, dblocks_v);
    copy(exec_, rows_of_blocks(dblocks_k, params.k.extents()), grads.dk, 1, lengths_);
    copy(exec_, rows_of_blocks(dblocks_v, params.v.extents()), grads.dv, 1, lengths_);
    attention_.backward(exec_, dy, local_.inputs, is_sum ? local_.y : y, local_.state,
                        {grads.dq, grads.dk, grads.dv}, memory_.workspace(),
                        {local_.lengths, ss::grad_mode::accumulate});

    multiply(dsorted_k, ss::transposed(k_), dmap);
    multiply(dsorted_v, ss::transposed(v_), dmap, ss::grad_mode::accumulate);
    for (index_t h = 0; h < map_.extents().heads; ++h)
      normalization_.backward(exec_, head(dmap, h), head(params.logits, h), head(grads.dlogits, h),
                              memory_.workspace(), block_lengths());
  }

 private:
  // The rows of blocks, with those past the length: [batch, heads, blocks * block, channels].
  tensor4<T> whole_blocks(tensor4<T> blocks) const {
    extents4 const e = blocks.extents();
    return {blocks.data(), {e.batch, e.heads, e.length * block_, e.channels / block_}};
  }
  ss::row_and_column_lengths block_lengths() const { return {block_counts_, block_counts_}; }
  tensor4<T> tensor(extents4 e) { return memory_.template tensor<T>(e); }
  void multiply(tensor4<T const> a, tensor4<T const> b, tensor4<T> c,
                ss::grad_mode mode = ss::grad_mode::overwrite) {
    ss::matmul<>{}.forward(exec_, a, b, c, memory_.workspace(), mode);
  }

  Exec exec_;
  memory<Exec> memory_;
  index_t block_;
  joined_by join_;
  ss::sinkhorn normalization_;
  ss::softmax_attention<ss::mask::block_local> attention_;
  ss::row_lengths lengths_, block_counts_;
  tensor4<T> k_, v_;  // in blocks, with zeros past the lengths
  tensor4<T> map_;    // doubly stochastic, [batch, heads, blocks, blocks]
  attention_step<T, ss::mask::block_local> local_, sorted_;  // for each of the two blocks
};

}  // namespace recipes
