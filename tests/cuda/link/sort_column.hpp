// SPDX-License-Identifier: Apache-2.0
// The interface of a library that hides CUDA from its users.
#pragma once

// Sorts `length` floats in host memory on the current device; `rows` receives their original rows.
// Returns 0, or CUDA's error code, and copies the error message to `message`.
extern "C" int SLICESORT_TEST_SORT_COLUMN(float const* x, float* y, int* rows, int length,
                                          char message[256]);
