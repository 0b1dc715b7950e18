// SPDX-License-Identifier: Apache-2.0
// cases: backward dry_run without_policy
// expect: slicesort: merge_attention has no backward: call that of softmax_attention for every
// part, with the merged y and the merged state, and let gradients accumulate.
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

extern ss::tensor4<float const> w;
extern ss::tensor4<float> dw;

void call(ss::exec::host exec, ss::merge_attention const& merge) {
#if defined(VALID)
  ss::softmax_attention<>{}.backward(exec, w, {w, w, w}, w, {w}, {dw, dw, dw});
  (void)merge;
#elif defined(CASE_backward)
  merge.backward(exec, w, {w, w, w}, w, {w}, {dw, dw, dw});
#elif defined(CASE_dry_run)
  (void)merge.backward(ss::exec::dry_run{exec}, w, w, dw);
#else
  merge.backward(w, w, dw);
#endif
}
