// SPDX-License-Identifier: Apache-2.0
// Invalid constructor arguments of softmax_attention, one per case.
// cases: feature_as_mask two_scales products_with_materialized
// expect: slicesort: softmax_attention takes a mask, a scale, and an algorithm or products.
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

#if defined(VALID)
ss::softmax_attention<ss::mask::causal> const op{0.5, ss::mask::causal{}};
#elif defined(CASE_feature_as_mask)
ss::softmax_attention<> const op{ss::feature::relu{}};
#elif defined(CASE_two_scales)
ss::softmax_attention<> const op{0.5, 0.25};
#else
ss::softmax_attention<ss::mask::full, ss::materialized<> > const op{ss::products::native};
#endif

// Instantiates the constructor's checks.
double scale() { return op.scale(64); }
