// SPDX-License-Identifier: Apache-2.0
// Parallel loops of the host backend over numbered tasks.
#pragma once

#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/tensor_view.hpp>

#include <atomic>

SLICESORT_DETAIL_BEGIN

// Type-erased reference to a host policy. Each operator is compiled once for all policies.
class host_exec {
 public:
  unsigned const threads;
  isa const instructions;

  template <class Policy>
  host_exec(Policy const& policy)  // implicit: the public API passes the user's policy
      : threads(policy.threads),
        instructions(policy.instructions),
        policy_(&policy),
        parallel_for_([](void const* exec, unsigned n, thread_function f, void const* task) {
          static_cast<Policy const*>(exec)->parallel_for(n,
                                                         [=](unsigned thread) { f(task, thread); });
        }) {}
  host_exec(host_exec const&) = default;

  template <class F>
  void parallel_for(unsigned n, F const& f) const {
    parallel_for_(
        policy_, n,
        [](void const* task, unsigned thread) { (*static_cast<F const*>(task))(thread); }, &f);
  }

 private:
  using thread_function = void (*)(void const* task, unsigned thread);

  void const* policy_;
  void (*parallel_for_)(void const* policy, unsigned n, thread_function, void const* task);
};

inline void check_host(host_exec const& exec, checker& c) {
  if (exec.threads == 0) c.fail(error_kind::argument, "exec.threads is 0, must be at least 1");
  if (!is_isa_available(exec.instructions))
    c.fail(error_kind::argument,
           "exec.instructions is %s, which this processor or compiler lacks; must be one it has",
           isa_name(exec.instructions));
}

// Host backend of an operator, specialized in detail/<op>/host.hpp.
template <class Op>
struct host_implementation;

template <class Op>
struct implementation<Op, host_backend> : host_implementation<Op> {
  static void check(host_exec const& exec, checker& c) { check_host(exec, c); }
};

// Calls f(thread, task) for every task in [0, tasks). Threads fetch tasks dynamically. Results do
// not depend on the assignment.
template <class F>
void for_each_task(host_exec const& exec, index_t tasks, F const& f) {
  index_t const threads =
      tasks < static_cast<index_t>(exec.threads) ? tasks : static_cast<index_t>(exec.threads);
  if (threads <= 1) {
    for (index_t task = 0; task < tasks; ++task) f(0u, task);
    clear_upper_halves();
    return;
  }
  std::atomic<index_t> next{0};
  exec.parallel_for(static_cast<unsigned>(threads), [&](unsigned thread) {
    for (index_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
      f(thread, task);
    clear_upper_halves();
  });
}

SLICESORT_DETAIL_END
