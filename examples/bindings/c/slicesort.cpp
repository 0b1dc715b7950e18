// SPDX-License-Identifier: Apache-2.0
// Builds libslicesort, the library of slicesort.h. With a CUDA compiler it also has SLICESORT_CUDA.
#define SLICESORT_BUILDS_LIBRARY

#include "call.hpp"

#include <slicesort/version.hpp>

#define SLICESORT_TEXT_OF(x) #x
#define SLICESORT_TEXT(x) SLICESORT_TEXT_OF(x)
// Converts an argument to an array that has its name.
#define TENSOR(argument) c_interface::tensor(#argument, argument)
#define OPTIONAL_TENSOR(argument) c_interface::tensor_or_none(#argument, argument)

using c_interface::policy;
using c_interface::required;
using c_interface::run;
using slicesort::index_t;

#include "attention.inl"
#include "mixing.inl"
#include "sorting.inl"

int32_t slicesort_abi_version(void) { return SLICESORT_ABI_VERSION; }

char const* slicesort_version(void) {
  return SLICESORT_TEXT(SLICESORT_VERSION_MAJOR) "." SLICESORT_TEXT(
      SLICESORT_VERSION_MINOR) "." SLICESORT_TEXT(SLICESORT_VERSION_PATCH);
}

int32_t slicesort_has_cuda(void) {
#ifdef __CUDACC__
  return 1;
#else
  return 0;
#endif
}

char const* slicesort_last_error(void) { return c_interface::last_error(); }
