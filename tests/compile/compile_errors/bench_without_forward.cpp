// SPDX-License-Identifier: Apache-2.0
// A benchmarked operator without a forward for the registered element type.
// expect: slicesort::bench: the operator needs forward(exec, x, y) or forward(exec, q, k, v, y)
#include "../../../bench/include/slicesort/bench.hpp"

#ifdef VALID
using element = float;
#else
using element = double;
#endif

struct identity {
  static constexpr bool has_backward = false, has_oracle = false;

  void forward(slicesort::exec::host, slicesort::tensor3<element const>,
               slicesort::tensor3<element>) const {}
};
slicesort::bench::entry<float> const registration("identity", identity{});
