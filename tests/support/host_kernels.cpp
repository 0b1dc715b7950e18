// SPDX-License-Identifier: Apache-2.0
// The host backend for elements SLICESORT_TEST_DTYPE.
#include "host_kernels.hpp"

using slicesort::bfloat16;
using slicesort::float16;

SLICESORT_TEST_OPERATORS(SLICESORT_TEST_COMPILED_HERE, SLICESORT_TEST_DTYPE)
SLICESORT_TEST_HOST_TILES(, SLICESORT_TEST_DTYPE)
