// SPDX-License-Identifier: Apache-2.0
// Where the operators of this unit run. Every operator is one source, which is compiled twice: as
// C++ for the CPU, and, through `cuda/`, by a CUDA compiler for the GPU.
#pragma once

#include "tensor.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/workspace.hpp>

#ifdef __CUDACC__
#  include <torch/csrc/stable/accelerator.h>
#  include <slicesort/cuda.cuh>
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#ifdef __CUDACC__
#  define SLICESORT_DISPATCH_KEY CUDA
#else
#  define SLICESORT_DISPATCH_KEY CPU
#endif

namespace adapter {

/// torch's own threads, as many as `torch.set_num_threads` says, as the library's pool.
struct torch_threads {
  unsigned concurrency() const { return torch::stable::get_num_threads(); }
  template <class F>
  void parallel_for(unsigned n, F const& f) const {
    if (n == 1) return f(0u);
    torch::stable::parallel_for(0, n, 1, [&f](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(static_cast<unsigned>(i));
    });
  }
};
inline constexpr torch_threads threads{};

/// What every call has: the tensor that says where it runs, and scratch memory, which is torch's
/// and goes back to it when the call returns (on a GPU its allocator keeps the stream's order).
class call_memory {
 public:
  explicit call_memory(Tensor const& first) : first_(first) {}

  slicesort::workspace scratch(std::size_t bytes) {
    if (bytes == 0) return {};
    scratch_ = make(first_, {static_cast<int64_t>(bytes)}, ScalarType::Byte);
    return {scratch_->data_ptr(), bytes};
  }

  /// The tensor as an array; refuses one that lies on another device than the first.
  array operator()(Tensor const& t, char const* name) const {
    if (t.is_cuda() != first_.is_cuda() || t.get_device_index() != first_.get_device_index())
      bindings::refuse(std::string(name) + " must be on the device of the other tensors");
    return array_of(t, name);
  }
  optional_array operator()(optional_tensor const& t, char const* name) const {
    if (t) return (*this)(*t, name);
    return std::nullopt;
  }

 private:
  Tensor const& first_;
  optional_tensor scratch_;
};

// Two types with names of their own, for the units of both backends meet in one library.
#ifdef __CUDACC__
/// A call on the current stream of a tensor's device.
class cuda_call : public call_memory {
  torch::stable::accelerator::DeviceGuard guard_;

 public:
  explicit cuda_call(Tensor const& first)
      : call_memory(first), guard_(first.get_device_index()), on{stream_of(first)} {}
  slicesort::exec::cuda on;

 private:
  static CUstream_st* stream_of(Tensor const& first) {
    void* stream = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(first.get_device_index(), &stream));
    return static_cast<CUstream_st*>(stream);
  }
};
using call = cuda_call;
#else
/// A call on torch's threads.
class host_call : public call_memory {
 public:
  using call_memory::call_memory;
  slicesort::exec::host_on<torch_threads const> on{threads};
};
using call = host_call;
#endif

}  // namespace adapter
