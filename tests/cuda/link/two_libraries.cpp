// SPDX-License-Identifier: Apache-2.0
// Loads two shared libraries with the same kernels, each for a different architecture, with
// global symbols. Usage: two_libraries FIRST.so SECOND.so
#include "check.hpp"

#include <dlfcn.h>

namespace {

using sort_function = int (*)(float const*, float*, int*, int, char*);

sort_function load(char const* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return std::printf("%s\n", dlerror()), nullptr;
  return reinterpret_cast<sort_function>(dlsym(library, "sort_column"));
}

}  // namespace

int main(int argc, char** argv) {
  using support::check_sort;
  using support::outcome;
  if (argc != 3) return 2;
  sort_function const first = load(argv[1]), second = load(argv[2]);
  if (first == nullptr || second == nullptr) return 1;
  // A library may lack code for this device, and there may be no device; no result may be wrong.
  for (int attempt = 0; attempt < 2; ++attempt)
    if (check_sort(argv[1], first) == outcome::incorrect ||
        check_sort(argv[2], second) == outcome::incorrect)
      return 1;
  return 0;
}
