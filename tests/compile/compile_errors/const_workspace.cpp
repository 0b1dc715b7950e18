// SPDX-License-Identifier: Apache-2.0
// A workspace in const memory.
// expect: slicesort: a workspace is written to: its container must not be const.
#include <slicesort/slicing_sort.hpp>

#include <vector>

namespace ss = slicesort;

void sort(ss::tensor3<float> x) {
  ss::exec::host const exec;
  ss::slicing_sort<> const op;
#ifdef VALID
  std::vector<unsigned char> scratch(op.workspace_bytes<float>(exec, x.extents()));
#else
  std::vector<unsigned char> const scratch(op.workspace_bytes<float>(exec, x.extents()));
#endif
  op.forward(exec, x, x, ss::no_saved, scratch);
}
