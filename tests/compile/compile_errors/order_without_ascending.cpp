// SPDX-License-Identifier: Apache-2.0
// A user-defined order policy without ascending.
// expect: slicesort: an order policy needs `bool ascending(index_t channel, index_t channels)
// const`.
#include <slicesort/slicesort.hpp>

struct zigzag {
#ifdef VALID
  bool ascending(slicesort::index_t channel, slicesort::index_t) const { return channel % 2 == 0; }
#endif
};

void sort(slicesort::tensor3<float const> x, slicesort::tensor3<float> y,
          slicesort::workspace scratch) {
  slicesort::slicing_sort<zigzag>{}.forward(slicesort::exec::host{}, x, y, slicesort::no_saved,
                                            scratch);
}
