// SPDX-License-Identifier: Apache-2.0
// Execution, arguments and errors of calls from C.
#pragma once

#include "slicesort.h"

#include "../array.hpp"

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/workspace.hpp>

#ifdef __CUDACC__
#  include <slicesort/cuda.cuh>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace c_interface {

namespace ss = slicesort;
using bindings::array;
using bindings::optional_array;
using ss::index_t;

// Backend of a call that may only ask for the size of its workspace.
template <class Backend>
struct sizing_backend {
  static constexpr bool host_memory = Backend::host_memory;
};
// Execution policy `Exec`. If `required_bytes` is not null, a call stores its workspace's size
// there and computes nothing.
template <class Exec>
struct sizing : Exec {
  using backend = sizing_backend<typename Exec::backend>;

  std::size_t* required_bytes;

  sizing(Exec const& exec, std::size_t* bytes) : Exec(exec), required_bytes(bytes) {}
  Exec const& base() const { return *this; }
};

}  // namespace c_interface

SLICESORT_DETAIL_BEGIN

template <class Op, class Backend>
struct implementation<Op, c_interface::sizing_backend<Backend>> {
  using base = implementation<Op, Backend>;

  template <class Exec>
  static void check(Exec const& exec, checker& c) {
    base::check(exec.base(), c);
  }
  // Reports no bytes to the checks of a call that only asks for the size.
  template <class T, class Exec>
  static void plan(Exec const& exec, typename Op::shape const& shape, arena& memory) {
    base::template plan<T>(exec.base(), shape, memory);
    if (exec.required_bytes == nullptr) return;
    *exec.required_bytes = memory.bytes();
    memory = arena();
  }
  template <class Exec, class Params>
  static void forward(Exec const& exec, Params const& params, workspace scratch) {
    if (exec.required_bytes == nullptr) base::forward(exec.base(), params, scratch);
  }
  template <class Exec, class Params>
  static void backward(Exec const& exec, Params const& params, workspace scratch) {
    if (exec.required_bytes == nullptr) base::backward(exec.base(), params, scratch);
  }
};

SLICESORT_DETAIL_END

namespace c_interface {

struct unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The caller's thread pool, or threads that are started for the call.
struct threads {
  slicesort_call const& settings;

  template <class F>
  void parallel_for(unsigned count, F const& f) const {
    if (settings.parallel_for == nullptr) return ss::exec::host{}.parallel_for(count, f);
    auto const task = [](void* argument, std::uint32_t i) {
      (*static_cast<F const*>(argument))(i);
    };
    settings.parallel_for(settings.pool, count, task, const_cast<F*>(&f));
  }
};

/// Scratch memory of a call: the caller's, or else the heap's if `may_allocate`.
class scratch {
 public:
  scratch(slicesort_call const& settings, bool may_allocate)
      : memory_(settings.workspace, settings.workspace_bytes) {
    if (settings.workspace != nullptr || !may_allocate) return;
    memory_.grow = &grow;
    memory_.owner = &owned_;
  }
  operator ss::workspace() const { return memory_; }

 private:
  static ss::workspace grow(void* owner, std::size_t bytes) {
    auto& memory = *static_cast<ss::host_bytes*>(owner);
    memory.resize(bytes);
    if (memory.size() < bytes) throw std::bad_alloc();
    return {memory.data(), bytes};
  }

  ss::host_bytes owned_;
  ss::workspace memory_;
};

/// The `Call` of ../slicing_sort.hpp on the host.
struct host_call {
  threads const pool;
  sizing<ss::exec::host_on<threads const>> const exec;
  scratch memory;

  explicit host_call(slicesort_call const& settings)
      : pool{settings},
        exec({pool, settings.threads == 0 ? 1 : settings.threads}, settings.required_bytes),
        memory(settings, true) {
    if (settings.stream != nullptr)
      bindings::throw_invalid("call.stream is not null, must be null for SLICESORT_HOST");
  }
  host_call(host_call const&) = delete;
};

#ifdef __CUDACC__
/// The `Call` on a CUDA stream.
struct cuda_call {
  sizing<ss::exec::cuda> const exec;
  scratch memory;

