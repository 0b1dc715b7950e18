// SPDX-License-Identifier: Apache-2.0
// A user-defined mask without range and allows.
// expect: slicesort: a mask needs `key_range range(index_t query, index_t keys) const` or `bool allows(index_t query, index_t key) const`.
#include <slicesort/slicesort.hpp>

struct even {
#ifdef VALID
  bool allows(slicesort::index_t query, slicesort::index_t key) const {
    return (query + key) % 2 == 0;
  }
#endif
};

void attend(slicesort::tensor4<float const> q, slicesort::tensor4<float> y,
            slicesort::workspace scratch) {
  slicesort::softmax_attention<even>{}.forward(slicesort::exec::host{}, {q, q, q}, y,
                                               slicesort::no_saved, scratch);
}
