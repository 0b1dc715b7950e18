// SPDX-License-Identifier: Apache-2.0
// Compares sparse_mix with expected results, for every overload, layout and choice of checkpoints.
// Returns an empty string, or a line to reproduce the failure.
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

  mix_tensors(mix_problem<T> const& p, stack_extents saved, memory_layout layout)
      : x(p.x, layout.strides(p.e, 0), layout.shift(0)),
        dy(p.dy, layout.strides(p.e, 1), layout.shift(1)),
        y(p.e, layout.strides(p.e, 2), layout.shift(2)),
        dx(p.dx_before, layout.strides(p.e, 3), layout.shift(3)),
        w(p.weight_extents(), p.w, share_samples(p, layout.strides(p.weight_extents(), 4)),
          layout.shift(4)),
        states(saved, layout.strides(saved, 5), layout.shift(5)),
        dw(p.weight_extents(), p.dw_before, layout.strides(p.weight_extents(), 6),
           layout.shift(6)) {}

  bool padding_intact() const {
    return x.padding_intact() && dy.padding_intact() && y.padding_intact() && dx.padding_intact() &&
           w.padding_intact() && states.padding_intact() && dw.padding_intact();
  }

 private:
  static stack_strides share_samples(mix_problem<T> const& p, stack_strides s) {
    if (p.shared_weights) s.batch = 0;
    return s;
  }
};

// Returns the expected states for the given checkpoints.
template <class T>
std::vector<T> expected_states_of(mix_problem<T> const& p, ss::checkpoints saved) {
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
  auto const record_error = [&](std::string const& message) {
    if (error.empty()) error = message;
  };
  with_mix(p, saved, [&](auto const& op) {
    std::size_t const bytes = op.template workspace_bytes<T>(exec, p.e, p.weight_extents());
    std::size_t const offset = p.backend_seed() % 64;
    guarded_workspace forward_workspace(bytes, offset), backward_workspace(bytes, offset + 13, 0),
        unsaved_workspace(bytes, offset + 7, 0x7f);
    auto const lengths = view_of(p.lengths);
    ss::backward_options const backward{p.mode, lengths};
    stack_extents const state_extents = op.saved_extents(p.e, p.weight_extents());
    auto const expected_states = expected_states_of(p, saved);

    mix_tensors<T> saving(p, state_extents, layout), recomputing(p, state_extents, layout);
    op.forward(exec, saving.x.view(), saving.w.view(), saving.y.view(), {saving.states.view()},
               forward_workspace.get(), {lengths});
    record_error(mismatch("y", saving.y.contents().elements(), p.y.elements()));
    record_error(mismatch("states", saving.states.contents(), expected_states));
    op.backward(exec, saving.dy.view(), saving.x.view(), saving.w.view(), {saving.states.view()},
                saving.dx.view(), saving.dw.view(), backward_workspace.get(), backward);
    record_error(mismatch("dx", saving.dx.contents().elements(), p.dx.elements()));
    if (sums_keep_their_order) record_error(mismatch("dw", saving.dw.contents(), p.dw));

    op.forward(exec, recomputing.x.view(), recomputing.w.view(), recomputing.y.view(), ss::no_saved,
               unsaved_workspace.get(), {lengths});
    record_error(mismatch("y, nothing saved", recomputing.y.contents().elements(), p.y.elements()));
    op.backward(exec, recomputing.dy.view(), recomputing.w.view(), recomputing.dx.view(),
                forward_workspace.get(), backward);
    record_error(mismatch("dx alone", recomputing.dx.contents().elements(), p.dx.elements()));
    if (!saving.padding_intact() || !recomputing.padding_intact())
      record_error("wrote beside a tensor");
    if (!forward_workspace.red_zones_intact() || !backward_workspace.red_zones_intact() ||
        !unsaved_workspace.red_zones_intact())
      record_error("workspace overrun");
  });
  if (!error.empty())
    error += ": " + p.describe() + " every=" + std::to_string(saved.every) +
             " layout=" + std::to_string(layout.number) + describe_exec(exec);
  return error;
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_sparse_mix(linkage, T)                                   \
  linkage template std::string support::check_mix(mix_problem<T> const&, any_exec const&,  \
                                                  ss::checkpoints, memory_layout);         \
  linkage template void support::compute_expected(mix_problem<T>&);                        \
  linkage template support::mix_problem<T> support::normal_mix(                            \
      extents3, index_t, index_t, residual_kind, std::uint64_t, std::vector<index_t>);     \
  linkage template support::mix_problem<T> support::random_mix(extents3, index_t, index_t, \
                                                               residual_kind, std::uint64_t);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_sparse_mix)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_sparse_mix)
#endif
