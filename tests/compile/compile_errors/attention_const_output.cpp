// SPDX-License-Identifier: Apache-2.0
// A const output view of softmax_attention.
// expect: slicesort: an output view must not be const.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using output = slicesort::tensor4<float>;
#else
using output = slicesort::tensor4<float const>;
#endif

void attend(slicesort::tensor4<float const> q, output y, slicesort::workspace scratch) {
  slicesort::softmax_attention<>{}.forward(slicesort::exec::host{}, {q, q, q}, y,
                                           slicesort::no_saved, scratch);
}
