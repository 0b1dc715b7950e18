// SPDX-License-Identifier: Apache-2.0
// What all operators' doors share: turning the caller's views into ours, checking a call, and
// running it. A door adds its operator's documentation and rules.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
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

// The view of an argument that is only read.
template <class X>
auto input(X const& x) {
  using view = view_of_rank3_t<X>;
  using T = typename view::value_type;
  require_dtype<T>();
  return tensor3<T const>(view(x));
}

// The view of an input beside another input of elements T. The returned type is right even if the
// argument is wrong, so that the static_assert is the only error that a compiler prints.
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

// Whether an argument can be written, as an output beside an input of elements T. If not, a
// static_assert says why.
template <class T, class View>
constexpr bool is_output() {
  constexpr bool writable = !std::is_const_v<typename View::element_type>;
  constexpr bool same = std::is_same_v<typename View::value_type, T>;
  static_assert(writable, "slicesort: an output view must not be const.");
  static_assert(same, "slicesort: input and output must have the same element type.");
  return writable && same;
}
// The view of an argument that is written, beside an input of elements T.
template <class T, class Y>
tensor3<T> output(Y const& y) {
  using view = view_of_rank3_t<Y>;
  if constexpr (is_output<T, view>())
    return view(y);
  else
    return {};
}

// Views of arguments that are stacks; a view of rank 3 is a stack of one.
template <class X>
auto input_stack(X const& x) {
  using view = view_of_stack_t<X>;
  using T = typename view::value_type;
  require_dtype<T>();
  return tensor_stack<T const>(view_of_stack<X>::of(x));
}
template <class T, class X>
tensor_stack<T const> input_stack_of(X const& x) {
  return of_element<T>(input_stack(x));
}
template <class T, class Y>
tensor_stack<T> output_stack(Y const& y) {
  if constexpr (is_output<T, view_of_stack_t<Y>>())
    return view_of_stack<Y>::of(y);
  else
    return {};
}

// Views of attention's arguments.
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

// The two views of a call that moves rows from one tensor to another.
template <class T>
struct transfer {
  using element = T;
  tensor3<T const> in;
  tensor3<T> out;
};
template <class X, class Y>
auto transfer_of(X const& x, Y const& y) {
  auto const in = input(x);
  using T = typename decltype(in)::value_type;
  return transfer<T>{in, output<T>(y)};
}

// Rules of a call that moves `in` to `out`: both sound, of one shape, not partly overlapping.
inline void check_transfer(checker& c, view_info const& in, view_info const& out,
                           tensor1<index_t const> lengths) {
  c.view(in);
  c.view(out);
  c.same_extents(out, in.name, in.extents.each());
  c.lengths(lengths, in.extents.each());
  c.no_overlap(out, in, true);
  c.rows_countable(in);
}

// Rules of a saved permutation in a call that moves `in` to `out`.
inline void check_permutation(checker& c, view_info const& perm, view_info const& in,
                              view_info const& out) {
  c.view(perm);
  c.same_extents(perm, in.name, in.extents.each());
  c.index_holds(perm, in.extents.length);
  c.no_overlap(perm, in);
  c.no_overlap(perm, out);
}

// Rules of a tensor's shape in a call that moves or mixes its rows.
inline void check_extents(checker& c, view_info const& x) {
  c.shape(x);
  c.rows_countable(x);
}

// The verdict on a question for the size of a workspace: first rules(checker) of the shapes and
// policies that it names, then the rules of the backend. They are those of the call, in its words.
template <class Op, class Exec, class Rules>
verdict check_shape(Exec const& on, char const* name, Rules const& rules) {
  checker c(name, reads_memory<Exec>);
  rules(c);
  implementation_for<Op, Exec>::check(on, c);
  return c.result();
}

// Bytes of workspace that calls of this shape need, which must have been checked.
template <class Op, class T, class Exec>
std::size_t planned_bytes(Exec const& on, typename Op::shape const& shape) {
  arena counting;
  implementation_for<Op, Exec>::template plan<T>(on, shape, counting);
  return counting.bytes();
}

// The outcome of a call's checks.
struct checked_call {
  verdict status;
  bool writes;  // true if an output has an element

  operator verdict() const { return status; }
};

// Checks a call: first rules(checker) of its arguments, then the rules of the backend, and last the
// workspace, whose size is known only for sound arguments.
template <class Op, class Exec, class Problem, class Rules>
checked_call check_call(Exec const& on, Problem const& p, workspace scratch, Rules const& rules) {
  checker c(p.name, reads_memory<Exec>);
  rules(c);
  implementation_for<Op, Exec>::check(on, c);
  if (c.ok()) c.memory(scratch, planned_bytes<Op, typename Problem::element>(on, p.shape()));
  return {c.result(), c.writes()};
}

// Runs a call that has been checked, or reports what is wrong. A call that writes nothing ends
// here, however large the other extents of its tensors are.
template <class Op, class Exec, class Problem>
void run_forward(Exec const& on, Problem const& p, workspace scratch, checked_call const& checked) {
  enforce(checked.status);
  if (checked.writes) implementation_for<Op, Exec>::forward(on, p, scratch);
}
template <class Op, class Exec, class Problem>
void run_backward(Exec const& on, Problem const& p, workspace scratch,
                  checked_call const& checked) {
  enforce(checked.status);
  if (checked.writes) implementation_for<Op, Exec>::backward(on, p, scratch);
}

SLICESORT_DETAIL_END
