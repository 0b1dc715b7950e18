// SPDX-License-Identifier: Apache-2.0
// Races in shared memory. Each is reported for every order of warps, and no longer reported after a
// synchronization is added that orders the two accesses.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::fault_messages;
using run_kernel::launch_config;
using run_kernel::passes;
using run_kernel::run;

namespace {

// Each thread writes its index, and reads the index that the thread `distance` before it wrote.
std::string exchange_values(int distance, std::string const& between) {
  return "st.shared.u32 [%sh], %t;\n" + between + "\nsub.s32 %a0, %t, " + std::to_string(distance) +
         ";\nand.b32 %a0, %a0, 63;\nshl.b32 %a0, %a0, 2;\nld.shared.u32 %a1, [%a0];\n"
         "st.global.u32 [%out_t], %a1;";
}
launch_config const two_warps = {64};

}  // namespace

TEST_CASE("a write and another warp's read need a barrier between them") {
  // The fault depends on which access comes first.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    launch_config config = two_warps;
    config.seed = seed;
    std::string const fault = run(exchange_values(32, ""), config).fault;
    bool const unwritten = fault.find("which was never written") != std::string::npos;
    if (!unwritten) contains(fault, "race at byte");
  }
  CHECK(passes(exchange_values(32, "bar.sync 0;"), two_warps));
}

TEST_CASE("a report names the two threads, the byte and the line") {
  auto const result =
      run("setp.eq.s32 %q0, %t, 5;\n@%q0 st.shared.u32 [%z+64], %t;\n"
          "setp.eq.s32 %q1, %t, 6;\n@%q1 ld.shared.u32 %a0, [%z+64];");
  CHECK(result.fault ==
        "race at byte 64 of shared memory: thread 6 reads what thread 5 wrote, and nothing orders "
        "the two");
  CHECK(contains(result.location, "k, block 0, warp 0, line "));
  CHECK(contains(result.location, "`@%q1 ld.shared.u32 %a0, [%z+64];`"));
}

TEST_CASE("lanes of a warp are ordered by bar.warp.sync, not by being in lockstep") {
  launch_config const one_warp = {32};
  std::string const swap =
      "st.shared.u32 [%sh], %t;\n@@\nxor.b32 %a0, %sh, 4;\n"
      "ld.shared.u32 %a1, [%a0];\nst.global.u32 [%out_t], %a1;";
  auto const with_sync = [&](std::string const& between) {
    return std::string(swap).replace(swap.find("@@"), 2, between);
  };
  CHECK(contains(fault_messages(with_sync(""), one_warp), "thread 0 reads what thread 1 wrote"));
  // A shuffle or vote exchanges registers, and does not order memory.
  CHECK(contains(fault_messages(with_sync("shfl.sync.bfly.b32 %a2, %t, 1, 31, -1;"), one_warp),
                 "race"));
  CHECK(contains(fault_messages(with_sync("vote.sync.any.pred %q0, %q0, -1;"), one_warp), "race"));
  CHECK(passes(with_sync("bar.warp.sync -1;"), one_warp));
  CHECK(passes(with_sync("bar.sync 0;"), one_warp));
}

TEST_CASE("bar.warp.sync of some lanes orders these lanes") {
  // Pairs of lanes exchange values; the mask of each lane is its half-warp.
  std::string const halves =
      "setp.lt.s32 %q0, %t, 16;\nselp.b32 %a3, 0xffff, 0xffff0000, %q0;\n"
      "st.shared.u32 [%sh], %t;\nbar.warp.sync %a3;\n";
  auto const read = [](int lane_xor) {
    return "xor.b32 %a0, %sh, " + std::to_string(4 * lane_xor) + ";\nld.shared.u32 %a1, [%a0];";
  };
  CHECK(passes(halves + read(1)));
  CHECK(passes(halves + read(8)));
  CHECK(contains(fault_messages(halves + read(16)), "thread 0 reads what thread 16 wrote"));
  // The order is transitive: lanes 0 and 1 synchronize, then lanes 1 and 2.
  std::string const chain =
      "setp.eq.s32 %q0, %t, 0;\n@%q0 st.shared.u32 [%z], %t;\n"
      "setp.lt.s32 %q1, %t, 2;\n@%q1 bar.warp.sync 3;\n"
      "sub.s32 %a0, %t, 1;\nsetp.lt.u32 %q2, %a0, 2;\n@%q2 bar.warp.sync @@;\n"
      "setp.eq.s32 %q3, %t, 2;\n@%q3 ld.shared.u32 %a1, [%z];";
  CHECK(passes(std::string(chain).replace(chain.find("@@"), 2, "6")));
  std::string const unordered =
      std::string(chain)
          .replace(chain.find("%q2 bar.warp.sync @@"), 20, "%q2 bar.warp.sync 6")
          .replace(chain.find("@%q1 bar.warp.sync 3;"), 21, "");
  CHECK(contains(fault_messages(unordered), "thread 2 reads what thread 0 wrote"));
}

