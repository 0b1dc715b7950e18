// SPDX-License-Identifier: Apache-2.0
// cases: container number
// expect: slicesort: lengths are read by the call: give them a name before it.
#include <slicesort/slicesort.hpp>

#include <vector>

namespace ss = slicesort;

void call(ss::tensor3<float const> x, ss::tensor3<float> y, ss::workspace memory) {
  std::vector<ss::index_t> const rows{3};
  ss::index_t const row = 3;
#if defined(VALID)
  ss::shuffle<>{}.forward(ss::exec::host{}, x, y, memory, ss::lengths(rows));
  ss::shuffle<>{}.forward(ss::exec::host{}, x, y, memory, ss::lengths(row));
#elif defined(CASE_container)
  ss::shuffle<>{}.forward(ss::exec::host{}, x, y, memory, ss::lengths(std::vector(rows)));
#else
  ss::shuffle<>{}.forward(ss::exec::host{}, x, y, memory, ss::lengths(row + 0));
#endif
}
