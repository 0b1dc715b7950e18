// SPDX-License-Identifier: Apache-2.0
// The forms of <slicesort/bench.hpp> that an operator has. A form is found by trying whether the
// call compiles.
#pragma once

#include "../driver/case.hpp"

#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace bench {

// Where a contestant runs, as the library's operators take it, and what attention must know.
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
using flops_result = decltype(double(std::declval<Op&>().flops(std::declval<E>())));
template <class Op, class E>
using backward_flops_result =
    decltype(double(std::declval<Op&>().backward_flops(std::declval<E>())));

template <class Void, template <class...> class Result, class Op, class Arguments>
inline constexpr bool compiles = false;
template <template <class...> class Result, class Op, class... A>
inline constexpr bool compiles<std::void_t<Result<Op, A...>>, Result, Op, std::tuple<A...>> = true;
// True if the operator has the member for arguments of a tuple's types.
template <template <class...> class Result, class Op, class Arguments = std::tuple<>>
inline constexpr bool has = compiles<void, Result, Op, Arguments>;

// False where the operator says that it has no backward, or no oracle: without a word of it, both
// are required.
template <class Op, class = void>
inline constexpr bool wants_backward = true;
template <class Op>
inline constexpr bool wants_backward<Op, std::enable_if_t<!Op::has_backward>> = false;
template <class Op, class = void>
inline constexpr bool wants_oracle = true;
template <class Op>
inline constexpr bool wants_oracle<Op, std::enable_if_t<!Op::has_oracle>> = false;

template <class... Tuples>
using joined = decltype(std::tuple_cat(std::declval<Tuples>()...));

template <class T, std::size_t Count>
using repeated = joined<std::array<T, Count>>;

// The state of an operator that saves nothing.
struct nothing_saved {
  std::size_t bytes() const { return 0; }
};

template <class Void, class Op, class Inputs>
struct state_or_nothing {
  static constexpr bool exists = false;
  using type = nothing_saved;
};
template <class Op, class... A>
struct state_or_nothing<std::void_t<saved_result<Op, A...>>, Op, std::tuple<A...>> {
  static constexpr bool exists = true;
  using type = std::decay_t<saved_result<Op, A...>>;
};
template <class Op, class Inputs>
using state_of = state_or_nothing<void, Op, Inputs>;

// The forms with `Count` inputs of T: one is x, three are q, k, v.
template <class Op, class T, std::size_t Count>
struct forms {
  using inputs = repeated<ss::tensor3<T const>, Count>;
  using gradients = repeated<ss::tensor3<T>, Count>;
  using from = std::tuple<ss::tensor3<T const>>;  // one tensor that is read
  using to = std::tuple<ss::tensor3<T>>;          // one that is written
  using where = std::tuple<host const&>;

  static constexpr bool saves = state_of<Op, inputs>::exists;
  using state = typename state_of<Op, inputs>::type;
  using written_state = std::conditional_t<saves, std::tuple<state&>, std::tuple<>>;
  using read_state = std::conditional_t<saves, std::tuple<state const&>, std::tuple<>>;

  static constexpr bool infers = has<forward_result, Op, joined<where, inputs, to>>;
  static constexpr bool trains = has<forward_result, Op, joined<where, inputs, to, written_state>>;
  // backward without and with what forward has read and written
  static constexpr bool short_backward =
      has<backward_result, Op, joined<where, from, read_state, gradients>>;
  static constexpr bool long_backward =
      has<backward_result, Op, joined<where, from, inputs, from, read_state, gradients>>;
};
template <class Op, std::size_t Count>
struct oracle_forms {
  using inputs = repeated<ss::tensor3<double const>, Count>;
  using from = std::tuple<ss::tensor3<double const>>;
  using to = repeated<ss::tensor3<double>, Count>;
  static constexpr bool forward =
      has<expected_result, Op, joined<inputs, std::tuple<ss::tensor3<double>>>>;
  static constexpr bool backward = has<expected_backward_result, Op, joined<from, inputs, to>>;
};

template <class Op, class T>
constexpr std::size_t count_of_inputs() {
  if (forms<Op, T, 1>::infers || forms<Op, T, 1>::trains) return 1;
  if (forms<Op, T, 3>::infers || forms<Op, T, 3>::trains) return 3;
  return 0;
}

// A member that no call fits must not be left out without a word.
template <class Op, class T, std::size_t Count>
constexpr void check_forms() {
  using f = forms<Op, T, Count>;
  using oracle = oracle_forms<Op, Count>;
  static_assert(!f::saves || f::trains,
                "slicesort::bench: an operator with saved(x) needs forward(on, x, y, state), with "
                "what saved returned");
  static_assert(
      !wants_backward<Op> || f::short_backward || f::long_backward,
      "slicesort::bench: backward must be backward(on, dy, dx) or backward(on, dy, x, y, dx), with "
      "three inputs (on, dy, q, k, v, y, dq, dk, dv); with saved(x) or saved(q, k, v), the state "
      "comes before the gradients that are written. An operator without backward says so: static "
      "constexpr bool has_backward = false;");
  static_assert(!wants_oracle<Op> || oracle::forward,
                "slicesort::bench: expected must take tensor3<double const> for every input and "
                "tensor3<double> for y. An operator without an oracle says so: static constexpr "
                "bool has_oracle = false;");
  static_assert(!wants_oracle<Op> || !wants_backward<Op> || oracle::backward,
                "slicesort::bench: expected_backward must take tensor3<double const> for dy and "
                "every input and tensor3<double> for every gradient");
}

// Bytes that a forward call saves: a container's elements, or what the state itself says.
template <class State>
auto bytes_of(State const& s, int) -> decltype(static_cast<std::size_t>(s.bytes())) {
  return static_cast<std::size_t>(s.bytes());
}
template <class State>
auto bytes_of(State const& s, long) -> decltype(s.size() * sizeof(*s.data())) {
  return s.size() * sizeof(*s.data());
}

}  // namespace bench
