// SPDX-License-Identifier: Apache-2.0
// A unit of a program whose units are compiled differently. UNIT is its name; the name of its build
// is appended.
#include "unit.hpp"

#include "../all_operators.hpp"

#include <vector>

namespace {

unsigned fingerprint(ss::exec::host exec) { return all_operators::fingerprint(exec); }

void sort(ss::exec::host exec, ss::tensor3<float const> x, ss::tensor3<float> y,
          ss::saved_permutation state) {
  std::vector<unsigned char> memory(1 << 16);
  ss::slicing_sort<>{}.forward(exec, x, y, state, memory);
}

[[maybe_unused]] bool const added = (add_unit(UNIT " " SLICESORT_PP_TEXT(SLICESORT_BUILD),
                                              &fingerprint, &sort, SLICESORT_EXCEPTIONS != 0),
                                     true);

}  // namespace
