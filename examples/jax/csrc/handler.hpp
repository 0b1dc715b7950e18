// SPDX-License-Identifier: Apache-2.0
// Handlers of XLA's foreign function interface. Every source is compiled for the host, and by nvcc
// (as CUDA) for GPUs.
#pragma once

#ifdef __CUDACC__
#  include "cuda_call.cuh"
#else
#  include "host_call.hpp"
#endif

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace slicesort_jax {

/// The attributes of a call: the policies of its operator.
class attributes {
 public:
  attributes(ffi::Dictionary all) : all_(all) {}

  bool has(std::string_view name) const { return all_.contains(name); }
  std::string text(std::string_view name) const { return std::string(get<std::string_view>(name)); }
  index_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }

 private:
  template <class T>
  T get(std::string_view name) const {
    auto const value = all_.get<T>(name);
    if (!value) throw std::runtime_error(value.error().message());
    return *value;
  }

  ffi::Dictionary all_;
};

/// Calls `f` with a call at the place, and returns what it throws as XLA's error.
template <class F>
ffi::Error run(place&& at, F const& f) {
  try {
    call here(std::move(at));
    f(here);
    return ffi::Error::Success();
  } catch (std::invalid_argument const& refused) {
    return ffi::Error::InvalidArgument(refused.what());
  } catch (std::exception const& failed) {
    return ffi::Error::Internal(failed.what());
  }
}

/// A signature: the place, `Ins` inputs, `Outs` outputs and the attributes, in this order.
template <int Ins, int Outs, class Binding>
auto with_buffers(Binding&& b) {
  if constexpr (Ins > 0)
    return with_buffers<Ins - 1, Outs>(std::move(b).template Arg<ffi::AnyBuffer>());
  else if constexpr (Outs > 0)
    return with_buffers<0, Outs - 1>(std::move(b).template Ret<ffi::AnyBuffer>());
  else
    return std::move(b).template Attrs<ffi::Dictionary>();
}
template <int Ins, int Outs>
auto signature() {
  return with_buffers<Ins, Outs>(ffi::Ffi::Bind().Ctx<place>());
}

}  // namespace slicesort_jax

/// Exports the function `implementation` as the handler `slicesort_<name>`.
#define SLICESORT_JAX_HANDLER(name, ins, outs, implementation)    \
  extern "C" __attribute__((visibility("default")))               \
  XLA_FFI_Error* slicesort_##name(XLA_FFI_CallFrame*);            \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(slicesort_##name, implementation, \
                                (slicesort_jax::signature<ins, outs>()))
