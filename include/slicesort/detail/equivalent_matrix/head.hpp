// SPDX-License-Identifier: Apache-2.0
// Copies one attention head to double on the host, for `equivalent_matrix`.
#pragma once

#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/detail/equivalent_matrix/sample.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <vector>

SLICESORT_DETAIL_BEGIN

// Copies of the queries and keys of one head of a sample.
template <class T>
class matrix_head {
 public:
  matrix_head(tensor4<T const> q_tensor, tensor4<T const> k_tensor, index_t batch, index_t head,
              attention_options const& options)
      : batch_(batch),
        head_(head),
        heads_(q_tensor.extents().heads),
        queries_(count_valid_rows("q", q_tensor, options.query_lengths)),
        keys_(count_valid_rows("k", k_tensor, options.lengths)),
        q(copy_head(q_tensor, q_)),
        k(copy_head(k_tensor, k_)) {
    if (options.lengths.data()) lengths.lengths = {&keys_, 1};
    if (options.query_lengths.data()) lengths.query_lengths = {&queries_, 1};
  }
  matrix_head(matrix_head const&) = delete;
  matrix_head& operator=(matrix_head const&) = delete;

  // Copies this head of a tensor with the heads of q or of k to `copy`.
  tensor4<double const> copy_head(tensor4<T const> view, std::vector<double>& copy) const {
    extents4 const e{1, 1, view.extents().length, view.extents().channels};
    for (index_t n = 0; n < e.length; ++n)
      for (index_t c = 0; c < e.channels; ++c)
        copy.push_back(as_double(view(batch_, head_in(view.extents().heads), n, c)));
    return {copy.data(), e};
  }
  // Index of this head in a tensor of `heads` heads, which the heads of q share in groups.
  index_t head_in(index_t heads) const {
    return heads < 1 || heads_ % heads != 0 ? head_ : head_ / (heads_ / heads);
  }

 private:
  index_t count_valid_rows(char const* name, tensor4<T const> view,
                           tensor1<index_t const> row_lengths) const {
    extents4 const e = view.extents();
    return check_matrix_arguments(describe(name, view, false), batch_, e.batch,
                                  {head_in(e.heads), "head"}, e.heads, row_lengths);
  }

  index_t batch_, head_, heads_;
  index_t queries_, keys_;  // valid rows
  std::vector<double> q_, k_;

 public:
  tensor4<double const> const q, k;
  attention_options lengths{};  // empty unless passed, because not every mask takes lengths
};

SLICESORT_DETAIL_END
