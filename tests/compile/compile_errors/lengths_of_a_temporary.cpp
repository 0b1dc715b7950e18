// SPDX-License-Identifier: Apache-2.0
// Lengths from a container or number that is destroyed before the call reads them.
// cases: container value
// expect: slicesort: lengths are read by the call: give them a name before it.
#include <slicesort/slicesort.hpp>

#include <vector>

namespace ss = slicesort;

void call(ss::tensor3<float const> x, ss::tensor3<float> y, ss::workspace scratch) {
  std::vector<ss::index_t> const lengths{3};
  ss::index_t const length = 3;
#if defined(VALID)
  ss::shuffle<>{}.forward(ss::exec::host{}, x, y, scratch, ss::lengths(lengths));
  ss::shuffle<>{}.forward(ss::exec::host{}, x, y, scratch, ss::lengths(length));
#elif defined(CASE_container)
  ss::shuffle<>{}.forward(ss::exec::host{}, x, y, scratch, ss::lengths(std::vector(lengths)));
#else
  ss::shuffle<>{}.forward(ss::exec::host{}, x, y, scratch, ss::lengths(length + 0));
#endif
}
