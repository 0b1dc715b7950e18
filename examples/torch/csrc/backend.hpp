// SPDX-License-Identifier: Apache-2.0
// Execution policy and memory of calls from torch. Each operator's source is compiled twice: as C++
// for the CPU and, included by `cuda/*.cu`, by a CUDA compiler for the GPU.
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

/// torch's thread pool (`torch.set_num_threads`) as an executor of the library.
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

/// Scratch memory from torch's allocator, on the device of a tensor. It is released when the call
/// returns; on a GPU the allocator is stream-ordered.
class torch_bytes {
 public:
  explicit torch_bytes(Tensor const& first) : first_(first) {}
  void resize(std::size_t size) {
    bytes_.reset();
    if (size > 0) bytes_ = make_tensor(first_, {static_cast<int64_t>(size)}, ScalarType::Byte);
    size_ = size;
  }
  unsigned char* data() const {
    return bytes_ ? static_cast<unsigned char*>(bytes_->data_ptr()) : nullptr;
  }
  std::size_t size() const { return size_; }

 private:
  Tensor const& first_;
  optional_tensor bytes_;
  std::size_t size_ = 0;
};

/// Converts the tensors of a call, which must all be on the device of the first.
class call_arguments {
 public:
  explicit call_arguments(Tensor const& first) : first_(first) {}

  /// Returns the tensor as an array. Throws if it is on another device.
  array operator()(Tensor const& tensor, char const* name) const {
    if (tensor.is_cuda() != first_.is_cuda() ||
        tensor.get_device_index() != first_.get_device_index())
      bindings::throw_invalid(std::string(name) + " must be on the device of the other tensors");
    return array_of(tensor, name);
  }
  optional_array operator()(optional_tensor const& tensor, char const* name) const {
    if (tensor) return (*this)(*tensor, name);
    return std::nullopt;
  }

 private:
  Tensor const& first_;
};

// The two types have different names because one library contains the code of both backends.
#ifdef __CUDACC__
/// A call on the current stream of a tensor's device.
class cuda_call : public call_arguments {
  torch::stable::accelerator::DeviceGuard guard_;

 public:
  explicit cuda_call(Tensor const& first)
      : call_arguments(first),
        guard_(first.get_device_index()),
        exec{stream_of(first)},
        memory(torch_bytes(first)) {}
  slicesort::exec::cuda exec;
  slicesort::basic_scratch<torch_bytes> memory;

 private:
  static CUstream_st* stream_of(Tensor const& first) {
    void* stream = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(first.get_device_index(), &stream));
    return static_cast<CUstream_st*>(stream);
  }
};
using torch_call = cuda_call;
#else
/// A call on torch's threads.
class host_call : public call_arguments {
 public:
  explicit host_call(Tensor const& first) : call_arguments(first), memory(torch_bytes(first)) {}
  slicesort::exec::host_on<torch_threads const> exec{threads};
  slicesort::basic_scratch<torch_bytes> memory;
};
using torch_call = host_call;
#endif

}  // namespace adapter
