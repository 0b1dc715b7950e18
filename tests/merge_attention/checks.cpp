// SPDX-License-Identifier: Apache-2.0
// Argument checks of merge_attention: every invalid argument has its message, a dry run returns the
// error that the call throws, and rejected calls write nothing.
#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/stacks.hpp"

#include <slicesort/merge_attention.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

using namespace support;

namespace {

// A valid call: two samples of three heads, five queries, seven values, in parts of one allocation.
struct merge_call {
  static constexpr extents4 y_extents{2, 3, 5, 7}, state_extents{2, 3, 5, 2};
  static constexpr std::size_t floats_per_buffer = 256;

  std::vector<float> memory = std::vector<float>(40 * floats_per_buffer, 2.5f);
  ss::exec::host exec{};
  std::vector<ss::attention_part<float>> parts{
      {{buffer(0), y_extents}, {buffer(1), state_extents}},
      {{buffer(2), y_extents}, {buffer(3), state_extents}},
      {{buffer(4), y_extents}, {buffer(5), state_extents}}};
  tensor4<float> y{buffer(6), y_extents}, state{buffer(7), state_extents};

  merge_call() = default;
  merge_call(merge_call const&) = delete;
  float* buffer(std::size_t index) { return memory.data() + index * floats_per_buffer; }

  std::string error_with_state() {
    return error_leaving_memory_unchanged(op.forward(ss::exec::dry_run{exec}, parts, y, {state}),
                                          [&] { op.forward(exec, parts, y, {state}); });
  }
  std::string error_without_state() {
    return error_leaving_memory_unchanged(
        op.forward(ss::exec::dry_run{exec}, parts, y, ss::no_saved),
        [&] { op.forward(exec, parts, y, ss::no_saved); });
  }
  std::string common_error() {
    std::string const error = error_with_state();
    CHECK(error_without_state() == error);
    return error;
  }

 private:
  template <class F>
  std::string error_leaving_memory_unchanged(ss::status const& status, F const& call) {
    auto const before = memory;
    std::string const message = error_message(status, call);
    if (message.empty()) return "";
    CHECK(same_bits(memory, before));
    std::string const prefix = "merge_attention.forward: ";
    CHECK(message.substr(0, prefix.size()) == prefix);
    return message.substr(prefix.size());
  }

  ss::merge_attention const op{};
};

}  // namespace

TEST_CASE("valid calls are accepted") {
  merge_call c;
  SUBCASE("as it is") {}
  SUBCASE("one part") { c.parts.resize(1); }
  SUBCASE("sixteen parts") { c.parts.resize(16, c.parts[1]); }
  SUBCASE("over part 0") {
    c.y = {c.buffer(0), c.y_extents}, c.state = {c.buffer(1), c.state_extents};
  }
  SUBCASE("y over part 0") { c.y = {c.buffer(0), c.y_extents}; }
  SUBCASE("the state over part 0") { c.state = {c.buffer(1), c.state_extents}; }
  SUBCASE("one part twice") { c.parts[2] = c.parts[1]; }
  SUBCASE("parts that heads share") {
    c.parts[1] = {{c.buffer(2), c.y_extents, {35, 0, 7, 1}},
                  {c.buffer(3), c.state_extents, {0, 0, 2, 1}}};
  }
  SUBCASE("no values") {
    extents4 const none{2, 3, 5, 0};
    for (auto& part : c.parts) part.y = {nullptr, none};
    c.y = {nullptr, none};
  }
  SUBCASE("nothing") {
    c.parts = {{{nullptr, {2, 0, 5, 7}}, {nullptr, {2, 0, 5, 2}}}};
    c.y = {nullptr, {2, 0, 5, 7}}, c.state = {nullptr, {2, 0, 5, 2}};
  }
  CHECK(c.common_error() == "");
}

TEST_CASE("braces, arrays and initializer lists are equivalent") {
  merge_call c, d, e, f;
  ss::merge_attention const op;
  op.forward(c.exec, c.parts, c.y, {c.state});
  op.forward(d.exec,
             {{d.parts[0].y, d.parts[0].state}, {d.parts[1].y, d.parts[1].state}, d.parts[2]}, d.y,
             {d.state});
  std::array<ss::attention_part<float>, 3> const list{e.parts[0], e.parts[1], e.parts[2]};
  op.forward(e.exec, list, e.y, {e.state});
  op.forward(f.exec, {f.parts.data(), 3}, f.y, f.state);
  CHECK(c.memory[7 * c.floats_per_buffer] == 2.5f);      // the maximum
  CHECK(c.memory[7 * c.floats_per_buffer + 1] == 7.5f);  // the sum of three parts
  CHECK(same_bits(c.memory, d.memory));
  CHECK(same_bits(c.memory, e.memory));
  CHECK(same_bits(c.memory, f.memory));
}

TEST_CASE("the number of parts") {
  merge_call c;
  c.parts.clear();
  CHECK(c.common_error() == "parts.size is 0, must be in 1..16");
  merge_call d;
  d.parts.resize(17, d.parts[1]);
  CHECK(d.common_error() == "parts.size is 17, must be in 1..16");
}

