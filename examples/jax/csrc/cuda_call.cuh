// SPDX-License-Identifier: Apache-2.0
// A call on the stream that XLA names. The same as host_call.hpp, for a CUDA compiler.
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

struct place {
  cudaStream_t stream;
  ffi::ScratchAllocator memory;
};

inline void succeed(cudaError_t status) {
  if (status != cudaSuccess) throw ss::cuda_error(status, cudaGetErrorString(status));
}

namespace {
__global__ void widen(std::int32_t const* from, index_t* to, index_t count) {
  for (index_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}
}  // namespace

class call {
 public:
  ss::exec::cuda on;

  explicit call(place&& at) : on{at.stream}, memory_(std::move(at.memory)) {}

  ss::workspace scratch(std::size_t bytes) { return {allocate(bytes), bytes}; }
  optional_array lengths(char const* name, in const& buffer) {
    auto a = to_optional(name, buffer);
    if (!a) return a;
    if (a->type == bindings::dtype::i32) {
      auto const count = static_cast<index_t>(buffer.element_count());
      auto* const copy = static_cast<index_t*>(allocate(count * sizeof(index_t)));
      if (count > 0) {
        widen<<<1, 256, 0, on.stream>>>(static_cast<std::int32_t const*>(a->data), copy, count);
        succeed(cudaGetLastError());
      }
      a->data = copy;
      a->type = bindings::dtype::i64;
    }
    return a;
  }
  /// Nothing: the device's memory is not read here. Python has brought indices into range.
  static void require_rows(array const&, optional_array const&) {}
  /// Waits for the stream: the library takes the seed from the host.
  index_t seed(in const& buffer) {
    if (buffer.element_type() != ffi::DataType::U32 || buffer.element_count() != 2)
      bindings::refuse("seed must be two words of uint32");
    std::uint32_t words[2];
    succeed(cudaMemcpyAsync(words, buffer.untyped_data(), sizeof(words), cudaMemcpyDeviceToHost,
                            on.stream));
    succeed(cudaStreamSynchronize(on.stream));
    return static_cast<index_t>(std::uint64_t{words[1]} << 32 | words[0]);
  }

 private:
  // XLA takes the memory back when the call's work on the stream is done.
  void* allocate(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    auto const memory = memory_.Allocate(bytes, 256);
    if (!memory)
      bindings::refuse("no memory for a workspace of " + std::to_string(bytes) + " bytes");
    return *memory;
  }

  ffi::ScratchAllocator memory_;
};

}  // namespace slicesort_jax

template <>
struct xla::ffi::CtxDecoding<slicesort_jax::place> {
  using Type = slicesort_jax::place;
  static std::optional<Type> Decode(XLA_FFI_Api const* api, XLA_FFI_ExecutionContext* context,
                                    DiagnosticEngine& diagnostic) {
    auto stream = CtxDecoding<PlatformStream<cudaStream_t>>::Decode(api, context, diagnostic);
    auto memory = CtxDecoding<ScratchAllocator>::Decode(api, context, diagnostic);
    if (!stream || !memory) return std::nullopt;
    return Type{*stream, std::move(*memory)};
  }
};
