// SPDX-License-Identifier: Apache-2.0
// Code that all operators share: converts the caller's views, checks a call and runs it. Includes
// the public headers that every operator's signatures need.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class T>
constexpr void require_dtype() {
  static_assert(is_dtype<T>,
                "slicesort: the element type must be float, double, slicesort::float16, "
                "slicesort::bfloat16, or have a slicesort::dtype_traits specialization.");
}

// Converts an input to a view.
template <class X>
auto input(X const& x) {
  using view = view_of_rank3_t<X>;
  using T = typename view::value_type;
  require_dtype<T>();
  return tensor3<T const>(view(x));
}

// Converts an input that must have elements T. Returns the right type even for a wrong argument, so
// the static_assert is the only compiler error.
template <class T, template <class> class Tensor, class U>
Tensor<T const> of_element(Tensor<U const> view) {
  static_assert(std::is_same_v<T, U>,
                "slicesort: input and output must have the same element type.");
  if constexpr (std::is_same_v<T, U>)
    return view;
  else
    return {};
}
template <class T, class X>
tensor3<T const> input_of(X const& x) {
  return of_element<T>(input(x));
}

// Returns true if the view can be an output of elements T; otherwise a static_assert fails.
template <class T, class View>
constexpr bool is_output() {
  constexpr bool writable = !std::is_const_v<typename View::element_type>;
  constexpr bool same = std::is_same_v<typename View::value_type, T>;
  static_assert(writable, "slicesort: an output view must not be const.");
  static_assert(same, "slicesort: input and output must have the same element type.");
  return writable && same;
}
// Converts an output of elements T to a view.
template <class T, class Y>
tensor3<T> output(Y const& y) {
  using view = view_of_rank3_t<Y>;
  if constexpr (is_output<T, view>())
    return view(y);
  else
    return {};
}

// Conversions for stacks, [factors or states, batch, length, channels]. A view of rank 3 is a stack
// of one tensor.
template <class X>
auto input_stack(X const& x) {
  using view = view_of_stack_t<X>;
  using T = typename view::value_type;
  require_dtype<T>();
  return tensor_stack<T const>(to_stack(x));
}
template <class T, class X>
tensor_stack<T const> input_stack_of(X const& x) {
  return of_element<T>(input_stack(x));
}
template <class T, class Y>
tensor_stack<T> output_stack(Y const& y) {
  if constexpr (is_output<T, view_of_stack_t<Y>>())
    return to_stack(y);
  else
    return {};
}

// Conversions for attention, [batch, heads, length, channels].
template <class T, class X>
tensor4<T const> input_heads_of(X const& x) {
  using view = view_of_heads_t<X>;
  require_dtype<typename view::value_type>();
  return of_element<T>(tensor4<typename view::value_type const>(view(x)));
}
template <class T, class Y>
tensor4<T> output_heads(Y const& y) {
  using view = view_of_heads_t<Y>;
  if constexpr (is_output<T, view>())
    return view(y);
  else
    return {};
}

// Checks the input and output of a call that moves rows: equal shapes, no partial overlap.
inline void check_transfer(checker& c, view_info const& source, view_info const& target,
                           tensor1<index_t const> lengths) {
  c.view(source);
  c.view(target);
  c.same_extents(target, source.name, source.extents.tensor());
  c.lengths(lengths, source.extents.tensor());
  c.no_overlap(target, source, true);
  c.rows_countable(source);
}

// Checks the saved permutation of a call that moves rows.
inline void check_permutation(checker& c, view_info const& perm, view_info const& source,
                              view_info const& target) {
  c.view(perm);
  c.same_extents(perm, source.name, source.extents.tensor());
  c.index_fits(perm, source.extents.length);
  c.no_overlap(perm, source);
  c.no_overlap(perm, target);
}

// Parameters of a forward call of x -> y; `config` initializes the leading members.
template <class Op, class X, class Y, class... Config>
auto make_forward_params(X const& x, Y const& y, forward_options const& options,
                         Config const&... config) {
  auto const view = input(x);
  using T = typename decltype(view)::value_type;
  typename Op::template forward<T> params{config...};
  params.x = view;
  params.y = output<T>(y);
  params.lengths = options.lengths;
  return params;
}
// Parameters of a backward call of dy -> dx; `config` initializes the leading members.
template <class Op, class DY, class DX, class... Config>
auto make_backward_params(DY const& dy, DX const& dx, backward_options const& options,
                          Config const&... config) {
  auto const view = input(dy);
  using T = typename decltype(view)::value_type;
  typename Op::template backward<T> params{config...};
  params.dy = view;
  params.dx = output<T>(dx);
  params.mode = options.mode;
  params.lengths = options.lengths;
  return params;
}

