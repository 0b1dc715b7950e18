// SPDX-License-Identifier: Apache-2.0
// Two shared libraries with the same kernels, each for one architecture alone, in one process, with
// their symbols thrown together. usage: two_libraries FIRST.so SECOND.so
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

int main(int count, char** arguments) {
  using support::judge;
  using support::judgement;
  if (count != 3) return 2;
  sort_function const first = load(arguments[1]), second = load(arguments[2]);
  if (first == nullptr || second == nullptr) return 1;
  // Either may lack code for this device, or there is no device; nobody may sort wrongly.
  for (int round = 0; round < 2; ++round)
    if (judge(arguments[1], first) == judgement::wrong ||
        judge(arguments[2], second) == judgement::wrong)
      return 1;
  return 0;
}
