// SPDX-License-Identifier: Apache-2.0
// Compares sparse_mix with expected results, for every overload, layout and choice of checkpoints.
// Returns an empty string, or a line that tells how to reproduce the failure.
#pragma once

#include "operators/compiled_once.hpp"
#include "problem.hpp"
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/stacks.hpp"

#include <slicesort/sparse_mix.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace support {

// With -ffast-math, backends may sum in different orders.
#if defined(__FAST_MATH__)
inline constexpr bool sums_keep_their_order = false;
#else
inline constexpr bool sums_keep_their_order = true;
#endif

template <class T>
std::string mismatch(char const* name, std::vector<T> const& actual,
                     std::vector<T> const& expected) {
  if (actual.size() != expected.size()) return std::string(name) + " has the wrong size";
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (!same_bits(actual[i], expected[i]))
      return std::string(name) + "[" + std::to_string(i) + "] is " +
             std::to_string(decode(actual[i]).value) + ", must be " +
             std::to_string(decode(expected[i]).value);
  return {};
}

// The tensors of one call.
template <class T>
struct mix_tensors {
  strided_tensor<T> x, dy, y, dx;
  strided_stack<T> w, states, dw;

  mix_tensors(mix_problem<T> const& p, stack_extents saved, memory_layout l)
      : x(p.x, l.strides(p.e, 0), l.shift(0)),
        dy(p.dy, l.strides(p.e, 1), l.shift(1)),
        y(p.e, l.strides(p.e, 2), l.shift(2)),
        dx(p.dx_before, l.strides(p.e, 3), l.shift(3)),
        w(p.weight_extents(), p.w, shared(p, l.strides(p.weight_extents(), 4)), l.shift(4)),
        states(saved, l.strides(saved, 5), l.shift(5)),
        dw(p.weight_extents(), p.dw_before, l.strides(p.weight_extents(), 6), l.shift(6)) {}

  bool gaps_untouched() const {
    return x.gaps_untouched() && dy.gaps_untouched() && y.gaps_untouched() && dx.gaps_untouched() &&
           w.gaps_untouched() && states.gaps_untouched() && dw.gaps_untouched();
  }

 private:
  static stack_strides shared(mix_problem<T> const& p, stack_strides s) {
    if (p.shared_weights) s.batch = 0;
    return s;
  }
};

// Returns the expected states for the given checkpoints.
template <class T>
std::vector<T> saved_states_of(mix_problem<T> const& p, ss::checkpoints saved) {
  std::vector<T> elements;
  for (index_t s = 1; saved.every > 0 && s * saved.every < p.factors; ++s) {
    auto const& state = p.states[static_cast<std::size_t>(s * saved.every)].elements();
    elements.insert(elements.end(), state.begin(), state.end());
  }
  return elements;
}

template <class T>
std::string check_mix(mix_problem<T> const& p, any_exec const& exec,
                      ss::checkpoints saved = ss::save_all, memory_layout layout = {}) {
  std::string error;
  auto const note = [&](std::string const& message) {
    if (error.empty()) error = message;
  };
  with_mix(p, saved, [&](auto const& op) {
    std::size_t const bytes = op.template workspace_bytes<T>(exec, p.e, p.weight_extents());
    std::size_t const offset = p.number() % 64;
    guarded_workspace first(bytes, offset), second(bytes, offset + 13, 0),
        third(bytes, offset + 7, 0x7f);
    auto const lengths = view_of(p.lengths);
    ss::backward_options const backward{p.mode, lengths};
    stack_extents const extents = op.saved_extents(p.e, p.weight_extents());
    auto const expected_states = saved_states_of(p, saved);

    mix_tensors<T> t(p, extents, layout), u(p, extents, layout);
    op.forward(exec, t.x.view(), t.w.view(), t.y.view(), {t.states.view()}, first.get(), {lengths});
    note(mismatch("y", t.y.contents().elements(), p.y.elements()));
    note(mismatch("states", t.states.contents(), expected_states));
    op.backward(exec, t.dy.view(), t.x.view(), t.w.view(), {t.states.view()}, t.dx.view(),
                t.dw.view(), second.get(), backward);
    note(mismatch("dx", t.dx.contents().elements(), p.dx.elements()));
    if (sums_keep_their_order) note(mismatch("dw", t.dw.contents(), p.dw));

    op.forward(exec, u.x.view(), u.w.view(), u.y.view(), ss::no_saved, third.get(), {lengths});
    note(mismatch("y, nothing saved", u.y.contents().elements(), p.y.elements()));
    op.backward(exec, u.dy.view(), u.w.view(), u.dx.view(), first.get(), backward);
    note(mismatch("dx alone", u.dx.contents().elements(), p.dx.elements()));
    if (!t.gaps_untouched() || !u.gaps_untouched()) note("wrote beside a tensor");
    if (!first.red_zones_intact() || !second.red_zones_intact() || !third.red_zones_intact())
      note("workspace overrun");
  });
  if (!error.empty())
    error += ": " + p.describe() + " every=" + std::to_string(saved.every) +
             " layout=" + std::to_string(layout.number) + describe_exec(exec);
  return error;
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_sparse_mix(linkage, T)                                  \
  linkage template std::string support::check_mix(mix_problem<T> const&, any_exec const&, \
                                                  ss::checkpoints, memory_layout);        \
  linkage template void support::solve(mix_problem<T>&);                                  \
  linkage template support::mix_problem<T> support::normal_mix(                           \
      extents3, index_t, index_t, residual_kind, std::uint64_t, std::vector<index_t>);    \
  linkage template support::mix_problem<T> support::any_mix(extents3, index_t, index_t,   \
                                                            residual_kind, std::uint64_t);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_sparse_mix)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_sparse_mix)
#endif
