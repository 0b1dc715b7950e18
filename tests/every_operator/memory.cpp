// SPDX-License-Identifier: Apache-2.0
// Invalid memory: lengths in an output, a workspace in a tensor, misaligned addresses. Every call
// of every operator rejects it with an error that names both. Lengths that change after the check
// cause no access outside the tensors. One scratch serves all calls; only valid calls enlarge it.
#define SLICESORT_TEST_EVERY_BACKEND
#include "calls.hpp"
#include "linked_operators.hpp"

#include <slicesort/slicesort.hpp>

#if defined(__x86_64__) && defined(__GNUC__)
#  include <cpuid.h>
#endif
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

// Writes valid saved indices, of the identity permutation.
void fill_indices(call const& op_call, arguments& args) {
  for (std::size_t i = 0; i < op_call.tensors.size(); ++i) {
    std::string const name = op_call.tensors[i];
    for (index_t element = 0; element < shape.size(); ++element) {
      index_t const row = element / shape.channels % shape.length;
      if (name == "perm" || name == "indices")
        args.view<std::uint32_t>(i, shape).data()[element] = static_cast<std::uint32_t>(row);
      if (name == "order")  // valid for groups of 4 and of 2
        args[i][element] = static_cast<std::byte>(row % 4);
    }
  }
}

// Calls f(exec, call, arguments) for every call and backend, with valid arguments.
template <class F>
void for_each_call(F const& f) {
  for (call const& op_call : calls())
    for_each_backend_untuned([&](any_exec const& exec) {
      CAPTURE(std::string(op_call.name));
      CAPTURE(describe_exec(exec));
      arguments args(op_call.tensors.size());
      fill_indices(op_call, args);
      std::vector<std::byte> scratch(op_call.workspace_bytes(exec));
      args.scratch = scratch;
      f(exec, op_call, args);
    });
}

}  // namespace

TEST_CASE("a workspace in a tensor") {
  std::size_t rejected = 0;
  for_each_call([&](any_exec const& exec, call const& op_call, arguments& args) {
    if (args.scratch.bytes == 0) return;
    std::size_t const bytes = args.scratch.bytes;
    for (std::size_t i = 0; i < op_call.tensors.size(); ++i) {
      // The tensor lies after the workspace, then in its last byte, then at its beginning.
      std::vector<std::byte> memory(bytes + arguments::max_tensor_bytes + 64);
      std::byte* const tensor = args[i];
      auto const address = reinterpret_cast<std::uintptr_t>(memory.data()) + bytes;
      args[i] = memory.data() + bytes + (64 - address % 64);
      std::memcpy(args[i], tensor, arguments::max_tensor_bytes);
      std::string const expected = std::string("workspace overlaps ") + op_call.tensors[i] + " (";
      args.scratch.data = args[i] - bytes;
      CHECK(op_call.error_of(exec, args) == "");
      args.scratch.data = args[i] - bytes + 1;
      CHECK(says(op_call.error_of(exec, args), expected.c_str()));
      args.scratch.data = args[i] = memory.data() + (64 - (address - bytes) % 64);
      CHECK(says(op_call.error_of(exec, args), expected.c_str()));
      args[i] = tensor;
      ++rejected;
    }
  });
  CHECK(rejected > 50);
}

