// SPDX-License-Identifier: Apache-2.0
// A build that uses x87 floating-point arithmetic.
// expect: slicesort: floating-point arithmetic must not be that of x87: compile with -mfpmath=sse.
// flag: g++ -mfpmath=387
#include <slicesort/slicesort.hpp>

slicesort::extents3 empty_extents() { return {}; }
