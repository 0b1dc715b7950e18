// SPDX-License-Identifier: Apache-2.0
// One translation unit of a program that mixes compiler flags. Registers itself as `UNIT` plus the
// name of its build.
#include "unit.hpp"

#include "../all_operators.hpp"

#include <vector>

namespace {

unsigned fingerprint(ss::exec::host exec) { return all_operators::fingerprint(exec); }

void sort(ss::exec::host exec, ss::tensor3<float const> x, ss::tensor3<float> y,
          ss::saved_permutation state) {
  std::vector<unsigned char> scratch(1 << 16);
  ss::slicing_sort<>{}.forward(exec, x, y, state, scratch);
}

[[maybe_unused]] bool const is_registered =
    (register_unit(UNIT " " SLICESORT_PP_STRINGIZE(SLICESORT_BUILD), &fingerprint, &sort,
                   SLICESORT_EXCEPTIONS != 0),
     true);

}  // namespace
