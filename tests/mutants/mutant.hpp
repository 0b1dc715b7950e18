// SPDX-License-Identifier: Apache-2.0
// Selects a mutant at run time. generate.py copies this header into a mutated tree, in which an
// expression e with a mutant m becomes (SLICESORT_MUTANT(7) ? (m) : (e)).
#pragma once

#include <cstdio>
#include <cstdlib>

namespace slicesort_mutants {

inline constexpr int count = COUNT;  // replaced by the generator

// Number of the active mutant, from 1; 0 if none is active; -1 if none is active and the program
// records the mutants that it reaches.
inline int active = [] {
  char const* const value = std::getenv("SLICESORT_MUTANT");
  return value == nullptr ? 0 : std::atoi(value);
}();

// Writes the numbers of the reached mutants to the file SLICESORT_MUTANTS_REACHED at exit.
struct reached_mutants {
  bool reached[count + 1] = {};

  ~reached_mutants() {
    char const* const name = std::getenv("SLICESORT_MUTANTS_REACHED");
    std::FILE* const file = name == nullptr ? nullptr : std::fopen(name, "w");
    if (file == nullptr) return;
    for (int n = 1; n <= count; ++n)
      if (reached[n]) std::fprintf(file, "%d\n", n);
    std::fclose(file);
  }
};
inline reached_mutants record;

__attribute__((noinline, cold)) inline void record_reached(int n) { record.reached[n] = true; }

__attribute__((always_inline)) inline bool is_active(int n) {
  if (__builtin_expect(active < 0, 0) && !record.reached[n]) record_reached(n);
  return active == n;
}

}  // namespace slicesort_mutants

// False in constant expressions.
#define SLICESORT_MUTANT(n) \
  (!__builtin_is_constant_evaluated() && ::slicesort_mutants::is_active(n))
