// SPDX-License-Identifier: Apache-2.0
// of: slicing_sort max_exchange csp multi_permutation backward signed without_braces
// expect: slicesort: the saved state must be a view of std::uint16_t, std::int32_t or std::uint32_t
// (of csp also std::uint8_t), not const where it is written.
#include <slicesort/slicesort.hpp>

#include <cstdint>

namespace ss = slicesort;

#if defined(CORRECTED)
using row = std::uint32_t;
#elif defined(OF_signed)
using row = std::int16_t;
#else
using row = std::int64_t;
#endif

extern ss::tensor3<float const> x;
extern ss::tensor3<float> y;
extern ss::tensor3<row> perm;
extern ss::slicing_sort<> sort;

void call() {
  ss::exec::host const exec;
#if defined(OF_slicing_sort) || defined(OF_signed)
  sort.forward(exec, x, y, {perm});
#elif defined(OF_max_exchange)
  ss::max_exchange{}.forward(exec, x, y, {perm});
#elif defined(OF_csp)
  ss::csp<>{ss::group_size{2}}.forward(exec, x, y, {perm});
#elif defined(OF_multi_permutation)
  ss::multi_permutation<>{3}.forward(exec, x, ss::uniform_weights, y, {perm});
#elif defined(OF_backward)
  sort.backward(exec, x, {perm}, y);
#elif defined(OF_without_braces)
  sort.forward(exec, x, y, perm);
#endif
}