TEST_CASE("lengths in an output") {
  for_each_call([&](any_exec const& exec, call const& op_call, arguments& args) {
    for (bool is_query : {false, true}) {
      if (!(is_query ? op_call.takes_query_lengths : op_call.takes_lengths)) continue;
      auto& lengths = is_query ? args.query_lengths : args.lengths;
      std::string const name = is_query ? "query_lengths" : "lengths";
      for (std::size_t i = 0; i < op_call.outputs; ++i) {
        auto* const lengths_in_output = reinterpret_cast<index_t*>(args[i]);
        lengths_in_output[0] = lengths_in_output[1] = 5;
        lengths = {lengths_in_output, 2};
        CHECK(says(op_call.error_of(exec, args),
                   (name + " overlaps " + op_call.tensors[i] + " (").c_str()));
        lengths = {lengths_in_output - 2, 2};
        lengths_in_output[-2] = lengths_in_output[-1] = 5;
        CHECK(op_call.error_of(exec, args) == "");
      }
      // Lengths shared by all samples, and invalid strides.
      std::vector<index_t> memory = {5, 7, 4};
      lengths = {memory.data(), 2, 0};
      CHECK(op_call.error_of(exec, args) == "");
      lengths = {memory.data(), 2, 2};
      CHECK(op_call.error_of(exec, args) == "");
      for (index_t stride : {index_t{-1}, std::numeric_limits<index_t>::min()}) {
        lengths = {memory.data() + 1, 2, stride};
        CHECK(op_call.error_of(exec, args) ==
              name + ".stride is " + std::to_string(stride) + ", must be zero or positive");
      }
      lengths = {memory.data(), 2, std::numeric_limits<index_t>::max()};
      CHECK(says(op_call.error_of(exec, args), (name + " [1, 2, 1] spans more").c_str()));
      lengths = {reinterpret_cast<index_t*>(reinterpret_cast<std::byte*>(memory.data()) + 4), 2};
      CHECK(says(op_call.error_of(exec, args), (name + ".data is ").c_str()));
      lengths = {};
    }
  });
}

TEST_CASE("misaligned addresses") {
  for_each_call([&](any_exec const& exec, call const& op_call, arguments& args) {
    CHECK(op_call.error_of(exec, args) == "");
    for (std::size_t i = 0; i < op_call.tensors.size(); ++i) {
      if (std::string(op_call.tensors[i]) == "order") continue;  // elements are bytes
      ++args[i];
      std::string const message = op_call.error_of(exec, args);
      CHECK(says(message, (std::string(op_call.tensors[i]) + ".data is 0x").c_str()));
      CHECK(says(message, ", must be a multiple of "));
      --args[i];
    }
  });
}

// Simulates a thread that writes to the lengths of a running call: results are unspecified, but
// nothing outside the tensors is accessed.
TEST_CASE("lengths that change after the check" * doctest::skip(!testing(backend_kind::host))) {
  std::size_t changed = 0;
  for (call const& op_call : calls()) {
    if (!op_call.takes_lengths) continue;
    CAPTURE(std::string(op_call.name));
    for (ss::isa set : available_isas())
      for (int countdown : {0, 1, 2})
        for (index_t value : {index_t{-1000}, index_t{0}, index_t{4}, index_t{1000},
                              std::numeric_limits<index_t>::max()}) {
          std::vector<index_t> lengths = {3, 2};
          test_executor executor{test_executor::schedule::forwards, [&, calls = 0]() mutable {
                                   if (calls++ == countdown) lengths = {value, value};
                                 }};
          any_exec const exec(executor, 2, set);
          arguments args(op_call.tensors.size());
          std::vector<std::byte> scratch(op_call.workspace_bytes(exec), std::byte{0xff});
          args.scratch = scratch;
          args.lengths = {lengths.data(), 2};
          if (op_call.takes_query_lengths) args.query_lengths = args.lengths;
          CHECK(op_call.error_of(exec, args) == "");
          CHECK(args.red_zones_intact());
          changed += lengths[0] == value;
        }
  }
  CHECK(changed > 100);
}

namespace {

// Fills all tensors except indices.
void fill_values(call const& op_call, arguments& args) {
  for (std::size_t i = 0; i < op_call.tensors.size(); ++i) {
    std::string const name = op_call.tensors[i];
    if (name == "perm" || name == "pools" || name == "indices" || name == "order" ||
        name == "maximum")
      continue;
    auto* const values = reinterpret_cast<float*>(args[i]);
    for (std::size_t n = 0; n < arguments::max_tensor_bytes / sizeof(float); ++n)
      values[n] = static_cast<float>(1 + (7 * i + 5 * n) % 11) / 4;
  }
}
bool same_tensors(call const& op_call, arguments& a, arguments& b) {
  for (std::size_t i = 0; i < op_call.tensors.size(); ++i)
    if (std::memcmp(a[i], b[i], arguments::max_tensor_bytes) != 0) return false;
  return true;
}

// A container that counts its resizes and grows to at most `max_size` bytes.
struct counting_bytes {
  std::size_t* resizes;
  std::size_t max_size = std::numeric_limits<std::size_t>::max();
  std::vector<std::byte> memory{};

