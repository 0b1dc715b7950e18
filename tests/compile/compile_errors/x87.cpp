// SPDX-License-Identifier: Apache-2.0
// expect: slicesort: floating-point arithmetic must not be that of x87: compile with -msse2 -mfpmath=sse.
// flag: g++ -mfpmath=387
#include <slicesort/slicesort.hpp>

slicesort::extents3 nothing() { return {}; }
