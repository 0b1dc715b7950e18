// SPDX-License-Identifier: Apache-2.0
// Wrappers around CUDA runtime functions and `operator new` that record the calls.
#include "interpose.hpp"

#include <cuda_runtime_api.h>

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr int max_calls = 64;
bool recording = false;
int call_count = 0;
char const* names[max_calls];

void record(char const* name) {
  if (!recording) return;
  if (call_count < max_calls) names[call_count] = name;
  ++call_count;
}

// Returns the runtime's function, which the one in this file hides.
template <class F>
F runtime_function(char const* name, F) {
  void* const function = dlsym(RTLD_NEXT, name);
  if (function == nullptr) {
    std::fprintf(stderr, "the CUDA runtime has no %s; is it linked as a shared library?\n", name);
    std::abort();
  }
  return reinterpret_cast<F>(function);
}

void* allocate(std::size_t bytes) {
  record("operator new");
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

namespace support {

void start_recording() {
  call_count = 0;
  recording = true;
}
std::string stop_recording() {
  recording = false;
  std::string result;
  for (int i = 0; i < call_count && i < max_calls; ++i)
    result += (i > 0 ? " " : "") + std::string(names[i]);
  return result;
}

}  // namespace support

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

// SLICESORT_TEST_COUNT(function, (parameters), (arguments))
#define SLICESORT_TEST_COUNT(name, parameters, arguments) \
  extern "C" cudaError_t name parameters {                \
    record(#name);                                        \
    return runtime_function(#name, &name) arguments;      \
  }

// Memory.
SLICESORT_TEST_COUNT(cudaMalloc, (void** p, std::size_t n), (p, n))
SLICESORT_TEST_COUNT(cudaMallocHost, (void** p, std::size_t n), (p, n))
SLICESORT_TEST_COUNT(cudaHostAlloc, (void** p, std::size_t n, unsigned f), (p, n, f))
SLICESORT_TEST_COUNT(cudaMallocManaged, (void** p, std::size_t n, unsigned f), (p, n, f))
SLICESORT_TEST_COUNT(cudaMallocPitch, (void** p, std::size_t* pitch, std::size_t w, std::size_t h),
                     (p, pitch, w, h))
SLICESORT_TEST_COUNT(cudaMalloc3D, (cudaPitchedPtr * p, cudaExtent e), (p, e))
SLICESORT_TEST_COUNT(cudaMallocAsync, (void** p, std::size_t n, cudaStream_t s), (p, n, s))
SLICESORT_TEST_COUNT(cudaMallocFromPoolAsync,
                     (void** p, std::size_t n, cudaMemPool_t pool, cudaStream_t s), (p, n, pool, s))
SLICESORT_TEST_COUNT(cudaFree, (void* p), (p))
SLICESORT_TEST_COUNT(cudaFreeHost, (void* p), (p))
SLICESORT_TEST_COUNT(cudaFreeAsync, (void* p, cudaStream_t s), (p, s))
// Waiting.
SLICESORT_TEST_COUNT(cudaDeviceSynchronize, (), ())
SLICESORT_TEST_COUNT(cudaStreamSynchronize, (cudaStream_t s), (s))
SLICESORT_TEST_COUNT(cudaEventSynchronize, (cudaEvent_t e), (e))
SLICESORT_TEST_COUNT(cudaStreamQuery, (cudaStream_t s), (s))
SLICESORT_TEST_COUNT(cudaEventQuery, (cudaEvent_t e), (e))
SLICESORT_TEST_COUNT(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned f), (s, e, f))
// Access to device memory from the host.
SLICESORT_TEST_COUNT(cudaMemcpy, (void* to, void const* from, std::size_t n, cudaMemcpyKind k),
                     (to, from, n, k))
SLICESORT_TEST_COUNT(cudaMemcpyAsync,
                     (void* to, void const* from, std::size_t n, cudaMemcpyKind k, cudaStream_t s),
                     (to, from, n, k, s))
SLICESORT_TEST_COUNT(cudaMemcpyToSymbol,
                     (void const* to, void const* from, std::size_t n, std::size_t offset,
                      cudaMemcpyKind k),
                     (to, from, n, offset, k))
SLICESORT_TEST_COUNT(cudaMemcpyFromSymbol,
                     (void* to, void const* from, std::size_t n, std::size_t offset,
                      cudaMemcpyKind k),
                     (to, from, n, offset, k))
SLICESORT_TEST_COUNT(cudaMemset, (void* p, int value, std::size_t n), (p, value, n))
// Creation of streams and events.
SLICESORT_TEST_COUNT(cudaStreamCreate, (cudaStream_t * s), (s))
SLICESORT_TEST_COUNT(cudaStreamCreateWithFlags, (cudaStream_t * s, unsigned f), (s, f))
SLICESORT_TEST_COUNT(cudaStreamCreateWithPriority, (cudaStream_t * s, unsigned f, int p), (s, f, p))
SLICESORT_TEST_COUNT(cudaEventCreate, (cudaEvent_t * e), (e))
SLICESORT_TEST_COUNT(cudaEventCreateWithFlags, (cudaEvent_t * e, unsigned f), (e, f))
