// SPDX-License-Identifier: Apache-2.0
// A user-defined topology without offset.
// expect: slicesort: a topology needs `index_t offset(index_t link, index_t factor) const`.
#include <slicesort/slicesort.hpp>

struct ring {
#ifdef VALID
  slicesort::index_t offset(slicesort::index_t link, slicesort::index_t) const { return link; }
#endif
};

void mix(slicesort::tensor3<float const> x, slicesort::tensor_stack<float const> w,
         slicesort::tensor3<float> y, slicesort::workspace scratch) {
  slicesort::sparse_mix<ring>{}.forward(slicesort::exec::host{}, x, w, y, slicesort::no_saved,
                                        scratch);
}
