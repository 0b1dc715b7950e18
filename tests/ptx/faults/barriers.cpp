// SPDX-License-Identifier: Apache-2.0
// Barriers of a block: participating threads, reductions, and the faults if a barrier is removed.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::fault_messages;
using run_kernel::launch_config;
using run_kernel::passes;
using run_kernel::run;
using run_kernel::words;

namespace {

launch_config const two_warps = {64};
std::string const set_q0_in_half_warp = "setp.lt.s32 %q0, %t, 16;\n";
std::string const set_q0_in_first_warp = "setp.lt.s32 %q0, %t, 32;\n";
// Reads a value that the other warp wrote.
std::string const read_other_warp =
    "xor.b32 %a0, %sh, 128;\nld.shared.u32 %a1, [%a0];\n"
    "st.global.u32 [%out_t], %a1;\n";

}  // namespace

TEST_CASE("a barrier that part of a warp misses") {
  CHECK(contains(fault_messages(set_q0_in_half_warp + "@%q0 bar.sync 0;"),
                 "a barrier that part of a warp does not reach: lanes 0000ffff of ffffffff"));
  CHECK(contains(fault_messages(set_q0_in_half_warp + "@%q0 bra AFTER;\nbar.sync 0;\nAFTER:"),
                 "a barrier that part of a warp does not reach: lanes ffff0000 of ffffffff"));
  CHECK(contains(fault_messages(set_q0_in_half_warp + "@%q0 bar.red.or.pred %q1, 0, %q0;"),
                 "does not reach"));
  CHECK(passes(set_q0_in_half_warp + "@%q0 bra AFTER;\nadd.s32 %a0, %t, 1;\nAFTER:\nbar.sync 0;"));
}

TEST_CASE("threads that have left the kernel are not waited for") {
  CHECK(passes(set_q0_in_half_warp + "@%q0 ret;\nbar.sync 0;"));
  CHECK(
      passes(set_q0_in_first_warp + "@%q0 ret;\nbar.sync 0;\nst.shared.u32 [%sh], %t;", two_warps));
  // The last warp has fewer than 32 threads.
  CHECK(passes("bar.sync 0;\nst.shared.u32 [%sh], %t;\nbar.sync 0;", {48}));
  auto const result = run(set_q0_in_half_warp +
                              "@%q0 ret;\nsetp.lt.s32 %q1, %t, 100;\n"
                              "bar.red.popc.u32 %a0, 0, %q1;\nst.global.u32 [%out_t], %a0;",
                          two_warps);
  CHECK(result.out[63] == 48);
}

TEST_CASE("warps that wait at two kinds of barrier") {
  CHECK(
      contains(fault_messages(set_q0_in_first_warp + "@%q0 bra OTHER;\nbar.sync 0;\nret;\nOTHER:\n"
                                                     "bar.red.or.pred %q1, 0, %q0;",
                              two_warps),
               "waits at another kind of barrier than warp 0"));
  CHECK(contains(fault_messages(set_q0_in_first_warp +
                                    "@%q0 bra OTHER;\nbar.red.and.pred %q1, 0, %q0;\nret;\nOTHER:\n"
                                    "bar.red.or.pred %q1, 0, %q0;",
                                two_warps),
                 "waits at another kind of barrier"));
  // The same kind of barrier in two lines of the text.
  CHECK(passes(set_q0_in_first_warp + "@%q0 bra OTHER;\nbar.sync 0;\nret;\nOTHER:\nbar.sync 0;",
               two_warps));
}

TEST_CASE("a deadlock names the waiting warps and their lines") {
  // One warp waits for its block, the other for its cluster.
  std::string const text = set_q0_in_first_warp +
                           "@%q0 bra OTHER;\nbar.sync 0;\nret;\nOTHER:\n"
                           "barrier.cluster.arrive;\nbarrier.cluster.wait;";
  CHECK(contains(fault_messages(text, two_warps), "deadlock: warp "));
  CHECK(contains(fault_messages(text, two_warps), "warp 0 of block 0 waits in line "));
  CHECK(contains(fault_messages(text, two_warps), "warp 1 of block 0 waits in line "));
}

