// SPDX-License-Identifier: Apache-2.0
// cases: another_kind twice products_of_a_map
// expect: slicesort: softmax_attention takes a mask, a scale, and an algorithm or products.
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

#if defined(VALID)
ss::softmax_attention<ss::mask::causal> const op{0.5, ss::mask::causal{}};
#elif defined(CASE_another_kind)
ss::softmax_attention<> const op{ss::feature::relu{}};
#elif defined(CASE_twice)
ss::softmax_attention<> const op{0.5, 0.25};
#else
ss::softmax_attention<ss::mask::full, ss::materialized<> > const op{ss::products::native};
#endif

double scale() { return op.scale(64); }
