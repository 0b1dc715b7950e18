// SPDX-License-Identifier: Apache-2.0
/// Options of a call, its last argument: a single option, or several in braces, in any order:
/// `op.backward(exec, dy, perm, dx, memory, {lengths(rows), grad_mode::accumulate})`.
#pragma once

#include <slicesort/tensor_view.hpp>
#include <slicesort/view.hpp>

#include <cstdint>
#include <iterator>
#include <type_traits>

SLICESORT_TYPES_BEGIN

/// `overwrite`: `dx = gradient` (the default). `accumulate`: `dx += gradient`; 16-bit types add in
/// float, and every NaN result is the same canonical NaN.
enum class grad_mode { overwrite, accumulate };

/// Dropout of attention weights (Srivastava et al., *Dropout*, 2014): a weight becomes 0 with
/// probability `rate`, in `[0, 1)`, otherwise it is divided by `1 - rate`. The weights are
/// normalized by the sum before dropout. Which weights are dropped depends only on the seed, the
/// sample, the head, the query and the key, and is the same on every backend. Use another seed for
/// each training step.
///
/// To split a batch or its heads over several calls that drop the same weights as one call, set
/// `first_sample` and `first_head`, and, if the heads are split, `heads`.
struct dropout {
  double rate = 0;
  std::uint64_t seed = 0;
  index_t first_sample = 0, first_head = 0;  ///< position of the call in the whole batch
  index_t heads = 0;  ///< heads of the whole tensor; 0: as many as in the call
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// `accepts` is true if each argument, in any order, converts to exactly one of the options, and no
// two convert to the same one.
template <class Argument, class... Options>
inline constexpr int matching_options = (0 + ... +
                                         int{std::is_convertible_v<Argument const&, Options>});
template <class Option, class... Arguments>
inline constexpr int matching_arguments = (0 + ... +
                                           int{std::is_convertible_v<Arguments const&, Option>});
template <class... Options>
struct in_any_order {
  template <class... Arguments>
  static constexpr bool accepts = ((matching_options<Arguments, Options...> == 1) && ...) &&
                                  ((matching_arguments<Options, Arguments...> <= 1) && ...);
};

// Returns the argument that converts to `Option`, or the option's default.
template <class Option>
constexpr Option choose() {
  return Option{};
}
template <class Option, class First, class... Rest>
constexpr Option choose(First const& first, Rest const&... rest) {
  if constexpr (std::is_convertible_v<First const&, Option>)
    return first;
  else
    return choose<Option>(rest...);
}

template <class View>
using if_lengths = std::enable_if_t<std::is_convertible_v<View, tensor1<index_t const>>, int>;

// First of `Types` for which `Is` is true, or the default.
template <template <class> class Is, class Default, class... Types>
struct first_matching {
  using type = Default;
};
template <template <class> class Is, class Default, class First, class... Rest>
struct first_matching<Is, Default, First, Rest...>
    : std::conditional_t<Is<First>::value, std::enable_if<true, First>,
                         first_matching<Is, Default, Rest...>> {};
template <template <class> class Is, class Default, class... Types>
using first_matching_t = typename first_matching<Is, Default, Types...>::type;

// Returns the number of valid leading rows of a sample. It is clamped, because device memory is not
// checked and another thread may write to host memory.
SLICESORT_HD inline index_t valid_rows(tensor1<index_t const> lengths, index_t batch,
                                       index_t length) {
  if (lengths.data() == nullptr) return length;
  index_t const n = lengths(batch);
  return n < 0 ? 0 : n > length ? length : n;
}

// Converts a view, an lvalue container or one lvalue index_t to a view of lengths.
template <class Lengths>
constexpr tensor1<index_t const> lengths_of(std::remove_reference_t<Lengths>& lengths) {
  if constexpr (std::is_convertible_v<Lengths, tensor1<index_t const>>) {
    return lengths;
  } else {
    static_assert(std::is_lvalue_reference_v<Lengths>,
                  "slicesort: lengths are read by the call: give them a name before it.");
    if constexpr (std::is_same_v<std::decay_t<Lengths>, index_t>)
      return {&lengths, 1};
    else
      return {data_of(lengths), static_cast<index_t>(std::size(lengths))};
  }
}

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// Number of valid leading rows of each sample, `0 <= lengths[b] <= length`. Without lengths all
/// rows are valid. Converts from `lengths(rows)` or a view.
struct row_lengths {
  tensor1<index_t const> lengths{};

  SLICESORT_ABI_TAG row_lengths() = default;
  template <class Rows, detail::if_lengths<Rows> = 0>
  SLICESORT_ABI_TAG constexpr row_lengths(Rows const& rows) : lengths(rows) {}
};

/// Number of valid leading keys and values (`lengths[b]`) and queries (`query_lengths[b]`) of each
/// sample. Converts from `lengths(keys, queries)`, or from `row_lengths`.
struct key_and_query_lengths {
  tensor1<index_t const> lengths{}, query_lengths{};

  SLICESORT_ABI_TAG key_and_query_lengths() = default;
  SLICESORT_ABI_TAG constexpr key_and_query_lengths(row_lengths keys) : lengths(keys.lengths) {}
  template <class Keys, detail::if_lengths<Keys> = 0>
  SLICESORT_ABI_TAG constexpr key_and_query_lengths(Keys const& keys,
                                                    tensor1<index_t const> queries = {})
      : lengths(keys), query_lengths(queries) {}
};

/// The lengths of a call: a view `tensor1<index_t const>`, a container of `index_t`, or one
/// `index_t` for a batch of one. They are not copied, and must live until the call has read them.
template <class Rows>
SLICESORT_ABI_TAG constexpr row_lengths lengths(Rows&& rows) {
  return detail::lengths_of<Rows>(rows);
}
template <class Keys, class Queries>
SLICESORT_ABI_TAG constexpr key_and_query_lengths lengths(Keys&& keys, Queries&& queries) {
  return {detail::lengths_of<Keys>(keys), detail::lengths_of<Queries>(queries)};
}

/// The `grad_mode` of all gradients of a call.
struct mode_option {
  grad_mode mode;
  SLICESORT_ABI_TAG constexpr mode_option(grad_mode m = grad_mode::overwrite) : mode(m) {}
};
/// The `dropout` of a call.
struct dropout_option {
  slicesort::dropout dropout;
  SLICESORT_ABI_TAG constexpr dropout_option(slicesort::dropout d = {}) : dropout(d) {}
};

/// Any of `Options`, in any order; omitted options have their defaults. Inherits the fields of all
/// `Options`.
template <class... Options>
struct options_of : Options... {
  template <
      class... Arguments,
      std::enable_if_t<detail::in_any_order<Options...>::template accepts<Arguments...>, int> = 0>
  SLICESORT_ABI_TAG constexpr options_of(Arguments const&... arguments)
      : Options(detail::choose<Options>(arguments...))... {}
};

/// Options of forward. Permutation operators copy rows past a length unchanged.
using forward_options = options_of<row_lengths>;
/// Options of backward; lengths must be the same as in forward.
using backward_options = options_of<mode_option, row_lengths>;
/// Options of attention's forward. Rows past a length are not read; outputs of queries past their
/// length are zero.
using attention_options = options_of<key_and_query_lengths, dropout_option>;
/// Options of attention's backward; lengths and dropout must be the same as in forward.
using attention_backward_options = options_of<mode_option, key_and_query_lengths, dropout_option>;

SLICESORT_TYPES_END
