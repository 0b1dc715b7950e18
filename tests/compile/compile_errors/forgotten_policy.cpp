// SPDX-License-Identifier: Apache-2.0
// cases: slicing_sort max_exchange csp multi_permutation shuffle sinkhorn_csp sparse_mix
// cases: softmax_attention backward backward_without_state backward_of_weights
// cases: linear_attention merge_attention permute short_convolution braces_first workspace_bytes
// cases: workspace_bytes_of_two
// expect: slicesort: the first argument must be an execution policy: exec::host, exec::host_on or
// exec::cuda.
#include <slicesort/slicesort.hpp>

#include <cstdint>

#ifdef VALID
#  define ON slicesort::exec::host{},
#else
#  define ON
#endif

namespace ss = slicesort;

extern ss::tensor3<float const> x;
extern ss::tensor3<float> y;
extern ss::tensor3<std::uint16_t> perm;
extern ss::tensor4<float const> w;
extern ss::tensor4<float> means;
extern ss::tensor_stack<float const> factors;
extern ss::tensor1<float const> weights;
extern ss::workspace scratch;
extern ss::slicing_sort<> sort;
extern ss::softmax_attention<> attention;

void call() {
#if defined(CASE_slicing_sort)
  sort.forward(ON x, y, {perm}, scratch);
#elif defined(CASE_max_exchange)
  ss::max_exchange{}.forward(ON x, y, perm);
#elif defined(CASE_csp)
  ss::csp<>{ss::group_size{2}}.forward(ON x, y, ss::no_saved, scratch);
#elif defined(CASE_multi_permutation)
  ss::multi_permutation<>{3}.forward(ON x, weights, y, {perm}, scratch);
#elif defined(CASE_shuffle)
  ss::shuffle<>{7}.forward(ON x, y, scratch);
#elif defined(CASE_sinkhorn_csp)
  ss::sinkhorn_csp<>{ss::group_size{2}, {}}.forward(ON x, y, scratch);
#elif defined(CASE_sparse_mix)
  ss::sparse_mix<>{}.forward(ON x, factors, y, ss::no_saved, scratch);
#elif defined(CASE_softmax_attention)
  attention.forward(ON{w, w, w}, means, {means}, scratch);
#elif defined(CASE_linear_attention)
  ss::linear_attention<>{}.forward(ON{w, w, w}, means, scratch);
#elif defined(CASE_merge_attention)
  ss::merge_attention{}.forward(ON{{w, w}, {w, w}}, means, {means});
#elif defined(CASE_backward)
  sort.backward(ON x, {perm}, y, scratch);
#elif defined(CASE_backward_without_state)
  ss::sparse_mix<>{}.backward(ON x, factors, y, scratch);
#elif defined(CASE_backward_of_weights)
  ss::multi_permutation<>{3}.backward(ON x, weights, perm, y, scratch);
#elif defined(CASE_permute)
  ss::permute{}.forward(ON x, perm, y, scratch);
#elif defined(CASE_short_convolution)
  ss::short_convolution::causal(4).forward(ON x, x, y, scratch);
#elif defined(CASE_braces_first)
  attention.forward(ON{w, w, w, {}}, means, ss::no_saved);
#elif defined(CASE_workspace_bytes)
  (void)sort.workspace_bytes<float>(ON x.extents());
#elif defined(CASE_workspace_bytes_of_two)
  (void)attention.workspace_bytes<float>(ON w.extents(), w.extents());
#endif
}
