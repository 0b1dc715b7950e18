// SPDX-License-Identifier: Apache-2.0
// Interface between operators and backends. A backend specializes `implementation<Op, Backend>`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>

#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class>
inline constexpr bool always_false = false;

template <class Op, class Backend>
struct implementation {
  static_assert(
      always_false<Backend>,
      "slicesort: this operator has no implementation for this execution policy here. For "
      "exec::cuda include <slicesort/cuda.cuh> in a file that a CUDA compiler builds; in "
      "others pass exec::host or exec::host_on.");
};

template <class Exec, class = void>
struct backend_of {
  static_assert(
      always_false<Exec>,
      "slicesort: the first argument must be an execution policy: exec::host, exec::host_on "
      "or exec::cuda.");
};
template <class Exec>
struct backend_of<Exec, decltype(void(sizeof(typename Exec::backend)))> {
  using type = typename Exec::backend;
};

template <class Exec>
inline constexpr bool is_dry_run = false;
template <class Exec>
inline constexpr bool is_dry_run<exec::dry_run<Exec>> = true;

// Result types of a call and of a size query. A dry run returns a status instead.
template <class Exec, class Result = void>
using outcome = std::conditional_t<is_dry_run<Exec>, status, Result>;
template <class Exec>
using outcome_size = outcome<Exec, std::size_t>;

// Execution policy of a call; for a dry run, the policy to check.
template <class Exec>
Exec const& policy_of(Exec const& exec) {
  return exec;
}
template <class Exec>
Exec const& policy_of(exec::dry_run<Exec> const& dry) {
  return dry.exec;
}

// True if the calling thread may read the memory of a call's views.
template <class Exec>
inline constexpr bool can_read_memory = backend_of<Exec>::type::host_memory;

template <class Op, class Exec>
using implementation_for = implementation<Op, typename backend_of<Exec>::type>;

// Base class of implementations that need no workspace.
struct needs_no_workspace {
  template <class T, class Exec, class Shape, class Arena>
  static void plan(Exec const&, Shape const&, Arena&) {}
};

SLICESORT_DETAIL_END
