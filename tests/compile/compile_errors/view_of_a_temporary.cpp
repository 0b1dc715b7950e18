// SPDX-License-Identifier: Apache-2.0
// A container whose lifetime ends before its view is used.
// expect: slicesort: a view does not keep its container alive: give the container a name before you view it.
#include <slicesort/slicing_sort.hpp>

#include <vector>

namespace ss = slicesort;

std::vector<float> load_input() { return {3, 1, 2, 0}; }

void sort(ss::tensor3<float> y, ss::workspace scratch) {
#ifdef VALID
  std::vector<float> const x = load_input();
  ss::slicing_sort<>{}.forward(ss::exec::host{}, ss::view(x, {1, 4, 1}), y, ss::no_saved, scratch);
#else
  ss::slicing_sort<>{}.forward(ss::exec::host{}, ss::view(load_input(), {1, 4, 1}), y, ss::no_saved,
                               scratch);
#endif
}
