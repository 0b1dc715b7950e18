// SPDX-License-Identifier: Apache-2.0
// An execution policy with views of host memory that runs calls on the device. It copies the memory
// of the views, including gaps and aliases, runs exec::cuda, and copies back.
#pragma once

#include "image.hpp"
#include "remote.hpp"
#include "views.hpp"

#include <functional>

namespace support {

struct mirror_backend {
  static constexpr bool host_memory = true;
};

struct cuda_exec {
  using backend = mirror_backend;

  char const* name = "cuda";
  tuner tune{};
};

// Copies the image to the device, calls `call(stream)`, and copies it back. Throws if CUDA fails,
// or if memory outside of the outputs changed.
void run_mirrored(memory_image& image, std::function<void(CUstream_st*)> const& call);

// Removes the host's GEMM callback, which must not multiply matrices on the device.
template <class Params>
auto clear_gemm(Params& params) -> decltype(void(params.gemm)) {
  params.gemm = {};
}
inline void clear_gemm(...) {}

// Calls call(params, workspace, stream) with params whose views are in device memory.
template <class Params, class Call>
void run_with_device_copies(Params params, slicesort::workspace host_scratch, Call const& call) {
  memory_image image;
  for_each_view(params, [&](auto& view, access use) { image.add(range_of(view), use); });
  image.add({static_cast<unsigned char*>(host_scratch.data),
             host_scratch.data == nullptr ? 0 : host_scratch.bytes},
            access::scratch);
  image.copy_from_host();
  run_mirrored(image, [&](CUstream_st* stream) {
    Params device_params = params;
    clear_gemm(device_params);
    for_each_view(device_params,
                  [&](auto& view, access) { move_to(view, image.device_address(view.data())); });
    call(device_params,
         slicesort::workspace{image.device_address(host_scratch.data), host_scratch.bytes}, stream);
  });
}

}  // namespace support

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

template <class Op>
struct implementation<Op, support::mirror_backend> {
  using remote = implementation<Op, support::remote_backend>;

  static void check(support::cuda_exec exec, detail::checker& checks) {
    remote::check({nullptr, exec.tune}, checks);
  }
  template <class T>
  static void plan(support::cuda_exec exec, typename Op::shape const& shape,
                   detail::arena& memory) {
    remote::template plan<T>({nullptr, exec.tune}, shape, memory);
  }
  template <class Params>
  static void forward(support::cuda_exec exec, Params const& params, workspace host_scratch) {
    support::run_with_device_copies(
        params, host_scratch,
        [&](Params const& device_params, workspace device_scratch, CUstream_st* stream) {
          remote::forward({stream, exec.tune}, device_params, device_scratch);
        });
  }
  template <class Params>
  static void backward(support::cuda_exec exec, Params const& params, workspace host_scratch) {
    support::run_with_device_copies(
        params, host_scratch,
        [&](Params const& device_params, workspace device_scratch, CUstream_st* stream) {
          remote::backward({stream, exec.tune}, device_params, device_scratch);
        });
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
