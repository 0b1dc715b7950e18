// SPDX-License-Identifier: Apache-2.0
/// Options of a call, which are always its last argument: one of them, or several in braces, in any
/// order. `op.backward(exec, dy, perm, dx, memory, {lengths(rows), grad_mode::accumulate})`.
#pragma once

#include <slicesort/tensor_view.hpp>
#include <slicesort/view.hpp>

#include <cstdint>
#include <iterator>
#include <type_traits>

SLICESORT_TYPES_BEGIN

/// `overwrite`: `dx = gradient` (the default). `accumulate`: `dx += gradient`; 16-bit types add in
/// float, and a sum that is no number is one and the same NaN.
enum class grad_mode { overwrite, accumulate };

/// Dropout of attention's weights: one becomes 0 with probability `rate`, in `[0, 1)`, or is
/// divided by `1 - rate`; the sum that normalizes them still counts all. Which ones are kept
/// follows from the seed, the sample, the head, the query and the key alone, the same on every
/// backend, instruction set and thread. Another step of training takes another seed (Srivastava et
/// al., *Dropout*, 2014).
///
/// A call on a part of a batch, or of its heads, keeps the weights that a call on the whole keeps
/// if it says where the part begins, and, for a part of the heads, how many there are.
struct dropout {
  double rate = 0;
  std::uint64_t seed = 0;
  index_t first_sample = 0, first_head = 0;  ///< of the call, counted in the whole
  index_t heads = 0;                         ///< of the whole; 0: those of the call
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// Arguments in any order, each known by its type: true if each is exactly one of the `Wanted`, and
// none of these is given twice.
template <class Argument, class... Wanted>
inline constexpr int times_wanted = (0 + ... + int{std::is_convertible_v<Argument const&, Wanted>});
template <class Wanted, class... Arguments>
inline constexpr int times_given = (0 + ... + int{std::is_convertible_v<Arguments const&, Wanted>});
template <class... Wanted>
struct in_any_order {
  template <class... Arguments>
  static constexpr bool fit = ((times_wanted<Arguments, Wanted...> == 1) && ...) &&
                              ((times_given<Wanted, Arguments...> <= 1) && ...);
};

// The argument that is the `Wanted` one, or its default.
template <class Wanted>
constexpr Wanted choose() {
  return Wanted{};
}
template <class Wanted, class First, class... Rest>
constexpr Wanted choose(First const& first, Rest const&... rest) {
  if constexpr (std::is_convertible_v<First const&, Wanted>)
    return first;
  else
    return choose<Wanted>(rest...);
}

template <class View>
using if_lengths = std::enable_if_t<std::is_convertible_v<View, tensor1<index_t const>>, int>;

// The first of some types that is one of these, or the default.
template <template <class> class Is, class Default, class... Types>
struct first_that {
  using type = Default;
};
template <template <class> class Is, class Default, class First, class... Rest>
struct first_that<Is, Default, First, Rest...>
    : std::conditional_t<Is<First>::value, std::enable_if<true, First>,
                         first_that<Is, Default, Rest...>> {};
template <template <class> class Is, class Default, class... Types>
using first_that_t = typename first_that<Is, Default, Types...>::type;

// Lengths in a view, in a container that has a name, or of a batch of one.
template <class Given>
constexpr tensor1<index_t const> lengths_of(std::remove_reference_t<Given>& given) {
  if constexpr (std::is_convertible_v<Given, tensor1<index_t const>>) {
    return given;
  } else {
    static_assert(std::is_lvalue_reference_v<Given>,
                  "slicesort: lengths are read by the call: give them a name before it.");
    if constexpr (std::is_same_v<std::decay_t<Given>, index_t>)
      return {&given, 1};
    else
      return {data_of(given), static_cast<index_t>(std::size(given))};
  }
}

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// `lengths[b]` leading rows of sample `b` are valid, `0 <= lengths[b] <= length`; without lengths
/// every row is. Made by `lengths(rows)`, or a view of them.
struct row_lengths {
  tensor1<index_t const> lengths{};

  SLICESORT_ABI_TAG row_lengths() = default;
  template <class Rows, detail::if_lengths<Rows> = 0>
  SLICESORT_ABI_TAG constexpr row_lengths(Rows const& rows) : lengths(rows) {}
};

/// `lengths[b]` leading keys and values of sample `b` are valid, and `query_lengths[b]` queries.
/// Made by `lengths(keys, queries)`, or of keys alone as `row_lengths` are.
struct key_and_query_lengths {
  tensor1<index_t const> lengths{}, query_lengths{};

  SLICESORT_ABI_TAG key_and_query_lengths() = default;
  SLICESORT_ABI_TAG constexpr key_and_query_lengths(row_lengths keys) : lengths(keys.lengths) {}
  template <class Keys, detail::if_lengths<Keys> = 0>
  SLICESORT_ABI_TAG constexpr key_and_query_lengths(Keys const& keys,
                                                    tensor1<index_t const> queries = {})
      : lengths(keys), query_lengths(queries) {}
};

/// The lengths of a call, each a view `tensor1<index_t const>`, a container of `index_t`, or the
/// `index_t` of a batch of one, read where it is.
template <class Rows>
SLICESORT_ABI_TAG constexpr row_lengths lengths(Rows&& rows) {
  return detail::lengths_of<Rows>(rows);
}
template <class Keys, class Queries>
SLICESORT_ABI_TAG constexpr key_and_query_lengths lengths(Keys&& keys, Queries&& queries) {
  return {detail::lengths_of<Keys>(keys), detail::lengths_of<Queries>(queries)};
}

/// The `grad_mode` of a call, which holds for all its gradients.
struct mode_option {
  grad_mode mode;
  SLICESORT_ABI_TAG constexpr mode_option(grad_mode m = grad_mode::overwrite) : mode(m) {}
};
/// The `dropout` of a call.
struct dropout_option {
  slicesort::dropout dropout;
  SLICESORT_ABI_TAG constexpr dropout_option(slicesort::dropout d = {}) : dropout(d) {}
};

/// Options that a call takes: some of these, in any order. Their fields are its own, too.
template <class... Options>
struct options_of : Options... {
  template <class... Given,
            std::enable_if_t<detail::in_any_order<Options...>::template fit<Given...>, int> = 0>
  SLICESORT_ABI_TAG constexpr options_of(Given const&... given)
      : Options(detail::choose<Options>(given...))... {}
};

/// Options of forward. Permutation operators copy the rows past a length through.
using forward_options = options_of<row_lengths>;
/// Options of backward; lengths must be those of forward.
using backward_options = options_of<mode_option, row_lengths>;
/// Options of attention's forward. Rows past a length are not read. The output of a query past its
/// length is zero.
using attention_options = options_of<key_and_query_lengths, dropout_option>;
/// Options of attention's backward; lengths and dropout must be those of forward.
using attention_backward_options = options_of<mode_option, key_and_query_lengths, dropout_option>;

SLICESORT_TYPES_END
