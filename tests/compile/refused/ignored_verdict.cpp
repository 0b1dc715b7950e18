// SPDX-License-Identifier: Apache-2.0
// expect: ignoring returned value of type 'slicesort::v0::verdict'
// flag: g++ -Werror=unused-result
#include <slicesort/slicing_sort.hpp>

namespace ss = slicesort;

bool check(ss::tensor3<float const> x, ss::tensor3<float> y) {
#ifndef CORRECTED
  ss::slicing_sort<>().check_forward(ss::exec::host{}, x, y, ss::no_saved);
#endif
  return static_cast<bool>(
      ss::slicing_sort<>().check_forward(ss::exec::host{}, x, y, ss::no_saved));
}