TEST_CASE("a write after another thread's read needs a barrier between them") {
  std::string const first = "st.shared.u32 [%sh], %t;\nbar.sync 0;\n";
  std::string const read = "xor.b32 %a0, %sh, 128;\nld.shared.u32 %a1, [%a0];\n";
  std::string const write = "st.shared.u32 [%sh], %a1;";
  CHECK(contains(fault_messages(first + read + write, two_warps), "race at byte"));
  CHECK(passes(first + read + "bar.sync 0;\n" + write, two_warps));
  // All threads read a word that one of them then writes.
  std::string const all_read = "ld.shared.u32 %a1, [%z];\n";
  std::string const one_writes = "setp.eq.s32 %q0, %t, 0;\n@%q0 st.shared.u32 [%z], %t;";
  CHECK(contains(run(first + all_read + one_writes, two_warps).fault, "race at byte 0"));
  CHECK(passes(first + all_read + "bar.sync 0;\n" + one_writes, two_warps));
  CHECK(contains(fault_messages(first + all_read + one_writes),
                 "thread 0 writes what thread 1 read"));
  CHECK(passes(first + all_read + "bar.warp.sync -1;\n" + one_writes));
}

TEST_CASE("two threads that write the same bytes race, even with the same number") {
  CHECK(
      contains(fault_messages("st.shared.u32 [%z+8], 1;"), "thread 1 writes what thread 0 wrote"));
  CHECK(passes("setp.eq.s32 %q0, %t, 3;\n@%q0 st.shared.u32 [%z+8], 1;"));
}

TEST_CASE("accesses to different bytes of a word do not race") {
  CHECK(passes("st.shared.u8 [%t], 1;\nld.shared.u8 %h0, [%t];"));
  CHECK(passes("shl.b32 %a0, %t, 1;\nst.shared.u16 [%a0], 1;\nld.shared.u16 %h0, [%a0];"));
  // A byte of a word that another thread writes.
  CHECK(contains(
      fault_messages("st.shared.u32 [%sh], %t;\nadd.s32 %a0, %sh, 3;\nand.b32 %a0, %a0, 127;\n"
                     "add.s32 %a0, %a0, 4;\nand.b32 %a0, %a0, 127;\nld.shared.u8 %h0, [%a0];"),
      "race at byte 7"));
}

TEST_CASE("accesses of different widths to the same bytes") {
  // 8 threads access 16 bytes each; then 128 threads access one byte each; then again 16 bytes.
  launch_config const config = {128};
  std::string const wide =
      "setp.lt.s32 %q0, %t, 8;\nshl.b32 %a0, %t, 4;\n"
      "@%q0 st.shared.v4.u32 [%a0], {%t, %t, %t, %t};\n";
  std::string const narrow = "st.shared.u8 [%t], 5;\n";
  std::string const wide_read = "@%q0 ld.shared.v4.u32 {%a1, %a2, %a3, %a4}, [%a0];\n";
  std::string const narrow_read = "sub.s32 %a5, 127, %t;\nld.shared.u8 %h0, [%a5];\n";
  std::string const barrier = "bar.sync 0;\n";
  CHECK(passes(wide + barrier + narrow + barrier + wide_read + barrier + wide + barrier +
                   narrow_read + barrier + narrow,
               config));
  CHECK(contains(fault_messages(wide + narrow, config), "race at byte"));
  CHECK(contains(fault_messages(wide + barrier + narrow + wide_read, config), "race at byte"));
  CHECK(contains(fault_messages(wide + barrier + wide_read + narrow, config), "race at byte"));
  CHECK(contains(fault_messages(wide + barrier + narrow_read + wide, config), "race at byte"));
  CHECK(contains(fault_messages(wide + barrier + narrow + barrier + wide + narrow_read, config),
                 "race at byte"));
  std::string const beyond =
      "setp.lt.s32 %q0, %t, 8;\nshl.b32 %a0, %t, 4;\nadd.s32 %a0, %a0, 128;\n";
  CHECK(contains(fault_messages(narrow + barrier + beyond + wide_read, config),
                 "which was never written"));
}

TEST_CASE("unwatched races are not reported") {
  launch_config config;
  config.options.shared_races = false;
  CHECK(passes("st.shared.u32 [%z+8], 1;\nld.shared.u32 %a0, [%z+8];", config));
  config.options.unwritten_shared = false;
  CHECK(passes("st.shared.u32 [%z+8], 1;\nld.shared.u32 %a0, [%z+12];", config));
}
