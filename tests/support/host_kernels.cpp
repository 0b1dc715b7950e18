// SPDX-License-Identifier: Apache-2.0
// The host backend's kernels for elements SLICESORT_TEST_DTYPE.
#include "host_kernels.hpp"

using slicesort::bfloat16;
using slicesort::float16;

SLICESORT_TEST_HOST_KERNELS(, SLICESORT_TEST_DTYPE)
