/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the C interface, and its functions that compute nothing. Include slicesort.h. */
#ifndef SLICESORT_TYPES_H
#define SLICESORT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(SLICESORT_BUILDS_LIBRARY)
#  define SLICESORT_EXPORT __declspec(dllexport)
#elif defined(_WIN32)
#  define SLICESORT_EXPORT __declspec(dllimport)
#elif defined(__GNUC__)
#  define SLICESORT_EXPORT __attribute__((visibility("default")))
#else
#  define SLICESORT_EXPORT
#endif
#define SLICESORT_CALL SLICESORT_EXPORT slicesort_status

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It changes with a struct, a value or a signature, and not with a new
 * function. Compare it with slicesort_abi_version() of the library that is loaded. */
#define SLICESORT_ABI_VERSION 1

typedef enum slicesort_status {
  SLICESORT_OK = 0,
  SLICESORT_INVALID_ARGUMENT = 1, /* a wrong shape, stride, dtype, policy, length or overlap */
  SLICESORT_WORKSPACE_ERROR = 2,  /* the workspace is too short, or overlaps a tensor */
  SLICESORT_OUT_OF_MEMORY = 3,
  SLICESORT_CUDA_ERROR = 4,
  SLICESORT_UNSUPPORTED = 5, /* the library was built without CUDA */
  SLICESORT_INTERNAL_ERROR = 6
} slicesort_status;

enum slicesort_dtype {
  SLICESORT_FLOAT32 = 1,
  SLICESORT_FLOAT64 = 2,
  SLICESORT_FLOAT16 = 3,
  SLICESORT_BFLOAT16 = 4,
  SLICESORT_UINT8 = 5,
  SLICESORT_UINT16 = 6,
  SLICESORT_INT32 = 7,
  SLICESORT_UINT32 = 8,
  SLICESORT_INT64 = 9,
  SLICESORT_BOOL = 10 /* one byte, 0 or 1 */
};

enum slicesort_backend { SLICESORT_HOST = 0, SLICESORT_CUDA = 1 };

/* View of a tensor of 1 to 4 axes. `data` points to the element with all indices 0. Strides count
 * elements; they may be negative, and 0 for inputs. */
typedef struct slicesort_tensor {
  void* data;    /* only read if the tensor is an input */
  int32_t dtype; /* a slicesort_dtype */
  int32_t rank;
  int64_t shape[4], strides[4]; /* the first `rank` entries */
} slicesort_tensor;

typedef slicesort_tensor const* slicesort_input;
typedef slicesort_tensor const* slicesort_output;

/* Execution of a call. Zeros select one thread of the host, and memory of the library. */
typedef struct slicesort_call {
  uint32_t backend; /* a slicesort_backend */
  uint32_t threads; /* of the host; 0 is 1. Results do not depend on it. */
  void* stream;     /* cudaStream_t; null is the default stream, and required for SLICESORT_HOST */
  /* Scratch memory that SLICESORT_HOST or the stream's device can access, with any alignment. If it
   * is null, the host allocates and frees what the call needs, and SLICESORT_CUDA refuses a call
   * that needs any. */
  void* workspace;
  size_t workspace_bytes;
  /* If not null, the call checks its arguments, stores here how many bytes of workspace it needs,
   * and computes nothing. */
  size_t* required_bytes;
  /* Runs task(argument, i) for every i in [0, count), on any threads, and returns when all are
   * done. If it is null, threads are started for each call with threads > 1. */
  void (*parallel_for)(void* pool, uint32_t count, void (*task)(void* argument, uint32_t i),
                       void* argument);
  void* pool;
} slicesort_call;

typedef slicesort_call const* slicesort_exec;

SLICESORT_EXPORT int32_t slicesort_abi_version(void);
/* Version of the library, "major.minor.patch". */
SLICESORT_EXPORT char const* slicesort_version(void);
/* 1 if the library has the CUDA backend, else 0. */
SLICESORT_EXPORT int32_t slicesort_has_cuda(void);
/* Message of the last failed call of this thread, or "". Valid until its next failed call. */
SLICESORT_EXPORT char const* slicesort_last_error(void);
/* Checks a policy. `kind` is order, shift, alignment, groups, topology or mask. `extent` is the
 * number of factors for a topology, ignored for groups and mask, else the number of channels. */
SLICESORT_CALL slicesort_check_policy(char const* kind, char const* policy, int64_t extent);
/* Refuses a perm in host memory with indices that are not rows of their sample. Calls trust perm.
 * lengths: or null. */
SLICESORT_CALL slicesort_check_rows(slicesort_input perm, slicesort_input lengths);

#ifdef __cplusplus
}
#endif

#endif