struct transfer_info {
  view_info source, target;
};
template <class Params>
auto describe_transfer(Params const& params) -> decltype(params.y.data(), transfer_info{}) {
  return {describe("x", params.x, false), describe("y", params.y, true)};
}
template <class Params>
auto describe_transfer(Params const& params) -> decltype(params.dx.data(), transfer_info{}) {
  return {describe("dy", params.dy, false), describe("dx", params.dx, true)};
}
// Checks the views and lengths of a call that moves rows. Returns the descriptions of its input and
// output for further checks by the operator.
template <class Params>
transfer_info check_transfer(checker& c, Params const& params) {
  transfer_info const info = describe_transfer(params);
  check_transfer(c, info.source, info.target, params.lengths);
  return info;
}

// Checks a call that moves rows by a saved permutation.
template <class Params>
void check_permuting_call(checker& c, Params const& params) {
  auto const [source, target] = check_transfer(c, params);
  check_permutation(c, describe("perm", params.state, false), source, target);
}

// Checks a shape without a tensor.
inline void check_extents(checker& c, view_info const& x) {
  c.shape(x);
  c.rows_countable(x);
}
template <class X>
extents3 extents_of(X const& x) {
  return view_of_rank3_t<X>(x).extents();
}

template <class Op, class T, class Exec>
std::size_t planned_bytes(Exec const& exec, typename Op::shape const& shape) {
  arena counting;
  implementation_for<Op, Exec>::template plan<T>(exec, shape, counting);
  return counting.bytes();
}

// Returns the bytes of workspace after rules(checker) and the rules of the backend. The call
// applies the same rules.
template <class Op, class T, class Exec, class Rules>
outcome_size<Exec> workspace_bytes(Exec const& exec, char const* name,
                                   typename Op::shape const& shape, Rules const& rules) {
  require_dtype<T>();
  checker c(name, can_read_memory<Exec>);
  rules(c);
  implementation_for<Op, Exec>::check(policy_of(exec), c);
  if constexpr (is_dry_run<Exec>) {
    return c.result();
  } else {
    enforce(c.result());
    return planned_bytes<Op, T>(exec, shape);
  }
}

// Base class of operators whose workspace depends on the shape of x alone. `Names` has the name of
// the size query.
template <class Op, class Names = Op>
class sized_by_shape {
 public:
  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only. A
  /// shape that every call rejects is rejected here.
  template <class T, class Exec>
  static outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x) {
    return detail::workspace_bytes<Op, T>(exec, Names::workspace_bytes_name, x, [&](checker& c) {
      check_extents(c, describe_shape("x", x));
    });
  }
  /// The same for the view of an x of this element type and shape.
  template <class Exec, class X, if_policy<Exec> = 0, if_view_of_rank3<X> = 0>
  static outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x) {
    return workspace_bytes<element_of_rank3<X>>(exec, extents_of(x));
  }
  SLICESORT_REFUSE_OTHER_SIZES;
};

// Checks a call and runs it. Applies rules(checker) to the arguments, then the rules of the
// backend, and checks the workspace last, because its size depends on the arguments. A growable
// workspace grows only if all other checks pass. Returns early if the call writes nothing. Errors
// begin with `name`.
template <class Op, class Exec, class Params, class Rules>
outcome<Exec> call(Exec const& exec, Params const& params, workspace memory, Rules const& rules,
                   char const* name = Params::name) {
  using T = typename Params::element;
  using backend = implementation_for<Op, Exec>;
  checker c(name, can_read_memory<Exec>);
  rules(c);
  backend::check(policy_of(exec), c);
  c.no_overlap_with_lengths();
  std::size_t const required = c.ok() ? planned_bytes<Op, T>(policy_of(exec), params.shape()) : 0;
  if constexpr (is_dry_run<Exec>) {
    if (memory.grow == nullptr) c.memory(memory, required);
    return c.result();
  } else {
    if (memory.grow != nullptr && c.ok() && c.has_outputs() && memory.bytes < required)
      memory = memory.grow(memory.owner, required);
    if (memory.grow == nullptr || c.has_outputs()) c.memory(memory, required);
    enforce(c.result());
    if (!c.has_outputs()) return;
    if constexpr (std::is_same_v<Params, typename Op::template forward<T>>)
      backend::forward(exec, params, memory);
    else
      backend::backward(exec, params, memory);
  }
}
// Checks and runs a call of x -> y that has no rules of its own.
template <class Op, class Exec, class Params>
outcome<Exec> call(Exec const& exec, Params const& params, workspace memory) {
  return call<Op>(exec, params, memory, [&](checker& c) { check_transfer(c, params); });
}

SLICESORT_DETAIL_END
