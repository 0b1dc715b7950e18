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

// Calls call(params, workspace, stream) with params on the device.
template <class Params, class Call>
void mirrored(Params params, slicesort::workspace work, Call const& call) {
  memory_image image;
  for_each_view(params, [&](auto& view, access use) { image.add(range_of(view), use); });
  image.add({static_cast<unsigned char*>(work.data), work.data == nullptr ? 0 : work.bytes},
            access::scratch);
  image.take();
  run_mirrored(image, [&](CUstream_st* stream) {
    Params moved = params;
    clear_gemm(moved);
    for_each_view(moved, [&](auto& view, access) { move_to(view, image.moved(view.data())); });
    call(moved, slicesort::workspace{image.moved(work.data), work.bytes}, stream);
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
  static void forward(support::cuda_exec exec, Params const& params, workspace work) {
    support::mirrored(params, work,
                      [&](Params const& on_device, workspace scratch, CUstream_st* stream) {
                        remote::forward({stream, exec.tune}, on_device, scratch);
                      });
  }
  template <class Params>
  static void backward(support::cuda_exec exec, Params const& params, workspace work) {
    support::mirrored(params, work,
                      [&](Params const& on_device, workspace scratch, CUstream_st* stream) {
                        remote::backward({stream, exec.tune}, on_device, scratch);
                      });
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