  void resize(std::size_t size) {
    ++*resizes;
    memory.resize(std::min(size, max_size));
  }
  std::byte* data() { return memory.data(); }
  std::size_t size() const { return memory.size(); }
};
using counting_scratch = ss::basic_scratch<counting_bytes>;

// A container of external memory.
struct external_bytes {
  std::byte* memory;
  std::size_t bytes = 0;

  void resize(std::size_t size) { bytes = size; }
  std::byte* data() { return memory; }
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
  ss::basic_scratch<std::vector<double>> double_scratch;
  std::size_t max_bytes = 0;
  for_each_call([&](any_exec const& exec, call const& op_call, arguments& args) {
    std::size_t const bytes = args.scratch.bytes;
    max_bytes = std::max(max_bytes, bytes);
    arguments args_with_exact_size(op_call.tensors.size()),
        args_with_doubles(op_call.tensors.size());
    for (arguments* a : {&args, &args_with_exact_size, &args_with_doubles})
      fill_indices(op_call, *a), fill_values(op_call, *a);
    args_with_exact_size.scratch = args.scratch;
    args.scratch = memory;
    args_with_doubles.scratch = double_scratch;
    for (arguments* a : {&args, &args_with_exact_size, &args_with_doubles})
      CHECK(op_call.error_of(exec, *a) == "");
    CHECK(same_tensors(op_call, args, args_with_exact_size));
    CHECK(same_tensors(op_call, args_with_doubles, args_with_exact_size));
    CHECK(ss::workspace(memory).bytes == max_bytes);
    CHECK(ss::workspace(double_scratch).bytes == (max_bytes + 7) / 8 * 8);
  });
  CHECK(max_bytes > 0);
}

TEST_CASE("a rejected call enlarges nothing") {
  std::size_t resizes = 0, enlarging_calls = 0;
  for_each_call([&](any_exec const& exec, call const& op_call, arguments& args) {
    if (args.scratch.bytes == 0) return;
    counting_scratch memory{counting_bytes{&resizes}};
    args.scratch = memory;
    for (std::size_t i = 0; i < op_call.tensors.size(); ++i) {
      std::byte* const tensor = args[i];
      if (std::string(op_call.tensors[i]) != "order") {
        ++args[i];
        CHECK(says(op_call.error_of(exec, args), ", must be a multiple of "));
      }
      args[i] = nullptr;
      CHECK(says(op_call.error_of(exec, args), ".data is null"));
      args[i] = tensor;
    }
    if (op_call.takes_lengths) {
      auto* const lengths_in_output = reinterpret_cast<index_t*>(args[0]);
      lengths_in_output[0] = lengths_in_output[1] = 5;
      args.lengths = {lengths_in_output, 2};
      CHECK(says(op_call.error_of(exec, args), "lengths overlaps "));
      args.lengths = {};
    }
    CHECK(resizes == 0);
    CHECK(op_call.error_of(exec, args) == "");
    CHECK(resizes > 0);
    resizes = 0, ++enlarging_calls;
  });
  CHECK(enlarging_calls > 20);
}

TEST_CASE("memory that cannot grow, and memory that grows into a tensor") {
  std::size_t resizes = 0, tested_calls = 0;
  for_each_call([&](any_exec const& exec, call const& op_call, arguments& args) {
    std::size_t const bytes = args.scratch.bytes;
    if (bytes == 0) return;
    fill_values(op_call, args);
    arguments expected(op_call.tensors.size());
    fill_indices(op_call, expected), fill_values(op_call, expected);

    counting_scratch too_small_scratch{counting_bytes{&resizes, bytes - 1}};
    args.scratch = too_small_scratch;
    CHECK(op_call.error_of(exec, args) == "workspace.bytes is " + std::to_string(bytes - 1) +
                                              ", must be at least " + std::to_string(bytes));
    ss::basic_scratch<bytes_that_throw> throwing_scratch;
    args.scratch = throwing_scratch;
    CHECK_THROWS_AS(op_call.run(exec, args), std::bad_alloc);
    ss::basic_scratch<external_bytes> scratch_in_output{external_bytes{args[0]}};
    args.scratch = scratch_in_output;
    CHECK(says(op_call.error_of(exec, args), "workspace overlaps "));
    CHECK(same_tensors(op_call, args, expected));
    ++tested_calls;
  });
  CHECK(tested_calls > 20);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__AVX__)
namespace {

// True if the upper halves of vector registers are in use, by XGETBV with index 1.
bool are_upper_halves_in_use() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & (1u << 2 | 1u << 6)) != 0;  // of YMM, of ZMM
}