  explicit cuda_call(slicesort_call const& settings)
      : exec({static_cast<CUstream_st*>(settings.stream)}, settings.required_bytes),
        memory(settings, false) {}
};
#endif

/// Message of the last failed call of this thread.
inline char* last_error() noexcept {
  thread_local char message[512] = "";
  return message;
}

/// Stores the message of the current exception, which it turns into a status.
inline slicesort_status report_exception() noexcept {
  auto const report = [](slicesort_status status, char const* message) {
    std::snprintf(last_error(), 512, "%s", message);
    return status;
  };
  try {
    throw;
  } catch (unsupported const& error) {
    return report(SLICESORT_UNSUPPORTED, error.what());
  } catch (ss::workspace_error const& error) {
    return report(SLICESORT_WORKSPACE_ERROR, error.what());
  } catch (std::invalid_argument const& error) {
    return report(SLICESORT_INVALID_ARGUMENT, error.what());
  } catch (ss::cuda_error const& error) {
    return report(SLICESORT_CUDA_ERROR, error.what());
  } catch (std::bad_alloc const&) {
    return report(SLICESORT_OUT_OF_MEMORY, "there is no memory for the call");
  } catch (std::exception const& error) {
    return report(SLICESORT_INTERNAL_ERROR, error.what());
  } catch (...) {
    return report(SLICESORT_INTERNAL_ERROR, "unknown exception");
  }
}

/// Calls f() and turns exceptions into a status.
template <class F>
slicesort_status catch_errors(F const& f) noexcept {
  try {
    f();
    return SLICESORT_OK;
  } catch (...) {
    return report_exception();
  }
}

/// Calls f(call) with the execution that the caller chose; null is one thread of the host.
template <class F>
slicesort_status run(slicesort_exec exec, F const& f) noexcept {
  return catch_errors([&] {
    static constexpr slicesort_call defaults{};
    slicesort_call const& settings = exec != nullptr ? *exec : defaults;
    if (settings.required_bytes != nullptr) *settings.required_bytes = 0;
    if (settings.backend == SLICESORT_HOST) {
      host_call call(settings);
      return f(call);
    }
    if (settings.backend != SLICESORT_CUDA)
      bindings::throw_invalid("call.backend is " + std::to_string(settings.backend) +
                              ", must be SLICESORT_HOST or SLICESORT_CUDA");
#ifdef __CUDACC__
    cuda_call call(settings);
    f(call);
#else
    throw unsupported("call.backend is SLICESORT_CUDA, but this library was built without CUDA");
#endif
  });
}

/// Converts a tensor. Throws if it is null.
inline array tensor(char const* name, slicesort_tensor const* view) {
  using bindings::dtype;
  static constexpr dtype types[] = {dtype::other, dtype::f32, dtype::f64,    dtype::f16,
                                    dtype::bf16,  dtype::u8,  dtype::u16,    dtype::i32,
                                    dtype::u32,   dtype::i64, dtype::boolean};
  constexpr auto type_count = static_cast<std::int32_t>(sizeof(types) / sizeof(types[0]));
  if (view == nullptr) bindings::throw_invalid(std::string(name) + " must not be null");
  if (view->rank < 0 || view->rank > 4)
    bindings::throw_invalid(std::string(name) + " has " + std::to_string(view->rank) +
                            " axes, must have 1 to 4");
  array result;
  result.name = name;
  result.data = view->data;
  result.type = view->dtype >= 0 && view->dtype < type_count ? types[view->dtype] : dtype::other;
  result.rank = view->rank;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(view->rank); ++axis) {
    result.extents[axis] = view->shape[axis];
    result.strides[axis] = view->strides[axis];
  }
  return result;
}
inline optional_array tensor_or_none(char const* name, slicesort_tensor const* view) {
  if (view == nullptr) return std::nullopt;
  return tensor(name, view);
}

/// Returns the policy, or its default if it is null.
inline std::string policy(char const* text, char const* default_text) {
  return text != nullptr ? text : default_text;
}

/// Returns the options of a call that requires them.
template <class Options>
Options const& required(Options const* options) {
  if (options == nullptr) bindings::throw_invalid("options must not be null");
  return *options;
}

}  // namespace c_interface
