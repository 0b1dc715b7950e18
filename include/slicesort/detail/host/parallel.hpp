// SPDX-License-Identifier: Apache-2.0
// Work of the host backend: numbered tasks shared among the policy's slots.
#pragma once

#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/tensor_view.hpp>

#include <atomic>

SLICESORT_DETAIL_BEGIN

// A reference to a host policy of any type: an operator is compiled once for all of them. Calls
// convert the policy where they enter the backend.
class host_exec {
 public:
  unsigned const threads;
  isa const instructions;

  template <class Policy>
  host_exec(Policy const& policy)  // implicit, since calls pass what the user passed
      : threads(policy.threads),
        instructions(policy.instructions),
        policy_(&policy),
        parallel_for_([](void const* exec, unsigned slots, slot_function f, void const* task) {
          static_cast<Policy const*>(exec)->parallel_for(slots,
                                                         [=](unsigned slot) { f(task, slot); });
        }) {}
  host_exec(host_exec const&) = default;

  // Calls f(slot) for every slot in [0, slots), each once.
  template <class F>
  void parallel_for(unsigned slots, F const& f) const {
    parallel_for_(
        policy_, slots,
        [](void const* task, unsigned slot) { (*static_cast<F const*>(task))(slot); }, &f);
  }

 private:
  using slot_function = void (*)(void const* task, unsigned slot);

  void const* policy_;
  void (*parallel_for_)(void const* policy, unsigned slots, slot_function, void const* task);
};

// Rules of a host execution policy.
inline void check_host(host_exec const& exec, checker& c) {
  if (exec.threads == 0) c.fail(error_kind::argument, "exec.threads is 0, must be at least 1");
  if (!isa_available(exec.instructions))
    c.fail(error_kind::argument,
           "exec.instructions is %s, which this processor or compiler lacks; must be one it has",
           isa_name(exec.instructions));
}

// The host backend of an operator; each specializes it in detail/<op>/host.hpp.
template <class Op>
struct host_implementation;

// Every operator that has a host backend runs on the host.
template <class Op>
struct implementation<Op, host_backend> : host_implementation<Op> {
  static void check(host_exec const& exec, checker& c) { check_host(exec, c); }
};

// Calls f(slot, task) for every task in [0, tasks). Slots take tasks as they become free; which
// slot runs a task never shows in the result.
template <class F>
void for_each_task(host_exec const& exec, index_t tasks, F const& f) {
  index_t const wanted =
      tasks < static_cast<index_t>(exec.threads) ? tasks : static_cast<index_t>(exec.threads);
  if (wanted <= 1) {
    for (index_t task = 0; task < tasks; ++task) f(0u, task);
    return;
  }
  std::atomic<index_t> next{0};
  exec.parallel_for(static_cast<unsigned>(wanted), [&](unsigned slot) {
    for (index_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
      f(slot, task);
  });
}

SLICESORT_DETAIL_END
