// SPDX-License-Identifier: Apache-2.0
// With two_tu_b.cpp: every operator in two translation units of one program, also when they are
// built with different optimization, standards or exception settings.
#include "../all_operators.hpp"

#include <cstdio>

unsigned fingerprint_of_b();
unsigned misuse_in_b();

int main() {
  unsigned const here = all_operators::fingerprint(), there = fingerprint_of_b();
  if (here != there) return std::printf("fingerprints differ: %08x and %08x\n", here, there), 1;
  if (all_operators::fingerprint({3}) != here) return std::puts("threads changed the result"), 1;
#if SLICESORT_EXCEPTIONS
  // Each unit keeps its own way to fail: this one throws, whatever the other does.
  namespace ss = slicesort;
  try {
    ss::slicing_sort<>{}.forward(ss::exec::host{0}, ss::tensor3<float const>{},
                                 ss::tensor3<float>{}, ss::no_saved);
    return std::puts("a bad call was accepted"), 1;
  } catch (ss::invalid_argument const&) {
  }
#endif
  return misuse_in_b() == 1 ? 0 : (std::puts("the other unit missed a bad call"), 1);
}
