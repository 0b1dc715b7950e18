// SPDX-License-Identifier: Apache-2.0
// Deleted overloads that turn a wrong argument list into one readable error. An operator ends its
// public section with SLICESORT_REFUSE_OTHER_CALLS. The overloads convert every argument, so valid
// calls prefer the operator's own functions. SFINAE ignores the overloads.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class Exec, class = void>
inline constexpr bool is_policy = false;
template <class Exec>
inline constexpr bool is_policy<Exec, decltype(void(sizeof(typename Exec::backend)))> = true;

// Last template parameter of every call: `if_policy<Exec> = 0`.
template <class Exec>
using if_policy = std::enable_if_t<is_policy<Exec>, int>;
template <class First>
using unless_policy = std::enable_if_t<!is_policy<First>, int>;

// Converts from any argument, including braces such as `{dq, {}, dv}`.
struct anything {
  template <class... T>
  constexpr anything(T const&...) {}
  constexpr anything(anything const&, anything const&, anything const& = {}, anything const& = {}) {
  }
};

SLICESORT_DETAIL_END

#define SLICESORT_NEEDS_POLICY                                                               \
  "slicesort: the first argument must be an execution policy: exec::host, exec::host_on or " \
  "exec::cuda."
#define SLICESORT_UP_TO_NINE_ARGUMENTS                                    \
  ::slicesort::detail::anything = {}, ::slicesort::detail::anything = {}, \
  ::slicesort::detail::anything = {}, ::slicesort::detail::anything = {}, \
  ::slicesort::detail::anything = {}, ::slicesort::detail::anything = {}, \
  ::slicesort::detail::anything = {}, ::slicesort::detail::anything = {}, \
  ::slicesort::detail::anything = {}
#define SLICESORT_REFUSE_OTHER(name, call)                                                           \
  template <class First = ::slicesort::detail::anything,                                             \
            ::slicesort::detail::unless_policy<First> = 0>                                           \
  SLICESORT_REFUSED(First, SLICESORT_NEEDS_POLICY)                                                   \
  name(First const&, SLICESORT_UP_TO_NINE_ARGUMENTS) const SLICESORT_REFUSAL;                        \
  template <class First, ::slicesort::detail::if_policy<First> = 0>                                  \
  SLICESORT_REFUSED(                                                                                 \
      First,                                                                                         \
      "slicesort: these arguments do not fit " call                                                  \
      ": an argument is missing, out of place or of another type (lengths are of index_t, that is, " \
      "std::int64_t).")                                                                              \
  name(First const&, SLICESORT_UP_TO_NINE_ARGUMENTS) const SLICESORT_REFUSAL

// Unsupported member function; `sentence` names its replacement.
#define SLICESORT_REFUSE_ALL(name, sentence)             \
  template <class First = ::slicesort::detail::anything> \
  SLICESORT_REFUSED(First, sentence)                     \
  name(First const&, SLICESORT_UP_TO_NINE_ARGUMENTS) const SLICESORT_REFUSAL

// A valid query passes a policy and views, or an element type, so these overloads never match it.
#define SLICESORT_REFUSE_OTHER_SIZES                                                        \
  template <class T, class First = ::slicesort::detail::anything,                           \
            ::slicesort::detail::unless_policy<First> = 0>                                  \
  static SLICESORT_REFUSED(First, SLICESORT_NEEDS_POLICY) workspace_bytes(                  \
      First const&, ::slicesort::detail::anything = {}, ::slicesort::detail::anything = {}) \
      SLICESORT_REFUSAL;                                                                    \
  template <class First, ::slicesort::detail::if_policy<First> = 0>                         \
  static SLICESORT_REFUSED(First,                                                           \
                           "slicesort: workspace_bytes takes views, or an element type "    \
                           "and extents: op.workspace_bytes<float>(exec, extents).")        \
      workspace_bytes(First const&, ::slicesort::detail::anything = {},                     \
                      ::slicesort::detail::anything = {}) SLICESORT_REFUSAL

// Takes the arguments of the operator's `forward` and `backward`, each list in parentheses.
#define SLICESORT_REFUSE_OTHER_TRANSFERS(forward_call, backward_call) \
  SLICESORT_REFUSE_OTHER(forward, "forward" forward_call);            \
  SLICESORT_REFUSE_OTHER(backward, "backward" backward_call)
#define SLICESORT_REFUSE_OTHER_CALLS(forward_call, backward_call) \
  SLICESORT_REFUSE_OTHER_TRANSFERS(forward_call, backward_call);  \
  SLICESORT_REFUSE_OTHER_SIZES
