// SPDX-License-Identifier: Apache-2.0
// Removes the element types that a suite does not test from every TEST_CASE_TEMPLATE. If
// SLICESORT_TEST_TYPES has fewer than all four types, CMakeLists.txt defines
// SLICESORT_TEST_WITHOUT_double, .. for the missing ones, and precompiled.hpp includes this header.
#pragma once

#include "compiled_once.hpp"

#include <doctest/doctest.h>

#include <tuple>
#include <type_traits>
#include <utility>

namespace support {

// std::tuple<Types...> without the untested types.
template <class... Types>
using tested_types = decltype(std::tuple_cat(
    std::declval<std::conditional_t<is_untested<Types>, std::tuple<>, std::tuple<Types>>>()...));

}  // namespace support

// The definition is doctest's, except for the list of types.
#undef DOCTEST_TEST_CASE_TEMPLATE_IMPL
#define DOCTEST_TEST_CASE_TEMPLATE_IMPL(dec, T, anon, ...)                                      \
  DOCTEST_TEST_CASE_TEMPLATE_DEFINE_IMPL(dec, T, DOCTEST_CAT(anon, ITERATOR), anon);            \
  DOCTEST_TEST_CASE_TEMPLATE_INSTANTIATE_IMPL(anon, anon, ::support::tested_types<__VA_ARGS__>) \
  template <typename T>                                                                         \
  static void anon()
