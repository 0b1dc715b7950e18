// SPDX-License-Identifier: Apache-2.0
// Saved permutations of an unsupported index type, one per case.
// cases: slicing_sort max_exchange csp multi_permutation backward signed without_braces
// expect: slicesort: the saved state must be a view of std::uint16_t, std::int32_t or std::uint32_t
// (of csp also std::uint8_t), not const where it is written.
#include <slicesort/slicesort.hpp>

#include <cstdint>

namespace ss = slicesort;

#if defined(VALID)
using index_type = std::uint32_t;
#elif defined(CASE_signed)
using index_type = std::int16_t;
#else
using index_type = std::int64_t;
#endif

extern ss::tensor3<float const> x;
extern ss::tensor3<float> y;
extern ss::tensor3<index_type> perm;
extern ss::slicing_sort<> sort;

void call() {
  ss::exec::host const exec;
#if defined(CASE_slicing_sort) || defined(CASE_signed)
  sort.forward(exec, x, y, {perm});
#elif defined(CASE_max_exchange)
  ss::max_exchange{}.forward(exec, x, y, {perm});
#elif defined(CASE_csp)
  ss::csp<>{ss::group_size{2}}.forward(exec, x, y, {perm});
#elif defined(CASE_multi_permutation)
  ss::multi_permutation<>{3}.forward(exec, x, ss::uniform_weights, y, {perm});
#elif defined(CASE_backward)
  sort.backward(exec, x, {perm}, y);
#elif defined(CASE_without_braces)
  sort.forward(exec, x, y, perm);
#endif
}
