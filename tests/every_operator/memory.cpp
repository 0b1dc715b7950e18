// SPDX-License-Identifier: Apache-2.0
// Memory that a call may not be given: lengths in an output, a workspace in a tensor, addresses
// that are no multiple of the alignment. Every call of every operator refuses it by the names of
// both. A length that is written to after the check leads to no access outside the tensors. A
// scratch serves all calls, and only a call that will run enlarges it.
#define SLICESORT_TEST_EVERY_BACKEND
#include "calls.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

using namespace support;

namespace {

std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

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
    for_each_backend_untuned([&](any_exec const& exec) {
      CAPTURE(std::string(one.name));
      CAPTURE(describe_exec(exec));
      arguments with(one.tensors.size());
      fill_indices(one, with);
      std::vector<std::byte> scratch(one.workspace_bytes(exec));
      with.scratch = scratch;
      f(exec, one, with);
    });
}

}  // namespace

TEST_CASE("a workspace in a tensor") {
  std::size_t refused = 0;
  for_each_call([&](any_exec const& exec, call const& one, arguments& with) {
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
      CHECK(one.refusal_of(exec, with) == "");
      with.scratch.data = with[i] - bytes + 1;
      CHECK(says(one.refusal_of(exec, with), want.c_str()));
      with.scratch.data = with[i] = both.data() + (64 - (address - bytes) % 64);
      CHECK(says(one.refusal_of(exec, with), want.c_str()));
      with[i] = tensor;
      ++refused;
    }
  });
  CHECK(refused > 50);
}

TEST_CASE("lengths in an output") {
  for_each_call([&](any_exec const& exec, call const& one, arguments& with) {
    for (bool queries : {false, true}) {
      if (!(queries ? one.takes_query_lengths : one.takes_lengths)) continue;
      auto& lengths = queries ? with.query_lengths : with.lengths;
      std::string const name = queries ? "query_lengths" : "lengths";
      for (std::size_t i = 0; i < one.outputs; ++i) {
        auto* const within = reinterpret_cast<index_t*>(with[i]);
        within[0] = within[1] = 5;
        lengths = {within, 2};
        CHECK(says(one.refusal_of(exec, with),
                   (name + " overlaps " + one.tensors[i] + " (").c_str()));
        lengths = {within - 2, 2};
        within[-2] = within[-1] = 5;
        CHECK(one.refusal_of(exec, with) == "");
      }
      // Shared by all samples, and strides that leave memory.
      std::vector<index_t> memory = {5, 7, 4};
      lengths = {memory.data(), 2, 0};
      CHECK(one.refusal_of(exec, with) == "");
      lengths = {memory.data(), 2, 2};
      CHECK(one.refusal_of(exec, with) == "");
      for (index_t stride : {index_t{-1}, std::numeric_limits<index_t>::min()}) {
        lengths = {memory.data() + 1, 2, stride};
        CHECK(one.refusal_of(exec, with) ==
              name + ".stride is " + std::to_string(stride) + ", must be zero or positive");
      }
      lengths = {memory.data(), 2, std::numeric_limits<index_t>::max()};
      CHECK(says(one.refusal_of(exec, with), (name + " [1, 2, 1] spans more").c_str()));
      lengths = {reinterpret_cast<index_t*>(reinterpret_cast<std::byte*>(memory.data()) + 4), 2};
      CHECK(says(one.refusal_of(exec, with), (name + ".data is ").c_str()));
      lengths = {};
    }
  });
}

TEST_CASE("addresses that are no multiple of the alignment") {
  for_each_call([&](any_exec const& exec, call const& one, arguments& with) {
    CHECK(one.refusal_of(exec, with) == "");
    for (std::size_t i = 0; i < one.tensors.size(); ++i) {
      if (std::string(one.tensors[i]) == "order") continue;  // of bytes
      ++with[i];
      std::string const message = one.refusal_of(exec, with);
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
          test_executor executor{test_executor::schedule::forwards, [&, calls = 0]() mutable {
                                   if (calls++ == countdown) lengths = {value, value};
                                 }};
          any_exec const exec(executor, 2, set);
          arguments with(one.tensors.size());
          std::vector<std::byte> scratch(one.workspace_bytes(exec), std::byte{0xff});
          with.scratch = scratch;
          with.lengths = {lengths.data(), 2};
          if (one.takes_query_lengths) with.query_lengths = with.lengths;
          CHECK(one.refusal_of(exec, with) == "");
          CHECK(with.red_zones_untouched());
          changed += lengths[0] == value;
        }
  }
  CHECK(changed > 500);
}

namespace {

// Fills the tensors of numbers; indices stay as they are.
void fill_numbers(call const& one, arguments& with) {
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    std::string const name = one.tensors[i];
    if (name == "perm" || name == "order" || name == "maximum") continue;
    auto* const numbers = reinterpret_cast<double*>(with[i]);
    for (std::size_t n = 0; n < arguments::most_bytes / sizeof(double); ++n)
      numbers[n] = static_cast<double>(1 + (7 * i + 5 * n) % 11) / 4;
  }
}
bool same_tensors(call const& one, arguments& a, arguments& b) {
  for (std::size_t i = 0; i < one.tensors.size(); ++i)
    if (std::memcmp(a[i], b[i], arguments::most_bytes) != 0) return false;
  return true;
}

// A container that counts its resizes, and has room for no more than `room` bytes.
struct counted_bytes {
  std::size_t* resizes;
  std::size_t room = std::numeric_limits<std::size_t>::max();
  std::vector<std::byte> memory{};

  void resize(std::size_t size) {
    ++*resizes;
    memory.resize(std::min(size, room));
  }
  std::byte* data() { return memory.data(); }
  std::size_t size() const { return memory.size(); }
};
using counted_scratch = ss::basic_scratch<counted_bytes>;

// A container whose memory is where it is told.
struct bytes_elsewhere {
  std::byte* where;
  std::size_t bytes = 0;

  void resize(std::size_t size) { bytes = size; }
  std::byte* data() { return where; }
  std::size_t size() const { return bytes; }
};

struct bytes_that_throw : std::vector<std::byte> {
  void resize(std::size_t size) {
    if (size != 0) throw std::bad_alloc();
  }
};

}  // namespace

