// SPDX-License-Identifier: Apache-2.0
// What a library around slicesort might offer to programs that know nothing of CUDA.
#pragma once

// Sorts `length` floats in host memory on the default stream's device, and says from which rows
// they came. Returns 0, or the code of CUDA's error, whose message is copied to `message`.
extern "C" int SLICESORT_TEST_SORT_COLUMN(float const* x, float* y, int* rows, int length,
                                          char message[256]);