TEST_CASE("a warp that spins lets the others run") {
  CHECK(
      passes("setp.ge.s32 %q0, %t, 32;\n@%q0 bra WRITER;\n"
             "SPIN:\nld.volatile.global.u32 %a0, [%out];\nsetp.eq.s32 %q1, %a0, 0;\n"
             "@%q1 bra SPIN;\nret;\nWRITER:\nst.volatile.global.u32 [%out], 1;",
             two_warps));
}

TEST_CASE("barriers that reduce") {
  auto const run_reduction = [](std::string const& reduction, std::string const& predicate) {
    std::string const destination = reduction == "popc.u32" ? "%a0" : "%q1";
    auto const result = run("setp.eq.s32 %q0, %t, 40;\nsetp.lt.s32 %q2, %t, 64;\nbar.red." +
                                reduction + " " + destination + ", 0, " + predicate + ";\n" +
                                (destination == "%q1" ? "selp.b32 %a0, 1, 0, %q1;\n" : "") +
                                "st.global.u32 [%out_t], %a0;",
                            two_warps);
    CHECK(result.fault == "");
    for (std::uint32_t const n : result.out) CHECK(n == result.out[0]);
    return result.out[0];
  };
  CHECK(run_reduction("or.pred", "%q0") == 1);
  CHECK(run_reduction("and.pred", "%q0") == 0);
  CHECK(run_reduction("popc.u32", "%q0") == 1);
  CHECK(run_reduction("or.pred", "!%q2") == 0);
  CHECK(run_reduction("and.pred", "%q2") == 1);
  CHECK(run_reduction("popc.u32", "!%q0") == 63);
}

TEST_CASE("a removed synchronization does nothing") {
  std::string const text =
      "st.shared.u32 [%sh], %t;\nbar.sync 0;\n" + read_other_warp + "bar.sync 0;";
  CHECK(passes(text, two_warps));
  launch_config removed = two_warps;
  removed.removed = 0;
  for (std::string const& fault : fault_messages(text, removed)) {
    bool const reported = fault.find("race") != std::string::npos ||
                          fault.find("which was never written") != std::string::npos;
    CHECK(reported);
  }
  removed.removed = 1;
  CHECK(passes(text, removed));
  auto const counts = run(text, removed).counts;
  CHECK(counts.barriers == 1);
  CHECK(run(text, two_warps).counts.barriers == 2);

  std::string const lanes =
      "st.shared.u32 [%sh], %t;\nbar.warp.sync -1;\nxor.b32 %a0, %sh, 4;\n"
      "ld.shared.u32 %a1, [%a0];";
  CHECK(passes(lanes));
  launch_config without_first;
  without_first.removed = 0;
  CHECK(contains(fault_messages(lanes, without_first), "race at byte"));

  std::string const copy =
      "shl.b32 %a0, %t, 2;\ncp.async.ca.shared.global [%sh], [%in_t], 4;\n"
      "cp.async.wait_all;\nld.shared.u32 %a1, [%sh];";
  CHECK(passes(copy, {}, words(32)));
  CHECK(contains(fault_messages(copy, without_first, words(32)), "is still writing"));
}

TEST_CASE("without a reducing barrier, each warp reduces its own votes") {
  launch_config removed = two_warps;
  removed.removed = 0;
  auto const result =
      run("setp.eq.s32 %q0, %t, 40;\nbar.red.or.pred %q1, 0, %q0;\n"
          "selp.b32 %a0, 1, 0, %q1;\nst.global.u32 [%out_t], %a0;",
          removed);
  for (std::size_t t = 0; t < 64; ++t) CHECK(result.out[t] == (t < 32 ? 0 : 1));
}

TEST_CASE("memory barriers and nanosleep are supported") {
  CHECK(passes("membar.cta;\nmembar.gl;\nnanosleep.u32 20;"));
}
