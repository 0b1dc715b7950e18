// SPDX-License-Identifier: Apache-2.0
// Leaves the element types that a suite was not built for out of every TEST_CASE_TEMPLATE.
// CMakeLists.txt includes it by a compiler option, before anything else, where SLICESORT_TEST_TYPES
// names fewer than all four: SLICESORT_TEST_WITHOUT_double, .. say which are left out.
#pragma once

#include "compiled_once.hpp"

#include <doctest/doctest.h>

#include <tuple>
#include <type_traits>
#include <utility>

namespace support {

// std::tuple<Types...> without the types that are left out.
template <class... Types>
using tested_types = decltype(std::tuple_cat(
    std::declval<std::conditional_t<is_left_out<Types>, std::tuple<>, std::tuple<Types>>>()...));

}  // namespace support

// Doctest's own definition, but for the list of types.
#undef DOCTEST_TEST_CASE_TEMPLATE_IMPL
#define DOCTEST_TEST_CASE_TEMPLATE_IMPL(dec, T, anon, ...)                                      \
  DOCTEST_TEST_CASE_TEMPLATE_DEFINE_IMPL(dec, T, DOCTEST_CAT(anon, ITERATOR), anon);            \
  DOCTEST_TEST_CASE_TEMPLATE_INSTANTIATE_IMPL(anon, anon, ::support::tested_types<__VA_ARGS__>) \
  template <typename T>                                                                         \
  static void anon()
