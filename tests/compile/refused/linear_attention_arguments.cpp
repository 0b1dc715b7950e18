// SPDX-License-Identifier: Apache-2.0
// of: forward dry_run backward backward_with_y rank_of_w type_of_w
// expect: slicesort: these arguments do not fit
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

extern ss::tensor4<float const> x;
extern ss::tensor4<float> y;
extern ss::workspace scratch;

#if defined(CORRECTED)
extern ss::tensor3<float const> w;
#elif defined(OF_rank_of_w)
extern ss::tensor4<float const> w;
#elif defined(OF_type_of_w)
extern ss::tensor3<double const> w;
#else
extern ss::tensor3<float const> w;
#endif

void call(ss::exec::host exec) {
  ss::linear_attention<ss::feature::random_exp> const op;
#if defined(CORRECTED) || defined(OF_rank_of_w) || defined(OF_type_of_w)
  op.forward(exec, {x, x, x, w}, y, scratch);
  op.backward(exec, x, {x, x, x, w}, {y, y, y}, scratch);
#elif defined(OF_forward)
  op.forward(exec, y, {x, x, x, w}, scratch);
#elif defined(OF_dry_run)
  (void)op.forward(ss::exec::dry_run{exec}, y, {x, x, x, w});
#elif defined(OF_backward)
  op.backward(exec, {x, x, x, w}, x, {y, y, y}, scratch);
#else
  op.backward(exec, x, {x, x, x, w}, y, {y, y, y}, scratch);
#endif
}
