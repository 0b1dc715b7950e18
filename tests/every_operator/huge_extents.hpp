// SPDX-License-Identifier: Apache-2.0
// Extents up to 2^63 - 1, inputs that repeat one element or are null, outputs that are null, and
// the outcomes of calls with them.
#pragma once

#include "support/backends.hpp"
#include "support/error_message.hpp"

#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

using ss::extents3;
using ss::extents4;
using ss::index_t;
using ss::stack_extents;

inline constexpr index_t sizes[] = {0,
                                    1,
                                    index_t{1} << 31,
                                    index_t{1} << 40,
                                    index_t{1} << 62,
                                    std::numeric_limits<index_t>::max()};

template <class F>
void for_each_shape(F const& f) {
  for (index_t batch : sizes)
    for (index_t length : sizes)
      for (index_t channels : sizes) f(extents3{batch, length, channels});
}

// Inputs of any shape that repeat one element, or are null.
class repeated_input {
 public:
  explicit repeated_input(bool has_memory) : has_memory_(has_memory) {}

  template <class T>
  ss::tensor3<T const> view(extents3 e) const {
    return {data<T>(), e, {0, 0, 0}};
  }
  template <class T>
  ss::tensor4<T const> view(extents4 e) const {
    return {data<T>(), e, {0, 0, 0, 0}};
  }
  template <class T>
  ss::tensor_stack<T const> view(stack_extents e) const {
    return {data<T>(), e, {0, 0, 0, 0}};
  }
  // One length for all samples.
  ss::tensor1<index_t const> lengths(index_t batch) const { return {data<index_t>(), batch, 0}; }

 private:
  template <class T>
  T const* data() const {
    static T const zero{};
    return has_memory_ ? &zero : nullptr;
  }
  bool has_memory_;
};
template <class Extents>
auto null_output(Extents e) {
  if constexpr (std::is_same_v<Extents, extents3>)
    return ss::tensor3<float>(nullptr, e);
  else if constexpr (std::is_same_v<Extents, stack_extents>)
    return ss::tensor_stack<float>(nullptr, e);
  else
    return ss::tensor4<float>(nullptr, e);
}
struct any_options {
  ss::tensor1<index_t const> lengths;

  operator ss::forward_options() const { return {lengths}; }
  operator ss::backward_options() const { return {ss::grad_mode::overwrite, lengths}; }
};
inline any_options options(repeated_input x, extents3 e) { return {x.lengths(e.batch)}; }
inline auto null_index_output(extents3 e) { return ss::tensor3<std::uint32_t>(nullptr, e); }

// Calls f(exec, inputs) for every backend, with and without memory of the inputs.
template <class F>
void for_each_backend_and_memory(F const& f) {
  for_each_backend_untuned([&](any_exec const& exec) {
    for (bool has_memory : {true, false}) f(exec, repeated_input(has_memory));
  });
}

// Counts accepted and rejected calls.
struct outcome_counts {
  std::size_t accepted = 0, rejected = 0;

  // Runs call(workspace) with a workspace of size() bytes; both may throw.
  template <class Size, class Call>
  void add(Size const& size, Call const& call) {
    std::string const message = error_message([&] {
      std::size_t const bytes = size();
      std::vector<std::byte> memory(bytes < std::size_t{1} << 24 ? bytes : 0);
      call(ss::workspace(memory));
    });
    ++(message.empty() ? accepted : rejected);
  }
  void check() const {
    CHECK(accepted > 0);
    CHECK(rejected > 0);
  }
};

}  // namespace support
