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

// A valid call: two samples of three heads, five queries, seven values, in pieces of one buffer.
struct merge_call {
  static constexpr extents4 of_y{2, 3, 5, 7}, of_state{2, 3, 5, 2};
  static constexpr std::size_t piece = 256;

  std::vector<float> memory = std::vector<float>(40 * piece, 2.5f);
  ss::exec::host exec{};
  std::vector<ss::attention_part<float>> parts{{{at(0), of_y}, {at(1), of_state}},
                                               {{at(2), of_y}, {at(3), of_state}},
                                               {{at(4), of_y}, {at(5), of_state}}};
  tensor4<float> y{at(6), of_y}, state{at(7), of_state};

  merge_call() = default;
  merge_call(merge_call const&) = delete;
  float* at(std::size_t number) { return memory.data() + number * piece; }

  std::string saved() {
    return unchanged(op.forward(ss::exec::dry_run{exec}, parts, y, {state}),
                     [&] { op.forward(exec, parts, y, {state}); });
  }
  std::string not_saved() {
    return unchanged(op.forward(ss::exec::dry_run{exec}, parts, y, ss::no_saved),
                     [&] { op.forward(exec, parts, y, ss::no_saved); });
  }
  std::string message() {
    std::string const message_of_saved = saved();
    CHECK(not_saved() == message_of_saved);
    return message_of_saved;
  }

 private:
  template <class F>
  std::string unchanged(ss::status const& status, F const& call) {
    auto const before = memory;
    std::string const message = error_message(status, call);
    if (message.empty()) return "";
    CHECK(same_bits(memory, before));
    std::string const head = "merge_attention.forward: ";
    CHECK(message.substr(0, head.size()) == head);
    return message.substr(head.size());
  }

  ss::merge_attention const op{};
};

}  // namespace

