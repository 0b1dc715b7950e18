// SPDX-License-Identifier: Apache-2.0
// cp.async: results, completion, and invalid accesses.
#include "run_kernel.hpp"

#include <cstdint>
#include <string>

using run_kernel::contains;
using run_kernel::fault_messages;
using run_kernel::launch_config;
using run_kernel::passes;
using run_kernel::run;
using run_kernel::words;

namespace {

words ascending(std::uint32_t count) {
  words values;
  for (std::uint32_t i = 0; i < count; ++i) values.push_back(i + 1);
  return values;
}

// Thread t copies words 4 t to 4 t + 3. `size` is an optional operand: the number of bytes to read.
std::string copy_statements(std::string const& size = "") {
  return "shl.b32 %a0, %t, 4;\nmul.wide.u32 %g0, %t, 16;\nadd.s64 %g0, %g0, %in;\n"
         "cp.async.cg.shared.global [%a0], [%g0], 16" +
         size + ";\n";
}
// Each thread then reads one word.
std::string const read_back = "ld.shared.u32 %a1, [%sh];\nst.global.u32 [%out_t], %a1;";
launch_config const two_warps = {64};

words run_two_warps(std::string const& statements, std::uint64_t seed) {
  launch_config config = two_warps;
  config.seed = seed;
  auto const result = run(statements, config, ascending(256));
  CHECK(result.fault == "");
  return result.out;
}

}  // namespace

TEST_CASE("a copy is complete after its wait, and for other threads after a barrier") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    CHECK(run_two_warps(copy_statements() + "cp.async.wait_all;\nbar.sync 0;\n" + read_back,
                        seed) == ascending(64));
}

TEST_CASE("a missing wait, or one after the barrier, is reported") {
  words const input = ascending(256);
  CHECK(contains(
      fault_messages(copy_statements() + "bar.sync 0;\n" + read_back + "\ncp.async.wait_all;",
                     two_warps, input),
      "reads what an asynchronous copy is still writing"));
  CHECK(contains(fault_messages(copy_statements() + "bar.sync 0;\ncp.async.wait_all;\n" + read_back,
                                two_warps, input),
                 "race at byte"));
  // Even the thread itself may not access the destination.
  std::string const own_read = "ld.shared.u32 %a1, [%a0];\n";
  CHECK(contains(fault_messages(copy_statements() + own_read + "cp.async.wait_all;", {}, input),
                 "is still writing"));
  CHECK(passes(copy_statements() + "cp.async.wait_all;\n" + own_read, {}, input));
  CHECK(contains(
      fault_messages(copy_statements() + "st.shared.u32 [%a0], %t;\ncp.async.wait_all;", {}, input),
      "writes what an asynchronous copy is still writing"));
  CHECK(contains(fault_messages(copy_statements(), {}, input),
                 "ends while its asynchronous copy is under way"));
}

TEST_CASE("a copy into memory that other threads still read is reported") {
  std::string const before =
      "shl.b32 %a2, %t, 4;\nst.shared.v4.u32 [%a2], {%t, %t, %t, %t};\n"
      "bar.sync 0;\nxor.b32 %a3, %a2, 512;\nld.shared.u32 %a4, [%a3];\n";
  std::string const after = copy_statements() + "cp.async.wait_all;";
  CHECK(contains(fault_messages(before + after, two_warps, ascending(256)), "race at byte"));
  CHECK(passes(before + "bar.sync 0;\n" + after, two_warps, ascending(256)));
}

TEST_CASE("copies happen at their start or at the wait, at random") {
  // The source changes between the start and the wait.
  launch_config config = {1};
  int copied_at_start = 0, copied_at_wait = 0;
  for (config.seed = 1; config.seed <= 40; ++config.seed) {
    auto const result =
        run("cp.async.ca.shared.global [%z], [%in], 4;\nst.global.u32 [%in], 77;\n"
            "cp.async.wait_all;\nld.shared.u32 %a0, [%z];\nst.global.u32 [%out_t], %a0;",
            config, {5});
    CHECK(result.fault == "");
    copied_at_start += result.out[0] == 5;
    copied_at_wait += result.out[0] == 77;
  }
  CHECK(copied_at_start + copied_at_wait == 40);
  CHECK(copied_at_start > 5);
  CHECK(copied_at_wait > 5);
}

