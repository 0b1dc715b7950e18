// SPDX-License-Identifier: Apache-2.0
// An algorithm of softmax_attention that is neither streaming nor materialized.
// expect: slicesort: the algorithm must be streaming or materialized<Gemm>.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using algorithm = slicesort::materialized<>;
#else
struct algorithm {};
#endif

void attend(slicesort::tensor4<float const> q, slicesort::tensor4<float> y,
            slicesort::workspace scratch) {
  slicesort::softmax_attention<slicesort::mask::full, algorithm>{}.forward(
      slicesort::exec::host{}, {q, q, q}, y, slicesort::no_saved, scratch);
}
