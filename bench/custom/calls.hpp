// SPDX-License-Identifier: Apache-2.0
// Detects the signatures of <slicesort/bench.hpp> that a user-defined operator has.
#pragma once

#include "../driver/case.hpp"

#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace bench {

// Execution policy that a user-defined operator receives, with the number of attention heads.
struct host : ss::exec::host {
  ss::index_t heads = 1;
};

template <class Op, class... A>
using forward_result = decltype(std::declval<Op&>().forward(std::declval<A>()...));
template <class Op, class... A>
using backward_result = decltype(std::declval<Op&>().backward(std::declval<A>()...));
template <class Op, class... A>
using saved_result = decltype(std::declval<Op&>().saved(std::declval<A>()...));
template <class Op, class... A>
using expected_result = decltype(std::declval<Op&>().expected(std::declval<A>()...));
template <class Op, class... A>
using expected_backward_result =
    decltype(std::declval<Op&>().expected_backward(std::declval<A>()...));
template <class Op>
using tolerance_result = decltype(static_cast<double>(std::declval<Op&>().tolerance));
template <class Op, class E>
using tolerance_of_result = decltype(double(std::declval<Op&>().tolerance(std::declval<E>())));
template <class Op, class E>
using flops_result = decltype(double(std::declval<Op&>().flops(std::declval<E>())));
template <class Op, class E>
using backward_flops_result =
    decltype(double(std::declval<Op&>().backward_flops(std::declval<E>())));

template <class Void, template <class...> class Result, class Op, class Arguments>
inline constexpr bool compiles = false;
template <template <class...> class Result, class Op, class... A>
inline constexpr bool compiles<std::void_t<Result<Op, A...>>, Result, Op, std::tuple<A...>> = true;
// True if the member can be called with the types of the tuple `Arguments`.
template <template <class...> class Result, class Op, class Arguments = std::tuple<>>
inline constexpr bool has = compiles<void, Result, Op, Arguments>;

// Backward and oracle are required unless `has_backward` or `has_oracle` is false.
template <class Op, class = void>
inline constexpr bool requires_backward = true;
template <class Op>
inline constexpr bool requires_backward<Op, std::enable_if_t<!Op::has_backward>> = false;
template <class Op, class = void>
inline constexpr bool requires_oracle = true;
template <class Op>
inline constexpr bool requires_oracle<Op, std::enable_if_t<!Op::has_oracle>> = false;

template <class... Tuples>
using concatenated = decltype(std::tuple_cat(std::declval<Tuples>()...));

template <class T, std::size_t Count>
using repeated = concatenated<std::array<T, Count>>;

// State type of an operator without `saved`.
struct empty_state {
  std::size_t bytes() const { return 0; }
};

template <class Void, class Op, class Inputs>
struct state_traits {
  static constexpr bool exists = false;
  using type = empty_state;
};
template <class Op, class... A>
struct state_traits<std::void_t<saved_result<Op, A...>>, Op, std::tuple<A...>> {
  static constexpr bool exists = true;
  using type = std::decay_t<saved_result<Op, A...>>;
};
template <class Op, class Inputs>
using state_of = state_traits<void, Op, Inputs>;

// Signatures with `Count` inputs of T: x, or q, k and v.
template <class Op, class T, std::size_t Count>
struct signatures {
  using inputs = repeated<ss::tensor3<T const>, Count>;
  using gradients = repeated<ss::tensor3<T>, Count>;
  using read_tensor = std::tuple<ss::tensor3<T const>>;
  using written_tensor = std::tuple<ss::tensor3<T>>;
  using exec = std::tuple<host const&>;

  static constexpr bool saves_state = state_of<Op, inputs>::exists;
  using state = typename state_of<Op, inputs>::type;
  using written_state = std::conditional_t<saves_state, std::tuple<state&>, std::tuple<>>;
  using read_state = std::conditional_t<saves_state, std::tuple<state const&>, std::tuple<>>;

  static constexpr bool has_inference =
      has<forward_result, Op, concatenated<exec, inputs, written_tensor>>;
  static constexpr bool has_training =
      has<forward_result, Op, concatenated<exec, inputs, written_tensor, written_state>>;
  // Backward without (short) or with (long) the inputs and the output of forward.
  static constexpr bool has_short_backward =
      has<backward_result, Op, concatenated<exec, read_tensor, read_state, gradients>>;
  static constexpr bool has_long_backward =
      has<backward_result, Op,
          concatenated<exec, read_tensor, inputs, read_tensor, read_state, gradients>>;
};
template <class Op, std::size_t Count>
struct oracle_signatures {
  using inputs = repeated<ss::tensor3<double const>, Count>;
  using read_tensor = std::tuple<ss::tensor3<double const>>;
  using gradients = repeated<ss::tensor3<double>, Count>;
  static constexpr bool has_forward =
      has<expected_result, Op, concatenated<inputs, std::tuple<ss::tensor3<double>>>>;
  static constexpr bool has_backward =
      has<expected_backward_result, Op, concatenated<read_tensor, inputs, gradients>>;
};

template <class Op, class T>
constexpr std::size_t input_count() {
  if (signatures<Op, T, 1>::has_inference || signatures<Op, T, 1>::has_training) return 1;
  if (signatures<Op, T, 3>::has_inference || signatures<Op, T, 3>::has_training) return 3;
  return 0;
}

// Rejects members whose signature matches no call, instead of ignoring them.
template <class Op, class T, std::size_t Count>
constexpr void check_signatures() {
  using calls = signatures<Op, T, Count>;
  using oracle = oracle_signatures<Op, Count>;
  static_assert(
      !calls::saves_state || calls::has_training,
      "slicesort::bench: an operator with saved(x) needs forward(exec, x, y, state), with "
      "what saved returned");
  static_assert(
      !requires_backward<Op> || calls::has_short_backward || calls::has_long_backward,
      "slicesort::bench: backward must be backward(exec, dy, dx) or backward(exec, dy, x, y, dx), with "
      "three inputs (exec, dy, q, k, v, y, dq, dk, dv); with saved(x) or saved(q, k, v), the state "
      "comes before the gradients that are written. An operator without backward says so: static "
      "constexpr bool has_backward = false;");
  static_assert(!requires_oracle<Op> || oracle::has_forward,
                "slicesort::bench: expected must take tensor3<double const> for every input and "
                "tensor3<double> for y. An operator without an oracle says so: static constexpr "
                "bool has_oracle = false;");
  static_assert(!requires_oracle<Op> || !requires_backward<Op> || oracle::has_backward,
                "slicesort::bench: expected_backward must take tensor3<double const> for dy and "
                "every input and tensor3<double> for every gradient");
}

// Bytes of saved state: its `bytes()`, or the bytes of a container's elements. The second argument,
// 0, prefers the first overload.
template <class State>
auto state_bytes(State const& s, int) -> decltype(static_cast<std::size_t>(s.bytes())) {
  return static_cast<std::size_t>(s.bytes());
}
template <class State>
auto state_bytes(State const& s, long) -> decltype(s.size() * sizeof(*s.data())) {
  return s.size() * sizeof(*s.data());
}

}  // namespace bench