TEST_CASE("shapes") {
  merge_call c;
  SUBCASE("of a part") {
    c.parts[1].y = {c.buffer(2), {1, 3, 5, 7}};
    CHECK(c.common_error() == "parts[1].y.batch is 1, must be 2 (parts[0].y.batch)");
    c.parts[1].y = {c.buffer(2), {2, 2, 5, 7}};
    CHECK(c.common_error() == "parts[1].y.heads is 2, must be 3 (parts[0].y.heads)");
    c.parts[1].y = {c.buffer(2), {2, 3, 4, 7}};
    CHECK(c.common_error() == "parts[1].y.queries is 4, must be 5 (parts[0].y.queries)");
    c.parts[1].y = {c.buffer(2), {2, 3, 5, 6}};
    CHECK(c.common_error() == "parts[1].y.values is 6, must be 7 (parts[0].y.values)");
  }
  SUBCASE("of a part's state") {
    c.parts[0].state = {c.buffer(1), {2, 3, 5, 3}};
    CHECK(c.common_error() == "parts[0].state.numbers is 3, must be 2");
    c.parts[0].state = {c.buffer(1), {2, 3, 4, 2}};
    CHECK(c.common_error() == "parts[0].state.queries is 4, must be 5 (parts[0].y.queries)");
    c.parts[0].state = {c.buffer(1), {2, 6, 5, 2}};
    CHECK(c.common_error() == "parts[0].state.heads is 6, must be 3 (parts[0].y.heads)");
    c.parts[0].state = {c.buffer(1), {3, 3, 5, 2}};
    CHECK(c.common_error() == "parts[0].state.batch is 3, must be 2 (parts[0].y.batch)");
    c.parts[0].state = {nullptr, c.state_extents};
    CHECK(c.common_error() == "parts[0].state.data is null, must point to [2, 3, 5, 2]");
  }
  SUBCASE("of y and the state") {
    c.y = {c.buffer(6), {2, 3, 5, 8}};
    CHECK(c.common_error() == "y.values is 8, must be 7 (parts[0].y.values)");
    c.y = {nullptr, c.y_extents};
    CHECK(c.common_error() == "y.data is null, must point to [2, 3, 5, 7]");
    c.y = {c.buffer(6), c.y_extents};
    c.state = {c.buffer(7), {2, 3, 5, 1}};
    CHECK(c.error_with_state() == "state.numbers is 1, must be 2");
    CHECK(c.error_without_state() == "");
  }
  SUBCASE("views alone") {
    c.parts[0].y = {c.buffer(0), {2, 3, -5, 7}};
    CHECK(c.common_error() == "parts[0].y.queries is -5, must not be negative");
    c.parts[0].y = {c.buffer(0), c.y_extents, {105, 35, -7, 1}};
    CHECK(c.common_error() == "parts[0].y.stride.queries is -7, must be zero or positive");
  }
  SUBCASE("outputs give every element its place") {
    c.y = {c.buffer(6), c.y_extents, {105, 0, 7, 1}};
    CHECK(c.common_error() == "y.stride.heads is 0, must be positive");
    c.y = {c.buffer(6), c.y_extents};
    c.state = {c.buffer(7), c.state_extents, {30, 10, 1, 1}};
    CHECK(says(c.error_with_state(), "state.strides are [30, 10, 1, 1]"));
    // The input view is read-only, but the output that aliases it is written.
    c.state = {c.buffer(7), c.state_extents};
    c.parts[0].y = c.y = {c.buffer(0), c.y_extents, {105, 35, 0, 1}};
    CHECK(c.common_error() == "y.stride.queries is 0, must be positive");
  }
}

TEST_CASE("outputs may only share memory with part 0, as the same view") {
  char const* const buffer_names[] = {"parts[0].y",     "parts[0].state", "parts[1].y",
                                      "parts[1].state", "parts[2].y",     "parts[2].state"};
  for (std::size_t buffer_index = 0; buffer_index < 6; ++buffer_index) {
    CAPTURE(buffer_names[buffer_index]);
    merge_call c;
    for (std::size_t offset : {0u, 1u}) {
      c.y = {c.buffer(buffer_index) + offset, c.y_extents};
      bool const same = buffer_index == 0 && offset == 0;
      if (same)
        CHECK(c.common_error() == "");
      else
        CHECK(says(c.common_error(),
                   (std::string("y overlaps ") + buffer_names[buffer_index]).c_str()));
    }
    c.y = {c.buffer(6), c.y_extents};
    for (std::size_t offset : {0u, 1u}) {
      c.state = {c.buffer(buffer_index) + offset, c.state_extents};
      CHECK(c.error_without_state() == "");
      bool const same = buffer_index == 1 && offset == 0;
      if (same)
        CHECK(c.error_with_state() == "");
      else
        CHECK(says(c.error_with_state(),
                   (std::string("state overlaps ") + buffer_names[buffer_index]).c_str()));
    }
  }
  merge_call c;
  c.state = {c.buffer(6) + 1, c.state_extents};
  CHECK(says(c.error_with_state(), "state overlaps y"));
  c.state = {c.buffer(7), c.state_extents};
  c.parts[2] = c.parts[0];  // valid to read, but not the same view as part 0
  c.y = {c.buffer(0), c.y_extents};
  CHECK(says(c.common_error(), "y overlaps parts[2].y"));
}

TEST_CASE("policy and workspace") {
  merge_call c;
  ss::merge_attention const op;
  CHECK(op.workspace_bytes<float>(c.exec, c.y_extents) == 0);
  CHECK(op.workspace_bytes<float>(ss::exec::dry_run{c.exec}, c.y_extents));
  c.exec.threads = 0;
  CHECK(c.common_error() == "exec.threads is 0, must be at least 1");
  CHECK(error_message(op.workspace_bytes<float>(ss::exec::dry_run{c.exec}, c.y_extents), [&] {
          (void)op.workspace_bytes<float>(c.exec, c.y_extents);
        }) == "merge_attention.workspace_bytes: exec.threads is 0, must be at least 1");
}
