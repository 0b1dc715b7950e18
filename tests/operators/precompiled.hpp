// SPDX-License-Identifier: Apache-2.0
// Headers that are slow to compile and rarely change, precompiled by CMakeLists.txt for every test
// program. Programs still include what they use.
#pragma once

// Must precede every use of doctest's macros.
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
