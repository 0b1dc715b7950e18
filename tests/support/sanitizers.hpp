// SPDX-License-Identifier: Apache-2.0
// Interface to the sanitizers; does nothing without one.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#  define SLICESORT_TEST_ASAN 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define SLICESORT_TEST_ASAN 1
#  endif
#endif
#if defined(__SANITIZE_THREAD__)
#  define SLICESORT_TEST_TSAN 1
#elif defined(__has_feature)
#  if __has_feature(thread_sanitizer)
#    define SLICESORT_TEST_TSAN 1
#  endif
#endif
#if !defined(SLICESORT_TEST_ASAN)
#  define SLICESORT_TEST_ASAN 0
#endif
#if !defined(SLICESORT_TEST_TSAN)
#  define SLICESORT_TEST_TSAN 0
#endif

#if SLICESORT_TEST_ASAN
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>

#  include <mutex>
#endif

namespace support {

#if SLICESORT_TEST_ASAN
// Guards poisoning: AddressSanitizer aborts if two threads poison the same eight bytes at once. The
// lock does not affect ThreadSanitizer, which is never combined with it.
inline std::mutex& poison_mutex() {
  static std::mutex mutex;
  return mutex;
}
#endif

inline void poison([[maybe_unused]] void const* memory, [[maybe_unused]] std::size_t bytes) {
#if SLICESORT_TEST_ASAN
  std::lock_guard<std::mutex> const lock(poison_mutex());
  __asan_poison_memory_region(memory, bytes);
#endif
}
inline void unpoison([[maybe_unused]] void const* memory, [[maybe_unused]] std::size_t bytes) {
#if SLICESORT_TEST_ASAN
  std::lock_guard<std::mutex> const lock(poison_mutex());
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

// Announce a switch of stacks: start_switch on the old stack, finish_switch on the new one.
inline void start_switch([[maybe_unused]] void** fake, [[maybe_unused]] void const* stack,
                         [[maybe_unused]] std::size_t bytes) {
#if SLICESORT_TEST_ASAN
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#endif
}
inline void finish_switch([[maybe_unused]] void* fake, [[maybe_unused]] void const** old_stack,
                          [[maybe_unused]] std::size_t* old_bytes) {
#if SLICESORT_TEST_ASAN
  __sanitizer_finish_switch_fiber(fake, old_stack, old_bytes);
#endif
}

}  // namespace support
