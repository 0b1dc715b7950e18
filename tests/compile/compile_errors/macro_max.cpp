// SPDX-License-Identifier: Apache-2.0
// A macro named max, as <windows.h> defines it.
// expect: slicesort: min and max must not be macros: define NOMINMAX before <windows.h>.
// flag: g++ -Dmax(a,b)=((a)>(b)?(a):(b))
#include <slicesort/slicesort.hpp>

slicesort::extents3 empty_extents() { return {}; }