TEST_CASE("one scratch serves every call, with the results of a workspace of the exact size") {
  ss::scratch memory;
  ss::basic_scratch<std::vector<double>> of_doubles;
  std::size_t most = 0;
  for_each_call([&](any_exec const& exec, call const& one, arguments& with) {
    std::size_t const need = with.scratch.bytes;
    most = std::max(most, need);
    arguments sized(one.tensors.size()), also(one.tensors.size());
    for (arguments* a : {&with, &sized, &also}) fill_indices(one, *a), fill_numbers(one, *a);
    sized.scratch = with.scratch;
    with.scratch = memory;
    also.scratch = of_doubles;
    for (arguments* a : {&with, &sized, &also}) CHECK(one.refusal_of(exec, *a) == "");
    CHECK(same_tensors(one, with, sized));
    CHECK(same_tensors(one, also, sized));
    CHECK(ss::workspace(memory).bytes == most);
    CHECK(ss::workspace(of_doubles).bytes == (most + 7) / 8 * 8);
  });
  CHECK(most > 0);
}

TEST_CASE("a call that is refused enlarges nothing") {
  std::size_t resizes = 0, enlarged = 0;
  for_each_call([&](any_exec const& exec, call const& one, arguments& with) {
    if (with.scratch.bytes == 0) return;
    counted_scratch memory{counted_bytes{&resizes}};
    with.scratch = memory;
    for (std::size_t i = 0; i < one.tensors.size(); ++i) {
      std::byte* const tensor = with[i];
      if (std::string(one.tensors[i]) != "order") {
        ++with[i];
        CHECK(says(one.refusal_of(exec, with), ", must be a multiple of "));
      }
      with[i] = nullptr;
      CHECK(says(one.refusal_of(exec, with), ".data is null"));
      with[i] = tensor;
    }
    if (one.takes_lengths) {
      auto* const within = reinterpret_cast<index_t*>(with[0]);
      within[0] = within[1] = 5;
      with.lengths = {within, 2};
      CHECK(says(one.refusal_of(exec, with), "lengths overlaps "));
      with.lengths = {};
    }
    CHECK(resizes == 0);
    CHECK(one.refusal_of(exec, with) == "");
    CHECK(resizes > 0);
    resizes = 0, ++enlarged;
  });
  CHECK(enlarged > 20);
}

TEST_CASE("memory that cannot grow, and memory that grows into a tensor") {
  std::size_t resizes = 0, tried = 0;
  for_each_call([&](any_exec const& exec, call const& one, arguments& with) {
    std::size_t const need = with.scratch.bytes;
    if (need == 0) return;
    fill_numbers(one, with);
    arguments before(one.tensors.size());
    fill_indices(one, before), fill_numbers(one, before);

    counted_scratch short_of_one{counted_bytes{&resizes, need - 1}};
    with.scratch = short_of_one;
    CHECK(one.refusal_of(exec, with) == "workspace.bytes is " + std::to_string(need - 1) +
                                            ", must be at least " + std::to_string(need));
    ss::basic_scratch<bytes_that_throw> throws;
    with.scratch = throws;
    CHECK_THROWS_AS(one.run(exec, with), std::bad_alloc);
    ss::basic_scratch<bytes_elsewhere> in_output{bytes_elsewhere{with[0]}};
    with.scratch = in_output;
    CHECK(says(one.refusal_of(exec, with), "workspace overlaps "));
    CHECK(same_tensors(one, with, before));
    ++tried;
  });
  CHECK(tried > 20);
}

TEST_CASE("a call that writes nothing enlarges nothing") {
  std::size_t resizes = 0;
  counted_scratch memory{counted_bytes{&resizes}};
  arguments const a(9);
  ss::softmax_attention<pattern_mask> const attend;
  ss::attention_inputs<double> const in{a.view(0, heads), a.view(1, heads), a.view(2, heads), {}};
  ss::tensor4<double> const state = a.view(5, attend.saved_extents(heads, heads));
  ss::exec::host const exec;
  REQUIRE(attend.workspace_bytes<double>(exec, heads, heads) > 0);
  attend.backward(exec, a.view(3, heads), in, a.view(4, heads), state, {}, memory);
  CHECK(resizes == 0);
  attend.backward(exec, a.view(3, heads), in, a.view(4, heads), state, {a.view(6, heads), {}, {}},
                  memory);
  CHECK(resizes > 0);
}

TEST_CASE(
    "a call in a workspace of fixed size, or in a scratch that is large enough, allocates "
    "nothing") {
  if (!testing(backend_kind::host)) return;
  for (call const& one : calls()) {
    CAPTURE(std::string(one.name));
    any_exec const exec(ss::exec::host{});
    arguments with(one.tensors.size());
    fill_indices(one, with);
    std::vector<std::byte> memory(one.workspace_bytes(exec));
    ss::scratch grown;
    with.scratch = grown;
    one.run(exec, with);
    for (ss::workspace const w : {ss::workspace(memory), ss::workspace(grown)}) {
      with.scratch = w;
      std::size_t const before = allocations;
      one.run(exec, with);
      CHECK(allocations == before);
    }
  }
  CHECK(allocations > 0);
}
