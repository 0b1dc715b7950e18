// SPDX-License-Identifier: Apache-2.0
// A build for 32-bit x86.
// expect: slicesort: 32-bit x86 is not supported, because it changes signaling NaN: compile for x86-64.
// flag: g++ -D__i386__
#include <slicesort/slicesort.hpp>

slicesort::extents3 empty_extents() { return {}; }