TEST_CASE("valid calls are accepted") {
  merge_call c;
  SUBCASE("as it is") {}
  SUBCASE("one part") { c.parts.resize(1); }
  SUBCASE("sixteen parts") { c.parts.resize(16, c.parts[1]); }
  SUBCASE("over part 0") { c.y = {c.at(0), c.of_y}, c.state = {c.at(1), c.of_state}; }
  SUBCASE("y over part 0") { c.y = {c.at(0), c.of_y}; }
  SUBCASE("the state over part 0") { c.state = {c.at(1), c.of_state}; }
  SUBCASE("one part twice") { c.parts[2] = c.parts[1]; }
  SUBCASE("parts that heads share") {
    c.parts[1] = {{c.at(2), c.of_y, {35, 0, 7, 1}}, {c.at(3), c.of_state, {0, 0, 2, 1}}};
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
  CHECK(c.message() == "");
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
  CHECK(c.memory[7 * c.piece] == 2.5f);      // the maximum
  CHECK(c.memory[7 * c.piece + 1] == 7.5f);  // the sum of three parts
  CHECK(same_bits(c.memory, d.memory));
  CHECK(same_bits(c.memory, e.memory));
  CHECK(same_bits(c.memory, f.memory));
}

TEST_CASE("the number of parts") {
  merge_call c;
  c.parts.clear();
  CHECK(c.message() == "parts.size is 0, must be in 1..16");
  merge_call d;
  d.parts.resize(17, d.parts[1]);
  CHECK(d.message() == "parts.size is 17, must be in 1..16");
}

TEST_CASE("shapes") {
  merge_call c;
  SUBCASE("of a part") {
    c.parts[1].y = {c.at(2), {1, 3, 5, 7}};
    CHECK(c.message() == "parts[1].y.batch is 1, must be 2 (parts[0].y.batch)");
    c.parts[1].y = {c.at(2), {2, 2, 5, 7}};
    CHECK(c.message() == "parts[1].y.heads is 2, must be 3 (parts[0].y.heads)");
    c.parts[1].y = {c.at(2), {2, 3, 4, 7}};
    CHECK(c.message() == "parts[1].y.queries is 4, must be 5 (parts[0].y.queries)");
    c.parts[1].y = {c.at(2), {2, 3, 5, 6}};
    CHECK(c.message() == "parts[1].y.values is 6, must be 7 (parts[0].y.values)");
  }
  SUBCASE("of a part's state") {
    c.parts[0].state = {c.at(1), {2, 3, 5, 3}};
    CHECK(c.message() == "parts[0].state.numbers is 3, must be 2");
    c.parts[0].state = {c.at(1), {2, 3, 4, 2}};
    CHECK(c.message() == "parts[0].state.queries is 4, must be 5 (parts[0].y.queries)");
    c.parts[0].state = {c.at(1), {2, 6, 5, 2}};
    CHECK(c.message() == "parts[0].state.heads is 6, must be 3 (parts[0].y.heads)");
    c.parts[0].state = {c.at(1), {3, 3, 5, 2}};
    CHECK(c.message() == "parts[0].state.batch is 3, must be 2 (parts[0].y.batch)");
    c.parts[0].state = {nullptr, c.of_state};
    CHECK(c.message() == "parts[0].state.data is null, must point to [2, 3, 5, 2]");
  }
  SUBCASE("of y and the state") {
    c.y = {c.at(6), {2, 3, 5, 8}};
    CHECK(c.message() == "y.values is 8, must be 7 (parts[0].y.values)");
    c.y = {nullptr, c.of_y};
    CHECK(c.message() == "y.data is null, must point to [2, 3, 5, 7]");
    c.y = {c.at(6), c.of_y};
    c.state = {c.at(7), {2, 3, 5, 1}};
    CHECK(c.saved() == "state.numbers is 1, must be 2");
    CHECK(c.not_saved() == "");
  }
  SUBCASE("views alone") {
    c.parts[0].y = {c.at(0), {2, 3, -5, 7}};
    CHECK(c.message() == "parts[0].y.queries is -5, must not be negative");
    c.parts[0].y = {c.at(0), c.of_y, {105, 35, -7, 1}};
    CHECK(c.message() == "parts[0].y.stride.queries is -7, must be zero or positive");
  }
  SUBCASE("outputs give every element its place") {
    c.y = {c.at(6), c.of_y, {105, 0, 7, 1}};
    CHECK(c.message() == "y.stride.heads is 0, must be positive");
    c.y = {c.at(6), c.of_y};
    c.state = {c.at(7), c.of_state, {30, 10, 1, 1}};
    CHECK(says(c.saved(), "state.strides are [30, 10, 1, 1]"));
    // The input view is read-only, but the output that aliases it is written.
    c.state = {c.at(7), c.of_state};
    c.parts[0].y = c.y = {c.at(0), c.of_y, {105, 35, 0, 1}};
    CHECK(c.message() == "y.stride.queries is 0, must be positive");
  }
}

TEST_CASE("outputs may only share memory with part 0, as the same view") {
  char const* const pieces[] = {"parts[0].y",     "parts[0].state", "parts[1].y",
                                "parts[1].state", "parts[2].y",     "parts[2].state"};
  for (std::size_t piece = 0; piece < 6; ++piece) {
    CAPTURE(pieces[piece]);
    merge_call c;
    for (std::size_t shift : {0u, 1u}) {
      c.y = {c.at(piece) + shift, c.of_y};
      bool const same = piece == 0 && shift == 0;
      if (same)
        CHECK(c.message() == "");
      else
        CHECK(says(c.message(), (std::string("y overlaps ") + pieces[piece]).c_str()));
    }
    c.y = {c.at(6), c.of_y};
    for (std::size_t shift : {0u, 1u}) {
      c.state = {c.at(piece) + shift, c.of_state};
      CHECK(c.not_saved() == "");
      bool const same = piece == 1 && shift == 0;
      if (same)
        CHECK(c.saved() == "");
      else
        CHECK(says(c.saved(), (std::string("state overlaps ") + pieces[piece]).c_str()));
    }
  }
  merge_call c;
  c.state = {c.at(6) + 1, c.of_state};
  CHECK(says(c.saved(), "state overlaps y"));
  c.state = {c.at(7), c.of_state};
  c.parts[2] = c.parts[0];  // valid to read, but not the same view as part 0
  c.y = {c.at(0), c.of_y};
  CHECK(says(c.message(), "y overlaps parts[2].y"));
}

TEST_CASE("policy and workspace") {
  merge_call c;
  ss::merge_attention const op;
  CHECK(op.workspace_bytes<float>(c.exec, c.of_y) == 0);
  CHECK(op.workspace_bytes<float>(ss::exec::dry_run{c.exec}, c.of_y));
  c.exec.threads = 0;
  CHECK(c.message() == "exec.threads is 0, must be at least 1");
  CHECK(error_message(op.workspace_bytes<float>(ss::exec::dry_run{c.exec}, c.of_y), [&] {
          (void)op.workspace_bytes<float>(c.exec, c.of_y);
        }) == "merge_attention.workspace_bytes: exec.threads is 0, must be at least 1");
}
