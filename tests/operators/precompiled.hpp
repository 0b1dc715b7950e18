// SPDX-License-Identifier: Apache-2.0
// Read before everything else by every test program: what takes longest to read and changes least,
// precompiled by CMakeLists.txt. Programs include what they use all the same.
#pragma once

// Before doctest's macros are used.
#if defined(SLICESORT_TEST_WITHOUT_float) || defined(SLICESORT_TEST_WITHOUT_double) || \
    defined(SLICESORT_TEST_WITHOUT_float16) || defined(SLICESORT_TEST_WITHOUT_bfloat16)
#  include "tested_types.hpp"
#endif

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
