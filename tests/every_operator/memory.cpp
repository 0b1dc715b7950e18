// SPDX-License-Identifier: Apache-2.0
// Memory that a call may not be given: lengths in an output, a workspace in a tensor, addresses
// that are no multiple of the alignment. Every call of every operator refuses it by the names of
// both. A length that is written to after the check leads to no access outside the tensors.
#define SLICESORT_TEST_EVERY_BACKEND
#include "calls.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace support;

namespace {

// Writes saved indices that a forward could have saved: every row stays in its place.
void fill_indices(call const& one, arguments& with) {
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    std::string const name = one.tensors[i];
    for (index_t element = 0; element < shape.size(); ++element) {
      index_t const row = element / shape.channels % shape.length;
      if (name == "perm")
        with.view<std::uint32_t>(i, shape).data()[element] = static_cast<std::uint32_t>(row);
      if (name == "order")  // of groups of 4; in groups of 2, bits of both pairs
        with[i][element] = static_cast<std::byte>(row % 4);
    }
  }
}

// f(on, call, arguments, workspace) for every call and backend: arguments that are accepted, and
// the memory of their workspace.
template <class F>
void for_each_call(F const& f) {
  for (call const& one : calls())
    for_each_backend_untuned([&](any_exec const& on) {
      CAPTURE(std::string(one.name));
      CAPTURE(describe_exec(on));
      arguments with(one.tensors.size());
      fill_indices(one, with);
      std::vector<std::byte> scratch(one.workspace_bytes(on));
      with.scratch = scratch;
      f(on, one, with);
    });
}

}  // namespace

TEST_CASE("a workspace in a tensor") {
  std::size_t refused = 0;
  for_each_call([&](any_exec const& on, call const& one, arguments& with) {
    if (with.scratch.bytes == 0) return;
    std::size_t const bytes = with.scratch.bytes;
    for (std::size_t i = 0; i < one.tensors.size(); ++i) {
      // The tensor lies right behind the workspace, then in its last byte, then at its beginning.
      std::vector<std::byte> both(bytes + arguments::most_bytes + 64);
      std::byte* const tensor = with[i];
      auto const address = reinterpret_cast<std::uintptr_t>(both.data()) + bytes;
      with[i] = both.data() + bytes + (64 - address % 64);
      std::memcpy(with[i], tensor, arguments::most_bytes);
      std::string const want = std::string("workspace overlaps ") + one.tensors[i] + " (";
      with.scratch.data = with[i] - bytes;
      CHECK(one.refusal_of(on, with) == "");
      with.scratch.data = with[i] - bytes + 1;
      CHECK(says(one.refusal_of(on, with), want.c_str()));
      with.scratch.data = with[i] = both.data() + (64 - (address - bytes) % 64);
      CHECK(says(one.refusal_of(on, with), want.c_str()));
      with[i] = tensor;
      ++refused;
    }
  });
  CHECK(refused > 50);
}

TEST_CASE("lengths in an output") {
  for_each_call([&](any_exec const& on, call const& one, arguments& with) {
    for (bool queries : {false, true}) {
      if (!(queries ? one.takes_query_lengths : one.takes_lengths)) continue;
      auto& lengths = queries ? with.query_lengths : with.lengths;
      std::string const name = queries ? "query_lengths" : "lengths";
      for (std::size_t i = 0; i < one.outputs; ++i) {
        auto* const within = reinterpret_cast<index_t*>(with[i]);
        within[0] = within[1] = 5;
        lengths = {within, 2};
        CHECK(
            says(one.refusal_of(on, with), (name + " overlaps " + one.tensors[i] + " (").c_str()));
        lengths = {within - 2, 2};
        within[-2] = within[-1] = 5;
        CHECK(one.refusal_of(on, with) == "");
      }
      // Shared by all samples, and strides that leave memory.
      std::vector<index_t> memory = {5, 7, 4};
      lengths = {memory.data(), 2, 0};
      CHECK(one.refusal_of(on, with) == "");
      lengths = {memory.data(), 2, 2};
      CHECK(one.refusal_of(on, with) == "");
      for (index_t stride : {index_t{-1}, std::numeric_limits<index_t>::min()}) {
        lengths = {memory.data() + 1, 2, stride};
        CHECK(one.refusal_of(on, with) ==
              name + ".stride is " + std::to_string(stride) + ", must be zero or positive");
      }
      lengths = {memory.data(), 2, std::numeric_limits<index_t>::max()};
      CHECK(says(one.refusal_of(on, with), (name + " [1, 2, 1] spans more").c_str()));
      lengths = {reinterpret_cast<index_t*>(reinterpret_cast<std::byte*>(memory.data()) + 4), 2};
      CHECK(says(one.refusal_of(on, with), (name + ".data is ").c_str()));
      lengths = {};
    }
  });
}

TEST_CASE("addresses that are no multiple of the alignment") {
  for_each_call([&](any_exec const& on, call const& one, arguments& with) {
    CHECK(one.refusal_of(on, with) == "");
    for (std::size_t i = 0; i < one.tensors.size(); ++i) {
      if (std::string(one.tensors[i]) == "order") continue;  // of bytes
      ++with[i];
      std::string const message = one.refusal_of(on, with);
      CHECK(says(message, (std::string(one.tensors[i]) + ".data is 0x").c_str()));
      CHECK(says(message, ", must be a multiple of "));
      --with[i];
    }
  });
}

// Imitates a thread that writes to the lengths of a call while it runs: results are worthless, but
// nothing outside the tensors is read or written.
TEST_CASE("lengths that change after the check") {
  if (!testing(backend_kind::host)) return;
  std::size_t changed = 0;
  for (call const& one : calls()) {
    if (!one.takes_lengths) continue;
    CAPTURE(std::string(one.name));
    for (ss::isa set : available_isas())
      for (int countdown : {0, 1, 2})
        for (index_t value : {index_t{-1000}, index_t{0}, index_t{4}, index_t{1000},
                              std::numeric_limits<index_t>::max()}) {
          std::vector<index_t> lengths = {3, 2};
          test_executor executor{test_executor::way::forwards, [&, calls = 0]() mutable {
                                   if (calls++ == countdown) lengths = {value, value};
                                 }};
          any_exec const on(executor, 2, set);
          arguments with(one.tensors.size());
          std::vector<std::byte> scratch(one.workspace_bytes(on), std::byte{0xff});
          with.scratch = scratch;
          with.lengths = {lengths.data(), 2};
          if (one.takes_query_lengths) with.query_lengths = with.lengths;
          CHECK(one.refusal_of(on, with) == "");
          CHECK(with.red_zones_untouched());
          changed += lengths[0] == value;
        }
  }
  CHECK(changed > 500);
}
