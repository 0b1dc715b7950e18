// SPDX-License-Identifier: Apache-2.0
// Barriers of a block: who must come, who need not, what they reduce, and what is seen where one is
// removed.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::found;
using run_kernel::numbers;
using run_kernel::passes;
using run_kernel::run;
using run_kernel::setup;

namespace {

setup const two_warps = {64};
std::string const half = "setp.lt.s32 %q0, %t, 16;\n";
std::string const first_warp = "setp.lt.s32 %q0, %t, 32;\n";
// Reads what the other warp wrote.
std::string const read_other =
    "xor.b32 %a0, %at, 128;\nld.shared.u32 %a1, [%a0];\n"
    "st.global.u32 [%there], %a1;\n";

}  // namespace

TEST_CASE("a barrier that part of a warp misses") {
  CHECK(contains(found(half + "@%q0 bar.sync 0;"),
                 "a barrier that part of a warp does not reach: lanes 0000ffff of ffffffff"));
  CHECK(contains(found(half + "@%q0 bra AFTER;\nbar.sync 0;\nAFTER:"),
                 "a barrier that part of a warp does not reach: lanes ffff0000 of ffffffff"));
  CHECK(contains(found(half + "@%q0 bar.red.or.pred %q1, 0, %q0;"), "does not reach"));
  CHECK(passes(half + "@%q0 bra AFTER;\nadd.s32 %a0, %t, 1;\nAFTER:\nbar.sync 0;"));
}

TEST_CASE("threads that have left the kernel are not waited for") {
  CHECK(passes(half + "@%q0 ret;\nbar.sync 0;"));
  CHECK(passes(first_warp + "@%q0 ret;\nbar.sync 0;\nst.shared.u32 [%at], %t;", two_warps));
  // A block that ends within a warp.
  CHECK(passes("bar.sync 0;\nst.shared.u32 [%at], %t;\nbar.sync 0;", {48}));
  auto const o = run(half +
                         "@%q0 ret;\nsetp.lt.s32 %q1, %t, 100;\n"
                         "bar.red.popc.u32 %a0, 0, %q1;\nst.global.u32 [%there], %a0;",
                     two_warps);
  CHECK(o.out[63] == 48);
}

TEST_CASE("warps that wait at two kinds of barrier") {
  CHECK(contains(found(first_warp + "@%q0 bra OTHER;\nbar.sync 0;\nret;\nOTHER:\n"
                                    "bar.red.or.pred %q1, 0, %q0;",
                       two_warps),
                 "waits at another kind of barrier than warp 0"));
  CHECK(contains(found(first_warp + "@%q0 bra OTHER;\nbar.red.and.pred %q1, 0, %q0;\nret;\nOTHER:\n"
                                    "bar.red.or.pred %q1, 0, %q0;",
                       two_warps),
                 "waits at another kind of barrier"));
  // One barrier at two places of the text.
  CHECK(passes(first_warp + "@%q0 bra OTHER;\nbar.sync 0;\nret;\nOTHER:\nbar.sync 0;", two_warps));
}

TEST_CASE("a deadlock says who waits where") {
  // One warp waits for its block, the other for its cluster.
  std::string const text = first_warp +
                           "@%q0 bra OTHER;\nbar.sync 0;\nret;\nOTHER:\n"
                           "barrier.cluster.arrive;\nbarrier.cluster.wait;";
  CHECK(contains(found(text, two_warps), "deadlock: warp "));
  CHECK(contains(found(text, two_warps), "warp 0 of block 0 waits in line "));
  CHECK(contains(found(text, two_warps), "warp 1 of block 0 waits in line "));
}

TEST_CASE("a warp that spins lets the others run") {
  CHECK(
      passes("setp.ge.s32 %q0, %t, 32;\n@%q0 bra WRITER;\n"
             "SPIN:\nld.volatile.global.u32 %a0, [%out];\nsetp.eq.s32 %q1, %a0, 0;\n"
             "@%q1 bra SPIN;\nret;\nWRITER:\nst.volatile.global.u32 [%out], 1;",
             two_warps));
}

TEST_CASE("barriers that reduce") {
  auto const all_get = [](std::string const& reduction, std::string const& predicate) {
    std::string const to = reduction == "popc.u32" ? "%a0" : "%q1";
    auto const o =
        run("setp.eq.s32 %q0, %t, 40;\nsetp.lt.s32 %q2, %t, 64;\nbar.red." + reduction + " " + to +
                ", 0, " + predicate + ";\n" + (to == "%q1" ? "selp.b32 %a0, 1, 0, %q1;\n" : "") +
                "st.global.u32 [%there], %a0;",
            two_warps);
    CHECK(o.fault == "");
    for (std::uint32_t const n : o.out) CHECK(n == o.out[0]);
    return o.out[0];
  };
  CHECK(all_get("or.pred", "%q0") == 1);
  CHECK(all_get("and.pred", "%q0") == 0);
  CHECK(all_get("popc.u32", "%q0") == 1);
  CHECK(all_get("or.pred", "!%q2") == 0);
  CHECK(all_get("and.pred", "%q2") == 1);
  CHECK(all_get("popc.u32", "!%q0") == 63);
}

TEST_CASE("a synchronization that is removed does nothing") {
  std::string const text = "st.shared.u32 [%at], %t;\nbar.sync 0;\n" + read_other + "bar.sync 0;";
  CHECK(passes(text, two_warps));
  setup without = two_warps;
  without.removed = 0;
  for (std::string const& fault : found(text, without)) {
    bool const noticed = fault.find("race") != std::string::npos ||
                         fault.find("which was never written") != std::string::npos;
    CHECK(noticed);
  }
  without.removed = 1;
  CHECK(passes(text, without));
  auto const counted = run(text, without).counted;
  CHECK(counted.barriers == 1);
  CHECK(run(text, two_warps).counted.barriers == 2);

  std::string const lanes =
      "st.shared.u32 [%at], %t;\nbar.warp.sync -1;\nxor.b32 %a0, %at, 4;\n"
      "ld.shared.u32 %a1, [%a0];";
  CHECK(passes(lanes));
  setup one;
  one.removed = 0;
  CHECK(contains(found(lanes, one), "race at byte"));

  std::string const copy =
      "shl.b32 %a0, %t, 2;\ncp.async.ca.shared.global [%at], [%here], 4;\n"
      "cp.async.wait_all;\nld.shared.u32 %a1, [%at];";
  CHECK(passes(copy, {}, numbers(32)));
  CHECK(contains(found(copy, one, numbers(32)), "is still writing"));
}

TEST_CASE("where a barrier that reduces is removed, each warp has its own votes") {
  setup without = two_warps;
  without.removed = 0;
  auto const o =
      run("setp.eq.s32 %q0, %t, 40;\nbar.red.or.pred %q1, 0, %q0;\n"
          "selp.b32 %a0, 1, 0, %q1;\nst.global.u32 [%there], %a0;",
          without);
  for (std::size_t t = 0; t < 64; ++t) CHECK(o.out[t] == (t < 32 ? 0 : 1));
}

TEST_CASE("memory barriers and naps are known") {
  CHECK(passes("membar.cta;\nmembar.gl;\nnanosleep.u32 20;"));
}
