// SPDX-License-Identifier: Apache-2.0
#include "../all_operators.hpp"

#include <csetjmp>

unsigned fingerprint_of_b() { return all_operators::fingerprint(); }

namespace {

bool misused() {
  slicesort::slicing_sort<>{}.forward(slicesort::exec::host{0}, slicesort::tensor3<float const>{},
                                      slicesort::tensor3<float>{}, slicesort::no_saved);
  return false;
}

}  // namespace

// Counts the bad calls that were refused: by the handler without exceptions, else by a throw.
unsigned misuse_in_b() {
#if SLICESORT_EXCEPTIONS
  try {
    return misused() ? 1u : 0u;
  } catch (slicesort::invalid_argument const&) {
    return 1u;
  }
#else
  static std::jmp_buf back;
  slicesort::set_failure_handler([](slicesort::verdict const&) { std::longjmp(back, 1); });
  if (setjmp(back) != 0) return 1u;
  return misused() ? 1u : 0u;
#endif
}
