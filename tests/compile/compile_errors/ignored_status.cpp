// SPDX-License-Identifier: Apache-2.0
// A dry run whose status is discarded.
// expect: {aka 'slicesort::v0::status'}, declared with attribute 'nodiscard'
// flag: g++ -Werror=unused-result
#include <slicesort/slicing_sort.hpp>

namespace ss = slicesort;

bool check(ss::tensor3<float const> x, ss::tensor3<float> y) {
#ifndef VALID
  ss::slicing_sort<>().forward(ss::exec::dry_run{ss::exec::host{}}, x, y, ss::no_saved);
#endif
  return static_cast<bool>(
      ss::slicing_sort<>().forward(ss::exec::dry_run{ss::exec::host{}}, x, y, ss::no_saved));
}
