// SPDX-License-Identifier: Apache-2.0
// Allocation, copies and fills of memory.
#include "../memory.hpp"

#include "../streams.hpp"

#include <cstddef>
#include <cstring>

using namespace ptx::runtime;

namespace {

// Allocates immediately, even if stream order would allow it later.
cudaError_t allocate_into(void** allocated, std::size_t bytes, memory_kind kind,
                          cudaStream_t stream = nullptr) {
  return call_outside_capture([&] {
    if (find_stream(stream) == nullptr) return cudaErrorInvalidResourceHandle;
    *allocated = bytes == 0 ? nullptr : allocate(bytes, kind);
    return bytes != 0 && *allocated == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}
// Waits for the whole device, as CUDA does, even if stream order requires less.
cudaError_t release_from(void* data, memory_kind kind, cudaStream_t stream = nullptr) {
  return call_outside_capture([&] {
    if (find_stream(stream) == nullptr) return cudaErrorInvalidResourceHandle;
    if (data == nullptr) return cudaSuccess;
    wait_for_device();
    return release(data, kind) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

bool is_host(memory_kind k) { return k == memory_kind::pinned || k == memory_kind::pageable; }

struct copy_operation {
  void* to;
  void const* from;
  std::size_t bytes;
  memory_kind to_kind, from_kind;

  copy_operation(void* destination, void const* source, std::size_t size)
      : to(destination),
        from(source),
        bytes(size),
        to_kind(size == 0 ? memory_kind::pageable : kind_of(destination, size)),
        from_kind(size == 0 ? memory_kind::pageable : kind_of(source, size)) {}

  bool allows(cudaMemcpyKind kind) const {
    bool const to_device = to_kind == memory_kind::device,
               from_device = from_kind == memory_kind::device;
    if (!(to_device || is_host(to_kind)) || !(from_device || is_host(from_kind))) return false;
    switch (kind) {
      case cudaMemcpyHostToHost:
        return !to_device && !from_device;
      case cudaMemcpyHostToDevice:
        return to_device && !from_device;
      case cudaMemcpyDeviceToHost:
        return !to_device && from_device;
      case cudaMemcpyDeviceToDevice:
        return to_device && from_device;
      default:
        return true;
    }
  }
  bool has_pageable() const {
    return to_kind == memory_kind::pageable || from_kind == memory_kind::pageable;
  }
  node make_node() const {
    return {cudaGraphNodeTypeMemcpy,
            [to = to, from = from, bytes = bytes] { std::memmove(to, from, bytes); }};
  }
};

// Copies of pageable memory are complete when the call returns.
cudaError_t submit_copy(copy_operation const& c, cudaMemcpyKind kind, cudaStream_t stream,
                        bool wait_for_completion) {
  if (c.bytes == 0) return cudaSuccess;
  if (!c.allows(kind)) return cudaErrorInvalidValue;
  stream_ptr const s = find_stream(stream);
  if (s == nullptr) return cudaErrorInvalidResourceHandle;
  task_ptr done;
  cudaError_t const code = submit(*s, c.make_node(), &done);
  if (wait_for_completion) wait_for(done);
  return code;
}

cudaError_t submit_fill(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  memory_kind const kind = kind_of(data, bytes);
  if (kind != memory_kind::device && kind != memory_kind::pinned) return cudaErrorInvalidValue;
  return submit(stream, {cudaGraphNodeTypeMemset, [=] { std::memset(data, value, bytes); }});
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** allocated, std::size_t bytes) {
  return allocate_into(allocated, bytes, memory_kind::device);
}
cudaError_t cudaFree(void* data) { return release_from(data, memory_kind::device); }
cudaError_t cudaMallocHost(void** allocated, std::size_t bytes) {
  return allocate_into(allocated, bytes, memory_kind::pinned);
}
cudaError_t cudaHostAlloc(void** allocated, std::size_t bytes, unsigned) {
  return cudaMallocHost(allocated, bytes);
}
cudaError_t cudaFreeHost(void* data) { return release_from(data, memory_kind::pinned); }
cudaError_t cudaMallocAsync(void** allocated, std::size_t bytes, cudaStream_t stream) {
  return allocate_into(allocated, bytes, memory_kind::device, stream);
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  return release_from(data, memory_kind::device, stream);
}

cudaError_t cudaMemGetInfo(std::size_t* unused, std::size_t* total) {
  return call([&] {
    *unused = free_device_bytes();
    *total = device_bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call_outside_capture([&] {
    copy_operation const c(to, from, bytes);
    bool const on_device = c.to_kind == memory_kind::device && c.from_kind == memory_kind::device;
    return submit_copy(c, kind, nullptr, !on_device);
  });
}
cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call([&] {
    copy_operation const c(to, from, bytes);
    return submit_copy(c, kind, stream, c.has_pageable());
  });
}
// Both return before the memory is set.
cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  return call_outside_capture([&] { return submit_fill(data, value, bytes, nullptr); });
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  return call([&] { return submit_fill(data, value, bytes, stream); });
}

}  // extern "C"
