// SPDX-License-Identifier: Apache-2.0
// Inputs or a merged state of merge_attention with a different element type, one per case.
// cases: y state merged_state
// expect: slicesort: these arguments do not fit forward(exec, {{y, state}, {y, state}, ..}, y,
// state or slicesort::no_saved, workspace): an argument is missing, out of place or of another
// type (lengths are of index_t, that is, std::int64_t).
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

#if defined(VALID)
using invalid_element = float;
#else
using invalid_element = double;
#endif

extern ss::tensor4<float> y, state;
extern ss::tensor4<invalid_element> invalid;

void call(ss::exec::host exec, ss::merge_attention const& merge) {
#if defined(CASE_y)
  merge.forward(exec, {{y, state}, {invalid, state}}, y, {state});
#elif defined(CASE_state)
  merge.forward(exec, {{y, state}, {y, invalid}}, y, {state});
#else
  merge.forward(exec, {{y, state}, {y, state}}, y, {invalid});
#endif
}
