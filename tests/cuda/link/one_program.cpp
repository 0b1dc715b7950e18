// SPDX-License-Identifier: Apache-2.0
// A host program that sorts by itself, with the host backend, and through two .cu files.
#include "check.hpp"

#include <slicesort/slicing_sort.hpp>

#include <cstdint>

extern "C" int sort_column_a(float const*, float*, int*, int, char*);
extern "C" int sort_column_b(float const*, float*, int*, int, char*);

namespace {

namespace ss = slicesort;

int sort_here(float const* x, float* y, int* rows, int length, char*) {
  ss::slicing_sort<ss::descending> const op;
  ss::exec::host const exec{};
  ss::extents3 const e{1, length, 1};
  ss::scratch memory;
  op.forward(exec, ss::tensor3<float const>(x, e), ss::tensor3<float>(y, e),
             {ss::tensor3<std::int32_t>(rows, e)}, memory);
  return 0;
}

}  // namespace

int main() {
  using support::judge;
  using support::judgement;
  bool const here = judge("host", &sort_here) == judgement::right;
  judgement const a = judge("first .cu", &sort_column_a), b = judge("second .cu", &sort_column_b);
  return here && a == b && a != judgement::wrong ? 0 : 1;
}