TEST_CASE("bytes beyond the size become zero") {
  std::string const rest = "cp.async.wait_all;\nbar.sync 0;\n" + read_back;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    words expected = ascending(64);
    for (std::uint32_t i = 0; i < 64; ++i)
      if (i % 4 >= 2) expected[i] = 0;
    CHECK(run_two_warps("mov.u32 %a5, 8;\n" + copy_statements(", %a5") + rest, seed) == expected);
    CHECK(run_two_warps("mov.u32 %a5, 0;\n" + copy_statements(", %a5") + rest, seed) == words(64));
    for (std::uint32_t i = 0; i < 64; ++i) expected[i] = i % 4 == 0 ? (i + 1) & 0xff : 0;
    CHECK(run_two_warps(copy_statements(", 1") + rest, seed) == expected);
  }
}

TEST_CASE("invalid sources and destinations of a copy") {
  words const input = ascending(128);
  std::string const wait = "cp.async.wait_all;";
  CHECK(passes(copy_statements() + wait, {}, input));
  CHECK(
      contains(fault_messages(copy_statements(", 17") + wait, {}, input), "copies 17 of 16 bytes"));
  CHECK(contains(fault_messages(copy_statements() + wait, {}, ascending(127)),
                 "copies from outside of global memory (thread 31, address 0x"));
  CHECK(passes(
      "setp.eq.s32 %q0, %t, 31;\nselp.b32 %a5, 12, 16, %q0;\n" + copy_statements(", %a5") + wait,
      {}, ascending(127)));
  // A copy of 0 bytes may have any source address.
  CHECK(passes(copy_statements(", 0") + wait, {}, ascending(4)));
  launch_config config;
  config.shared = 511;
  CHECK(contains(fault_messages(copy_statements() + wait, config, input),
                 "copies past the end of shared memory (thread 31"));
  CHECK(contains(fault_messages("cp.async.cg.shared.global [%sh], [%in], 16;", {}, input),
                 "copies to shared memory, misaligned (thread 1, address 0x4)"));
  CHECK(contains(fault_messages("cp.async.ca.shared.global [%z], [%in_t], 8;", {}, input),
                 "copies from global memory, misaligned (thread 1"));
}

TEST_CASE("wait_group leaves the last groups pending") {
  // Three groups of 4 bytes each, to [0], [4], [8].
  auto const wait_after_three_groups = [](std::string const& wait, int read) {
    std::string text;
    for (int i = 0; i < 3; ++i)
      text += "cp.async.ca.shared.global [%a" + std::to_string(i) + "], [%in], 4;\n" +
              "cp.async.commit_group;\n";
    return "mov.u32 %a0, 0;\nmov.u32 %a1, 4;\nmov.u32 %a2, 8;\n" + text + wait +
           "\nld.shared.u32 %a3, [%a" + std::to_string(read) + "];\ncp.async.wait_group 0;";
  };
  launch_config const one_thread = {1};
  CHECK(passes(wait_after_three_groups("cp.async.wait_group 0;", 2), one_thread));
  CHECK(passes(wait_after_three_groups("cp.async.wait_group 1;", 1), one_thread));
  CHECK(contains(fault_messages(wait_after_three_groups("cp.async.wait_group 1;", 2), one_thread),
                 "is still writing"));
  CHECK(passes(wait_after_three_groups("cp.async.wait_group 2;", 0), one_thread));
  CHECK(contains(fault_messages(wait_after_three_groups("cp.async.wait_group 2;", 1), one_thread),
                 "is still writing"));
  CHECK(contains(fault_messages(wait_after_three_groups("cp.async.wait_group 3;", 0), one_thread),
                 "is still writing"));
  // Only wait_all waits for copies without a group.
  std::string const uncommitted = "cp.async.ca.shared.global [%z], [%in], 4;\n";
  CHECK(passes(uncommitted + "cp.async.wait_all;\nld.shared.u32 %a0, [%z];", one_thread));
  CHECK(contains(
      fault_messages(uncommitted + "cp.async.wait_group 0;\nld.shared.u32 %a0, [%z];", one_thread),
      "is still writing"));
}
