// SPDX-License-Identifier: Apache-2.0
// Execution policy and memory of a call on XLA's stream: the CUDA counterpart of host_call.hpp.
#pragma once

#include "arrays.hpp"

#include <slicesort/cuda.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace slicesort_jax {

struct xla_context {
  cudaStream_t stream;
  ffi::ScratchAllocator memory;
};

inline void throw_on_error(cudaError_t status) {
  if (status != cudaSuccess) throw ss::cuda_error(status, cudaGetErrorString(status));
}

namespace {
__global__ void widen(std::int32_t const* narrow, index_t* wide, index_t count) {
  for (index_t i = threadIdx.x; i < count; i += blockDim.x) wide[i] = narrow[i];
}
}  // namespace

/// Scratch memory from XLA, which reclaims it once the call's work on the stream has finished.
class xla_bytes {
 public:
  explicit xla_bytes(ffi::ScratchAllocator& allocator) : allocator_(allocator) {}
  void resize(std::size_t size) {
    auto const memory = size == 0 ? std::optional<void*>(nullptr) : allocator_.Allocate(size, 256);
    if (!memory)
      bindings::throw_invalid("no memory for a workspace of " + std::to_string(size) + " bytes");
    data_ = static_cast<unsigned char*>(*memory);
    size_ = size;
  }
  unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  ffi::ScratchAllocator& allocator_;
  unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
};

class xla_call {
  ffi::ScratchAllocator allocator_;

 public:
  ss::exec::cuda exec;
  ss::basic_scratch<xla_bytes> memory{xla_bytes(allocator_)};

  explicit xla_call(xla_context&& context)
      : allocator_(std::move(context.memory)), exec{context.stream} {}
  xla_call(xla_call const&) = delete;

  optional_array lengths(char const* name, input const& buffer) {
    auto tensor = to_optional(name, buffer);
    if (!tensor) return tensor;
    if (tensor->type == bindings::dtype::i32) {
      auto const count = static_cast<index_t>(buffer.element_count());
      xla_bytes bytes(allocator_);
      bytes.resize(static_cast<std::size_t>(count) * sizeof(index_t));
      auto* const copy = reinterpret_cast<index_t*>(bytes.data());
      if (count > 0) {
        widen<<<1, 256, 0, exec.stream>>>(static_cast<std::int32_t const*>(tensor->data), copy,
                                          count);
        throw_on_error(cudaGetLastError());
      }
      tensor->data = copy;
      tensor->type = bindings::dtype::i64;
    }
    return tensor;
  }
  /// Does nothing: the indices are in device memory, and Python has clamped them.
  static void require_rows(array const&, optional_array const&) {}
  /// Reads the seed. Synchronizes the stream, since the library needs the seed on the host.
  index_t seed(input const& buffer) {
    if (buffer.element_type() != ffi::DataType::U32 || buffer.element_count() != 2)
      bindings::throw_invalid("seed must be two words of uint32");
    std::uint32_t words[2];
    throw_on_error(cudaMemcpyAsync(words, buffer.untyped_data(), sizeof(words),
                                   cudaMemcpyDeviceToHost, exec.stream));
    throw_on_error(cudaStreamSynchronize(exec.stream));
    return static_cast<index_t>(std::uint64_t{words[1]} << 32 | words[0]);
  }
};

}  // namespace slicesort_jax

template <>
struct xla::ffi::CtxDecoding<slicesort_jax::xla_context> {
  using Type = slicesort_jax::xla_context;
  static std::optional<Type> Decode(XLA_FFI_Api const* api, XLA_FFI_ExecutionContext* context,
                                    DiagnosticEngine& diagnostic) {
    auto stream = CtxDecoding<PlatformStream<cudaStream_t>>::Decode(api, context, diagnostic);
    auto memory = CtxDecoding<ScratchAllocator>::Decode(api, context, diagnostic);
    if (!stream || !memory) return std::nullopt;
    return Type{*stream, std::move(*memory)};
  }
};
