// SPDX-License-Identifier: Apache-2.0
// Calls of forward without a saved state or no_saved, one per case.
// cases: slicing_sort max_exchange csp multi_permutation sparse_mix softmax_attention
// cases: with_workspace dry_run
// expect: or slicesort::no_saved, workspace, options): an argument is missing, out of place or of
// another type.
#include <slicesort/slicesort.hpp>

#ifdef VALID
#  define STATE , ss::no_saved
#else
#  define STATE
#endif

namespace ss = slicesort;

extern ss::tensor3<float const> x;
extern ss::tensor3<float> y;
extern ss::tensor4<float const> w;
extern ss::tensor4<float> means;
extern ss::tensor_stack<float const> factors;
extern ss::workspace scratch;
extern ss::exec::host exec;

void call() {
#if defined(CASE_slicing_sort)
  ss::slicing_sort<>{}.forward(exec, x, y STATE);
#elif defined(CASE_max_exchange)
  ss::max_exchange{}.forward(exec, x, y STATE);
#elif defined(CASE_csp)
  ss::csp<>{ss::group_size{2}}.forward(exec, x, y STATE);
#elif defined(CASE_multi_permutation)
  ss::multi_permutation<>{3}.forward(exec, x, ss::uniform_weights, y STATE);
#elif defined(CASE_sparse_mix)
  ss::sparse_mix<>{}.forward(exec, x, factors, y STATE);
#elif defined(CASE_softmax_attention)
  ss::softmax_attention<>{}.forward(exec, {w, w, w}, means STATE);
#elif defined(CASE_with_workspace)
  ss::slicing_sort<>{}.forward(exec, x, y STATE, scratch);
#elif defined(CASE_dry_run)
  (void)ss::slicing_sort<>{}.forward(ss::exec::dry_run{exec}, x, y STATE, scratch);
#endif
}
