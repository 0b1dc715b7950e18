// SPDX-License-Identifier: Apache-2.0
// Calls of linear_attention with arguments in the wrong order, number, rank or type, one per case.
// cases: forward dry_run backward backward_with_y rank_of_w type_of_w
// expect: slicesort: these arguments do not fit
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

extern ss::tensor4<float const> x;
extern ss::tensor4<float> y;
extern ss::workspace scratch;

#if defined(VALID)
extern ss::tensor3<float const> w;
#elif defined(CASE_rank_of_w)
extern ss::tensor4<float const> w;
#elif defined(CASE_type_of_w)
extern ss::tensor3<double const> w;
#else
extern ss::tensor3<float const> w;
#endif

void call(ss::exec::host exec) {
  ss::linear_attention<ss::feature::random_exp> const op;
#if defined(VALID) || defined(CASE_rank_of_w) || defined(CASE_type_of_w)
  op.forward(exec, {x, x, x, w}, y, scratch);
  op.backward(exec, x, {x, x, x, w}, {y, y, y}, scratch);
#elif defined(CASE_forward)
  op.forward(exec, y, {x, x, x, w}, scratch);
#elif defined(CASE_dry_run)
  (void)op.forward(ss::exec::dry_run{exec}, y, {x, x, x, w});
#elif defined(CASE_backward)
  op.backward(exec, {x, x, x, w}, x, {y, y, y}, scratch);
#else
  op.backward(exec, x, {x, x, x, w}, y, {y, y, y}, scratch);
#endif
}
