// SPDX-License-Identifier: Apache-2.0
// cases: y state merged_state
// expect: slicesort: these arguments do not fit forward(exec, {{y, state}, {y, state}, ..}, y,
// state or slicesort::no_saved, workspace): an argument is missing, out of place or of another
// type (lengths are of index_t, that is, std::int64_t).
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

#if defined(VALID)
using other = float;
#else
using other = double;
#endif

extern ss::tensor4<float> y, state;
extern ss::tensor4<other> wrong;

void call(ss::exec::host exec, ss::merge_attention const& merge) {
#if defined(CASE_y)
  merge.forward(exec, {{y, state}, {wrong, state}}, y, {state});
#elif defined(CASE_state)
  merge.forward(exec, {{y, state}, {y, wrong}}, y, {state});
#else
  merge.forward(exec, {{y, state}, {y, state}}, y, {wrong});
#endif
}
