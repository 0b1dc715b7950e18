// SPDX-License-Identifier: Apache-2.0
// A program that sorts with the host backend and through two .cu files.
#include "check.hpp"

#include <slicesort/slicing_sort.hpp>

#include <cstdint>

extern "C" int sort_column_a(float const*, float*, int*, int, char*);
extern "C" int sort_column_b(float const*, float*, int*, int, char*);

namespace {

namespace ss = slicesort;

int sort_on_host(float const* x, float* y, int* rows, int length, char*) {
  ss::slicing_sort<ss::descending> const op;
  ss::exec::host const exec{};
  ss::extents3 const e{1, length, 1};
  ss::scratch scratch;
  op.forward(exec, ss::tensor3<float const>(x, e), ss::tensor3<float>(y, e),
             {ss::tensor3<std::int32_t>(rows, e)}, scratch);
  return 0;
}

}  // namespace

int main() {
  using support::check_sort;
  using support::outcome;
  bool const host_correct = check_sort("host", &sort_on_host) == outcome::correct;
  outcome const a = check_sort("first .cu", &sort_column_a),
                b = check_sort("second .cu", &sort_column_b);
  return host_correct && a == b && a != outcome::incorrect ? 0 : 1;
}
