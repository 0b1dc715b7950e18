// SPDX-License-Identifier: Apache-2.0
// Clusters: shared memory of other blocks, barriers that all blocks meet at, and blocks that leave
// too early.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::found;
using run_kernel::passes;
using run_kernel::run;
using run_kernel::setup;

namespace {

setup const pair = {64, 2, 2};
std::string const meet = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
// %g1: this thread's word in the next block's shared memory.
std::string const next =
    "cvt.u64.u32 %g0, %at;\ncvta.shared.u64 %g0, %g0;\n"
    "mov.u32 %a0, %cluster_ctarank;\nmov.u32 %a1, %cluster_nctarank;\n"
    "add.s32 %a0, %a0, 1;\nrem.u32 %a0, %a0, %a1;\n"
    "mapa.u64 %g1, %g0, %a0;\n";
std::string const write = "mad.lo.s32 %a2, %c, 1000, %t;\nst.shared.u32 [%at], %a2;\n";
std::string const read = "ld.u32 %a3, [%g1];\n";
std::string const give = "st.global.u32 [%there], %a3;\n";

}  // namespace

TEST_CASE("blocks of a cluster read each other's shared memory") {
  for (unsigned const size : {1u, 2u, 4u, 8u}) {
    setup const s = {64, 8, size};
    auto const o = run(next + write + meet + read + meet + give, s);
    CHECK(o.fault == "");
    for (unsigned b = 0; b < 8; ++b)
      for (unsigned t = 0; t < 64; ++t)
        CHECK(o.out[64 * b + t] == 1000 * (b / size * size + (b + 1) % size) + t);
    CHECK(o.counted.cluster_barriers == 2 * 8 / size);
  }
  CHECK(passes(next + write + meet + read + meet, pair));
}

TEST_CASE("a block barrier does not order two blocks") {
  CHECK(contains(found(next + write + "bar.sync 0;\n" + meet + read + meet, pair), ""));
  for (std::string const& fault : found(next + write + "bar.sync 0;\n" + read + meet, pair)) {
    bool const noticed = fault.find("race") != std::string::npos ||
                         fault.find("which was never written") != std::string::npos;
    CHECK(noticed);
  }
  // A write into another block after it has read its own.
  std::string const late = next + write + meet + "ld.shared.u32 %a3, [%at];\nbar.sync 0;\n";
  std::string const far_write = "st.u32 [%g1], %t;\n";
  CHECK(contains(found(late + far_write + meet, pair), "race at byte"));
  CHECK(passes(late + meet + far_write + meet, pair));
  // A write into its own after another has read it.
  CHECK(contains(
      found(next + write + meet + read + "bar.sync 0;\nst.shared.u32 [%at], %t;\n" + meet, pair),
      "race at byte"));
  CHECK(passes(next + write + meet + read + meet + "st.shared.u32 [%at], %t;\n", pair));
}

TEST_CASE("between arriving and waiting nothing is ordered yet") {
  // The write comes before the wait, but after the arrival.
  CHECK(contains(
      found(next + "barrier.cluster.arrive;\n" + write + "barrier.cluster.wait;\n" + read + meet,
            pair),
      "race at byte"));
  // What does not concern others may be done there.
  CHECK(passes(next + write +
                   "barrier.cluster.arrive;\nld.shared.u32 %a4, [%at];\n"
                   "barrier.cluster.wait;\n" +
                   read + meet + "st.shared.u32 [%at], %t;\n",
               pair));
  CHECK(contains(found("barrier.cluster.arrive;\nbarrier.cluster.arrive;", pair),
                 "arrives twice, without waiting between"));
  CHECK(contains(found("barrier.cluster.wait;", pair), "waits without having arrived"));
}

TEST_CASE("a block that leaves the cluster while others use its shared memory") {
  // Whichever runs first: the block has ended, or it ends without knowing.
  for (std::string const& fault : found(next + write + meet + read, pair)) {
    bool const noticed =
        fault.find(
            "the block leaves the cluster, and no barrier is between this and an access of "
            "thread ") != std::string::npos ||
        fault.find("of the cluster, which has ended") != std::string::npos;
    CHECK_MESSAGE(noticed, fault);
  }
  CHECK(passes(next + write + meet + read + meet, pair));
  CHECK(
      passes(next + write + meet + read + "barrier.cluster.arrive;\nbarrier.cluster.wait;", pair));
}

TEST_CASE("a cluster's barrier that part of a warp misses, or a block") {
  CHECK(contains(found("setp.eq.s32 %q0, %t, 3;\n@%q0 barrier.cluster.arrive;", pair),
                 "a cluster's barrier that part of a warp does not reach"));
  // Blocks that have ended are not waited for.
  CHECK(passes("setp.eq.s32 %q0, %c, 0;\n@%q0 ret;\n" + meet, pair));
}

TEST_CASE("a barrier of the cluster that is removed goes with its wait") {
  setup without = pair;
  without.removed = 0;
  std::string const text = next + write + meet + read + meet;
  for (std::string const& fault : found(text, without)) {
    bool const noticed = fault.find("race") != std::string::npos ||
                         fault.find("which was never written") != std::string::npos;
    CHECK_MESSAGE(noticed, fault);
  }
  without.removed = 1;
  for (std::string const& fault : found(text, without)) CHECK(fault != "");
}

TEST_CASE("addresses of shared memory that there is not") {
  CHECK(contains(found("cvta.shared.u64 %g0, 0;\nmapa.u64 %g1, %g0, 2;", pair),
                 "block 2 of a cluster of 2"));
  CHECK(contains(found("mapa.u64 %g1, %out, 1;", pair), "not an address of shared memory"));
  CHECK(contains(found(next + "cvta.to.shared.u64 %g2, %g1;", pair), "another block's"));
  CHECK(passes(next + "cvta.to.shared.u64 %g2, %g0;\ncvt.u32.u64 %a4, %g2;\n"
                      "st.shared.u32 [%a4], %t;\nld.shared.u32 %a5, [%at];",
               pair));
  CHECK(contains(found("cvta.to.shared.u64 %g2, %out;", pair), "not an address of shared memory"));
  CHECK(passes("cvta.to.global.u64 %g2, %there;\nst.global.u32 [%g2], %t;", pair));
}
