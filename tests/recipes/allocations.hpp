// SPDX-License-Identifier: Apache-2.0
// Checks that repeated calls keep no memory, by counting the live allocations of a program. It
// replaces operator new, so only one unit of a program may include it.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace recipe_checks {

std::atomic<std::ptrdiff_t> live_allocations{0};

// Calls backward twice, which must overwrite every gradient. The second call must not enlarge the
// layer's memory.
template <class Backward>
void call_twice(Backward const& backward) {
  backward();
  std::ptrdiff_t const allocations = live_allocations;
  backward();
  CHECK(live_allocations == allocations);
}

}  // namespace recipe_checks

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  ++recipe_checks::live_allocations;
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) --recipe_checks::live_allocations;
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
