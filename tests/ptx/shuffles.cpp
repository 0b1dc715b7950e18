// SPDX-License-Identifier: Apache-2.0
// shfl.sync and vote.sync: each lane's result according to the manual.
#include "run_kernel.hpp"

#include <cstdint>
#include <string>
#include <vector>

using run_kernel::contains;
using run_kernel::fault_messages;
using run_kernel::run;
using run_kernel::words;

namespace {

// Shuffles the values 100 + lane. Returns the result per lane, plus 1000 if the predicate is true.
words shuffle_lanes(std::string const& mode, int b, int c) {
  auto const result = run("add.s32 %a0, %t, 100;\nshfl.sync." + mode + ".b32 %a1|%q0, %a0, " +
                          std::to_string(b) + ", " + std::to_string(c) +
                          ", -1;\n@%q0 add.s32 %a1, %a1, 1000;\nst.global.u32 [%out_t], %a1;");
  CHECK(result.fault == "");
  return result.out;
}
// Returns the results for these source lanes. -1 - l stands for a source out of range: lane l keeps
// its value.
words expected_values(std::vector<int> const& lanes) {
  words values;
  for (int const l : lanes)
    values.push_back(static_cast<std::uint32_t>(l >= 0 ? 1100 + l : 100 - 1 - l));
  return values;
}
std::vector<int> for_all_lanes(int (*lane)(int)) {
  std::vector<int> lanes;
  for (int l = 0; l < 32; ++l) lanes.push_back(lane(l));
  return lanes;
}

}  // namespace

// Operand c holds the segment's mask in bits 8 to 12 and the clamp in bits 0 to 4. For __shfl_sync
// of `width` it is ((32 - width) << 8) | (0 for up, 31 otherwise).
TEST_CASE("shuffles of the whole warp") {
  CHECK(shuffle_lanes("up", 1, 0) ==
        expected_values(for_all_lanes([](int l) { return l < 1 ? -1 - l : l - 1; })));
  CHECK(shuffle_lanes("up", 31, 0) ==
        expected_values(for_all_lanes([](int l) { return l < 31 ? -1 - l : 0; })));
  CHECK(shuffle_lanes("down", 3, 31) ==
        expected_values(for_all_lanes([](int l) { return l > 28 ? -1 - l : l + 3; })));
  CHECK(shuffle_lanes("bfly", 5, 31) ==
        expected_values(for_all_lanes([](int l) { return l ^ 5; })));
  CHECK(shuffle_lanes("idx", 9, 31) == expected_values(for_all_lanes([](int) { return 9; })));
  CHECK(shuffle_lanes("idx", 41, 31) ==
        expected_values(for_all_lanes([](int) { return 9; })));  // modulo 32
  CHECK(shuffle_lanes("up", 0, 0) == expected_values(for_all_lanes([](int l) { return l; })));
}

TEST_CASE("shuffles of segments of 8 lanes") {
  int const up = 24 << 8, other = 24 << 8 | 31;
  CHECK(shuffle_lanes("up", 2, up) ==
        expected_values(for_all_lanes([](int l) { return l % 8 < 2 ? -1 - l : l - 2; })));
  CHECK(shuffle_lanes("down", 2, other) ==
        expected_values(for_all_lanes([](int l) { return l % 8 > 5 ? -1 - l : l + 2; })));
  CHECK(shuffle_lanes("bfly", 3, other) ==
        expected_values(for_all_lanes([](int l) { return l ^ 3; })));
  // A source in a later segment is out of range, one in an earlier segment is not.
  CHECK(shuffle_lanes("bfly", 8, other) ==
        expected_values(for_all_lanes([](int l) { return l / 8 % 2 == 0 ? -1 - l : l - 8; })));
  CHECK(shuffle_lanes("idx", 5, other) ==
        expected_values(for_all_lanes([](int l) { return l / 8 * 8 + 5; })));
  CHECK(shuffle_lanes("idx", 13, other) ==
        expected_values(for_all_lanes([](int l) { return l / 8 * 8 + 5; })));
}