// True if the processor has AVX and reports which registers are in use.
bool reports_registers_in_use() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  bool const has_avx =
      __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_OSXSAVE) != 0 && (c & bit_AVX) != 0;
  if (!has_avx || __get_cpuid_count(13, 1, &a, &b, &c, &d) == 0 || (a & (1u << 2)) == 0)
    return false;
  __asm__ volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\tvinsertf128 $1, %%xmm0, %%ymm0, %%ymm0"
                   :
                   :
                   : "xmm0");
  bool const reports_use = are_upper_halves_in_use();
  __asm__ volatile("vzeroupper");
  return reports_use && !are_upper_halves_in_use();
}

}  // namespace

TEST_CASE("no call and no thread leaves upper halves of vector registers in use" *
          doctest::skip(!testing(backend_kind::host) || !reports_registers_in_use())) {
  std::size_t threads = 0, threads_in_use = 0;
  test_executor executor;
  executor.order = test_executor::schedule::forwards;
  executor.after = [&] {
    ++threads;
    threads_in_use += are_upper_halves_in_use();
  };
  for (call const& op_call : calls())
    for (ss::isa set : available_isas()) {
      CAPTURE(std::string(op_call.name));
      for (any_exec const& exec : {any_exec(ss::exec::host{1, set}), any_exec(executor, 2, set)}) {
        CAPTURE(describe_exec(exec));
        arguments args(op_call.tensors.size());
        fill_indices(op_call, args);
        std::vector<std::byte> scratch(op_call.workspace_bytes(exec));
        args.scratch = scratch;
        op_call.run(exec, args);
        CHECK_FALSE(are_upper_halves_in_use());
      }
      CHECK(threads_in_use == 0);
    }
  CHECK(threads > 20);
  std::vector<float> numbers(100, 0.5f);
  ss::sigmoid(ss::exec::host{}, numbers.data(), numbers.data(), index_t(numbers.size()));
  CHECK_FALSE(are_upper_halves_in_use());
}
#endif

TEST_CASE("a call that writes nothing enlarges nothing") {
  std::size_t resizes = 0;
  counting_scratch memory{counting_bytes{&resizes}};
  arguments const a(9);
  ss::softmax_attention<pattern_mask> const attention;
  ss::attention_inputs<float> const in{a.view(0, heads), a.view(1, heads), a.view(2, heads), {}};
  ss::tensor4<float> const state = a.view(5, attention.saved_extents(heads, heads));
  ss::exec::host const exec;
  REQUIRE(attention.workspace_bytes<float>(exec, heads, heads) > 0);
  attention.backward(exec, a.view(3, heads), in, a.view(4, heads), state, {}, memory);
  CHECK(resizes == 0);
  attention.backward(exec, a.view(3, heads), in, a.view(4, heads), state,
                     {a.view(6, heads), {}, {}}, memory);
  CHECK(resizes > 0);
}

TEST_CASE(
    "a call in a workspace of fixed size, or in a scratch that is large enough, allocates "
    "nothing" *
    doctest::skip(!testing(backend_kind::host))) {
  for (call const& op_call : calls()) {
    CAPTURE(std::string(op_call.name));
    any_exec const exec(ss::exec::host{});
    arguments args(op_call.tensors.size());
    fill_indices(op_call, args);
    std::vector<std::byte> memory(op_call.workspace_bytes(exec));
    ss::scratch scratch;
    args.scratch = scratch;
    op_call.run(exec, args);
    for (ss::workspace const w : {ss::workspace(memory), ss::workspace(scratch)}) {
      args.scratch = w;
      std::size_t const allocations_before = allocations;
      op_call.run(exec, args);
      CHECK(allocations == allocations_before);
    }
  }
  CHECK(allocations > 0);
}
