// SPDX-License-Identifier: Apache-2.0
// Calls of merge_attention::backward, which does not exist.
// cases: backward dry_run without_policy
// expect: slicesort: merge_attention has no backward: call that of softmax_attention for every
// part, with the merged y and the merged state, and let gradients accumulate.
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

extern ss::tensor4<float const> x;
extern ss::tensor4<float> dx;

void call(ss::exec::host exec, ss::merge_attention const& merge) {
#if defined(VALID)
  ss::softmax_attention<>{}.backward(exec, x, {x, x, x}, x, {x}, {dx, dx, dx});
  (void)merge;
#elif defined(CASE_backward)
  merge.backward(exec, x, {x, x, x}, x, {x}, {dx, dx, dx});
#elif defined(CASE_dry_run)
  (void)merge.backward(ss::exec::dry_run{exec}, x, x, dx);
#else
  merge.backward(x, x, dx);
#endif
}
