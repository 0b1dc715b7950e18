// SPDX-License-Identifier: Apache-2.0
// A container whose lifetime ends before its view is used.
// expect: slicesort: a view does not keep its container alive: give the container a name before you view it.
#include <slicesort/slicing_sort.hpp>

#include <vector>

namespace ss = slicesort;

std::vector<float> load() { return {3, 1, 2, 0}; }

void f(ss::tensor3<float> y, ss::workspace scratch) {
#ifdef VALID
  std::vector<float> const x = load();
  ss::slicing_sort<>{}.forward(ss::exec::host{}, ss::view(x, {1, 4, 1}), y, ss::no_saved, scratch);
#else
  ss::slicing_sort<>{}.forward(ss::exec::host{}, ss::view(load(), {1, 4, 1}), y, ss::no_saved,
                               scratch);
#endif
}
