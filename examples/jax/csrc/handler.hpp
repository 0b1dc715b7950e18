// SPDX-License-Identifier: Apache-2.0
// Handlers of XLA's foreign function interface. Each source is compiled for the host and, as CUDA,
// by nvcc for GPUs.
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

/// Attributes of a call, which hold the operator's policies.
class attributes {
 public:
  attributes(ffi::Dictionary values) : values_(values) {}

  bool has(std::string_view name) const { return values_.contains(name); }
  std::string text(std::string_view name) const { return std::string(get<std::string_view>(name)); }
  index_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }

 private:
  template <class T>
  T get(std::string_view name) const {
    auto const value = values_.get<T>(name);
    if (!value) throw std::runtime_error(value.error().message());
    return *value;
  }

  ffi::Dictionary values_;
};

/// Calls `f(call)` and converts its exceptions to XLA errors.
template <class F>
ffi::Error run(xla_context&& context, F const& f) {
  try {
    xla_call call(std::move(context));
    f(call);
    return ffi::Error::Success();
  } catch (std::invalid_argument const& error) {
    return ffi::Error::InvalidArgument(error.what());
  } catch (std::exception const& error) {
    return ffi::Error::Internal(error.what());
  }
}

template <int inputs, int outputs, class Binding>
auto with_buffers(Binding&& binding) {
  if constexpr (inputs > 0)
    return with_buffers<inputs - 1, outputs>(std::move(binding).template Arg<ffi::AnyBuffer>());
  else if constexpr (outputs > 0)
    return with_buffers<0, outputs - 1>(std::move(binding).template Ret<ffi::AnyBuffer>());
  else
    return std::move(binding).template Attrs<ffi::Dictionary>();
}
/// Signature of a handler: the context, inputs, outputs and attributes, in this order.
template <int inputs, int outputs>
auto signature() {
  return with_buffers<inputs, outputs>(ffi::Ffi::Bind().Ctx<xla_context>());
}

}  // namespace slicesort_jax

/// Exports `slicesort_jax::name` as the handler `slicesort_<name>`.
#define SLICESORT_JAX_HANDLER(name, inputs, outputs)                   \
  extern "C" __attribute__((visibility("default")))                    \
  XLA_FFI_Error* slicesort_##name(XLA_FFI_CallFrame*);                 \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(slicesort_##name, slicesort_jax::name, \
                                (slicesort_jax::signature<inputs, outputs>()))
