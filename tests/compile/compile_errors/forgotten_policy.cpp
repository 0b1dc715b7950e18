// SPDX-License-Identifier: Apache-2.0
// Calls without an execution policy, one per case.
// cases: slicing_sort max_exchange csp multi_permutation shuffle sinkhorn sinkhorn_csp sparse_mix
// cases: softmax_attention backward backward_without_state backward_of_weights
// cases: pointwise_attention linear_attention merge_attention permute short_convolution
// cases: decaying_sum matmul top_k argsort soft_sort
// cases: braces_first workspace_bytes workspace_bytes_of_attention
// expect: slicesort: the first argument must be an execution policy: exec::host, exec::host_on or
// exec::cuda.
#include <slicesort/slicesort.hpp>

#include <cstdint>

#ifdef VALID
#  define POLICY slicesort::exec::host{},
#else
#  define POLICY
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
  sort.forward(POLICY x, y, {perm}, scratch);
#elif defined(CASE_top_k)
  ss::top_k<>{1}.forward(POLICY x, y, perm);
#elif defined(CASE_argsort)
  ss::argsort<>{}.forward(POLICY x, perm, scratch);
#elif defined(CASE_soft_sort)
  ss::soft_sort<>{1.0}.forward(POLICY x, y, ss::no_saved, scratch);
#elif defined(CASE_max_exchange)
  ss::max_exchange{}.forward(POLICY x, y, perm);
#elif defined(CASE_csp)
  ss::csp<>{ss::group_size{2}}.forward(POLICY x, y, ss::no_saved, scratch);
#elif defined(CASE_multi_permutation)
  ss::multi_permutation<>{3}.forward(POLICY x, weights, y, {perm}, scratch);
#elif defined(CASE_shuffle)
  ss::shuffle<>{7}.forward(POLICY x, y, scratch);
#elif defined(CASE_sinkhorn)
  ss::sinkhorn{1}.forward(POLICY x, y, scratch);
#elif defined(CASE_sinkhorn_csp)
  ss::sinkhorn_csp<>{ss::group_size{2}, {1, 2}}.forward(POLICY x, y, scratch);
#elif defined(CASE_sparse_mix)
  ss::sparse_mix<>{}.forward(POLICY x, factors, y, ss::no_saved, scratch);
#elif defined(CASE_softmax_attention)
  attention.forward(POLICY{w, w, w}, means, {means}, scratch);
#elif defined(CASE_linear_attention)
  ss::linear_attention<>{}.forward(POLICY{w, w, w}, means, scratch);
#elif defined(CASE_pointwise_attention)
  ss::pointwise_attention<>{}.forward(POLICY{w, w, w}, means, scratch);
#elif defined(CASE_merge_attention)
  ss::merge_attention{}.forward(POLICY{{w, w}, {w, w}}, means, {means});
#elif defined(CASE_backward)
  sort.backward(POLICY x, {perm}, y, scratch);
#elif defined(CASE_backward_without_state)
  ss::sparse_mix<>{}.backward(POLICY x, factors, y, scratch);
#elif defined(CASE_backward_of_weights)
  ss::multi_permutation<>{3}.backward(POLICY x, weights, perm, y, scratch);
#elif defined(CASE_permute)
  ss::permute{}.forward(POLICY x, perm, y, scratch);
#elif defined(CASE_short_convolution)
  ss::short_convolution::causal(4).forward(POLICY x, x, y, scratch);
#elif defined(CASE_decaying_sum)
  ss::decaying_sum{}.forward(POLICY x, {w, w}, y, {}, scratch);
#elif defined(CASE_matmul)
  ss::matmul<>{}.forward(POLICY w, w, means, scratch);
#elif defined(CASE_braces_first)
  attention.forward(POLICY{w, w, w, {}}, means, ss::no_saved);
#elif defined(CASE_workspace_bytes)
  (void)sort.workspace_bytes<float>(POLICY x.extents());
#elif defined(CASE_workspace_bytes_of_attention)
  (void)attention.workspace_bytes<float>(POLICY w.extents(), w.extents());
#endif
}