TEST_CASE("the clamp bounds the source") {
  CHECK(shuffle_lanes("down", 1, 15) ==
        expected_values(for_all_lanes([](int l) { return l + 1 > 15 ? -1 - l : l + 1; })));
  CHECK(shuffle_lanes("up", 1, 4) ==
        expected_values(for_all_lanes([](int l) { return l - 1 < 4 ? -1 - l : l - 1; })));
  CHECK(shuffle_lanes("idx", 20, 15) ==
        expected_values(for_all_lanes([](int l) { return -1 - l; })));
  CHECK(shuffle_lanes("bfly", 16, 15) ==
        expected_values(for_all_lanes([](int l) { return l < 16 ? -1 - l : l - 16; })));
}

TEST_CASE("each lane may have a different source") {
  auto const result =
      run("xor.b32 %a1, %t, 31;\nshfl.sync.idx.b32 %a0, %sh, %a1, 31, -1;\n"
          "st.global.u32 [%out_t], %a0;");
  for (std::uint32_t l = 0; l < 32; ++l) CHECK(result.out[l] == 4 * (31 - l));
}

TEST_CASE("a shuffle requires all lanes of its mask") {
  std::string const set_q0_in_half_warp = "setp.lt.s32 %q0, %t, 16;\n";
  CHECK(
      contains(fault_messages(set_q0_in_half_warp + "@%q0 shfl.sync.bfly.b32 %a0, %t, 1, 31, -1;"),
               "lane 0 names lanes ffffffff, and here are 0000ffff"));
  CHECK(
      run_kernel::passes(set_q0_in_half_warp + "@%q0 shfl.sync.bfly.b32 %a0, %t, 1, 31, 0xffff;"));
  CHECK(contains(fault_messages(set_q0_in_half_warp +
                                "@%q0 bra AFTER;\nshfl.sync.bfly.b32 %a0, %t, 1, 31, -1;\nAFTER:"),
                 "lane 16 names lanes ffffffff, and here are ffff0000"));
  CHECK(contains(fault_messages(set_q0_in_half_warp + "selp.b32 %a1, 0xffff, 0xffff, %q0;\n"
                                                      "shfl.sync.bfly.b32 %a0, %t, 1, 31, %a1;"),
                 "lane 16 names lanes 0000ffff"));
  CHECK(contains(
      fault_messages(set_q0_in_half_warp + "@%q0 shfl.sync.bfly.b32 %a0, %t, 16, 31, 0xffff;"),
      "lane 0 reads lane 16, which takes no part"));
  // Lanes that have exited are ignored.
  CHECK(run_kernel::passes(set_q0_in_half_warp +
                           "@!%q0 ret;\nshfl.sync.bfly.b32 %a0, %t, 1, 31, -1;"));
  CHECK(contains(
      fault_messages(set_q0_in_half_warp + "@!%q0 ret;\nshfl.sync.bfly.b32 %a0, %t, 16, 31, -1;"),
      "lane 0 reads lane 16"));
}

TEST_CASE("votes") {
  auto const vote = [](std::string const& mode, std::string const& predicate) {
    auto const result =
        run("and.b32 %a0, %t, 1;\nsetp.eq.s32 %q0, %a0, 1;\nsetp.lt.s32 %q2, %t, 32;\n"
            "not.pred %q3, %q2;\n" +
            (mode == "ballot.b32" ? "vote.sync.ballot.b32 %a1, " + predicate + ", -1;\n"
                                  : "vote.sync." + mode + " %q1, " + predicate +
                                        ", -1;\nselp.b32 %a1, 1, 0, %q1;\n") +
            "st.global.u32 [%out_t], %a1;");
    CHECK(result.fault == "");
    for (std::uint32_t const n : result.out) CHECK(n == result.out[0]);
    return result.out[0];
  };
  CHECK(vote("ballot.b32", "%q0") == 0xaaaa'aaaa);
  CHECK(vote("ballot.b32", "!%q0") == 0x5555'5555);
  CHECK(vote("all.pred", "%q0") == 0);
  CHECK(vote("any.pred", "%q0") == 1);
  CHECK(vote("uni.pred", "%q0") == 0);
  CHECK(vote("all.pred", "%q2") == 1);
  CHECK(vote("uni.pred", "%q2") == 1);
  CHECK(vote("any.pred", "%q3") == 0);
  CHECK(vote("uni.pred", "%q3") == 1);
  CHECK(contains(fault_messages("setp.lt.s32 %q0, %t, 16;\n@%q0 vote.sync.any.pred %q1, %q0, -1;"),
                 "lane 0 names lanes ffffffff"));
}
