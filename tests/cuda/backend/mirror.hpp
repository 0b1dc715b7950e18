// SPDX-License-Identifier: Apache-2.0
// The policy of tests that know nothing of GPUs: views of host memory, calls on the device. A call
// copies the memory behind its views, gaps and aliases and all, runs exec::cuda, and copies back.
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

// Brings the image to the device, calls `call(stream)`, and brings it back. Throws if CUDA refuses,
// or if memory changed that nobody had lent.
void run_mirrored(memory_image& image, std::function<void(CUstream_st*)> const& call);

// Who multiplies the host's matrices is not asked about the device's.
template <class Params>
auto forget_gemm(Params& p) -> decltype(void(p.gemm)) {
  p.gemm = {};
}
inline void forget_gemm(...) {}

// call(problem, workspace, stream) with a problem that lies on the device.
template <class Params, class Call>
void mirrored(Params problem, slicesort::workspace w, Call const& call) {
  memory_image image;
  for_each_view(problem, [&](auto& view, access use) { image.add(range_of(view), use); });
  image.add({static_cast<unsigned char*>(w.data), w.data == nullptr ? 0 : w.bytes},
            access::scratch);
  image.take();
  run_mirrored(image, [&](CUstream_st* stream) {
    Params moved = problem;
    forget_gemm(moved);
    for_each_view(moved, [&](auto& view, access) { move_to(view, image.moved(view.data())); });
    call(moved, slicesort::workspace{image.moved(w.data), w.bytes}, stream);
  });
}

}  // namespace support

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

template <class Op>
struct implementation<Op, support::mirror_backend> {
  using remote = implementation<Op, support::remote_backend>;

  static void check(support::cuda_exec exec, detail::checker& c) {
    remote::check({nullptr, exec.tune}, c);
  }
  template <class T>
  static void plan(support::cuda_exec exec, typename Op::shape const& s, detail::arena& a) {
    remote::template plan<T>({nullptr, exec.tune}, s, a);
  }
  template <class Params>
  static void forward(support::cuda_exec exec, Params const& p, workspace w) {
    support::mirrored(p, w, [&](Params const& there, workspace scratch, CUstream_st* stream) {
      remote::forward({stream, exec.tune}, there, scratch);
    });
  }
  template <class Params>
  static void backward(support::cuda_exec exec, Params const& p, workspace w) {
    support::mirrored(p, w, [&](Params const& there, workspace scratch, CUstream_st* stream) {
      remote::backward({stream, exec.tune}, there, scratch);
    });
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
