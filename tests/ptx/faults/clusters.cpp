// SPDX-License-Identifier: Apache-2.0
// Clusters: shared memory of other blocks, barriers of the cluster, and blocks that exit too early.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::fault_messages;
using run_kernel::launch_config;
using run_kernel::passes;
using run_kernel::run;

namespace {

launch_config const two_blocks = {64, 2, 2};
std::string const cluster_sync = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
// Sets %g1 to the address of this thread's word in the shared memory of the next block.
std::string const address_next_word =
    "cvt.u64.u32 %g0, %sh;\ncvta.shared.u64 %g0, %g0;\n"
    "mov.u32 %a0, %cluster_ctarank;\nmov.u32 %a1, %cluster_nctarank;\n"
    "add.s32 %a0, %a0, 1;\nrem.u32 %a0, %a0, %a1;\n"
    "mapa.u64 %g1, %g0, %a0;\n";
std::string const write_own_word = "mad.lo.s32 %a2, %c, 1000, %t;\nst.shared.u32 [%sh], %a2;\n";
std::string const read_next_word = "ld.u32 %a3, [%g1];\n";
std::string const store_result = "st.global.u32 [%out_t], %a3;\n";

}  // namespace

TEST_CASE("blocks of a cluster read each other's shared memory") {
  for (unsigned const cluster_size : {1u, 2u, 4u, 8u}) {
    launch_config const config = {64, 8, cluster_size};
    auto const result = run(address_next_word + write_own_word + cluster_sync + read_next_word +
                                cluster_sync + store_result,
                            config);
    CHECK(result.fault == "");
    for (unsigned b = 0; b < 8; ++b)
      for (unsigned t = 0; t < 64; ++t)
        CHECK(result.out[64 * b + t] ==
              1000 * (b / cluster_size * cluster_size + (b + 1) % cluster_size) + t);
    CHECK(result.counts.cluster_barriers == 2 * 8 / cluster_size);
  }
  CHECK(passes(address_next_word + write_own_word + cluster_sync + read_next_word + cluster_sync,
               two_blocks));
}

TEST_CASE("a block barrier does not order two blocks") {
  CHECK(contains(fault_messages(address_next_word + write_own_word + "bar.sync 0;\n" +
                                    cluster_sync + read_next_word + cluster_sync,
                                two_blocks),
                 ""));
  for (std::string const& fault : fault_messages(
           address_next_word + write_own_word + "bar.sync 0;\n" + read_next_word + cluster_sync,
           two_blocks)) {
    bool const reported = fault.find("race") != std::string::npos ||
                          fault.find("which was never written") != std::string::npos;
    CHECK(reported);
  }
  // A write to another block's memory, which that block has read.
  std::string const read_before_remote_write = address_next_word + write_own_word + cluster_sync +
                                               "ld.shared.u32 %a3, [%sh];\nbar.sync 0;\n";
  std::string const remote_write = "st.u32 [%g1], %t;\n";
  CHECK(contains(fault_messages(read_before_remote_write + remote_write + cluster_sync, two_blocks),
                 "race at byte"));
  CHECK(passes(read_before_remote_write + cluster_sync + remote_write + cluster_sync, two_blocks));
  // A write to a block's own memory, which another block has read.
  CHECK(contains(fault_messages(address_next_word + write_own_word + cluster_sync + read_next_word +
                                    "bar.sync 0;\nst.shared.u32 [%sh], %t;\n" + cluster_sync,
                                two_blocks),
                 "race at byte"));
  CHECK(passes(address_next_word + write_own_word + cluster_sync + read_next_word + cluster_sync +
                   "st.shared.u32 [%sh], %t;\n",
               two_blocks));
}

TEST_CASE("nothing is ordered between arriving and waiting") {
  // The write precedes the wait, but follows the arrival.
  CHECK(contains(fault_messages(address_next_word + "barrier.cluster.arrive;\n" + write_own_word +
                                    "barrier.cluster.wait;\n" + read_next_word + cluster_sync,
                                two_blocks),
                 "race at byte"));
  // Accesses that no other block depends on are allowed there.
  CHECK(passes(address_next_word + write_own_word +
                   "barrier.cluster.arrive;\nld.shared.u32 %a4, [%sh];\n"
                   "barrier.cluster.wait;\n" +
                   read_next_word + cluster_sync + "st.shared.u32 [%sh], %t;\n",
               two_blocks));
  CHECK(contains(fault_messages("barrier.cluster.arrive;\nbarrier.cluster.arrive;", two_blocks),
                 "arrives twice, without waiting between"));
  CHECK(contains(fault_messages("barrier.cluster.wait;", two_blocks),
                 "waits without having arrived"));
}

TEST_CASE("a block that leaves the cluster while other blocks use its shared memory") {
  // The message depends on which block runs first.
  for (std::string const& fault : fault_messages(
           address_next_word + write_own_word + cluster_sync + read_next_word, two_blocks)) {
    bool const reported =
        fault.find(
            "the block leaves the cluster, and no barrier is between this and an access of "
            "thread ") != std::string::npos ||
        fault.find("of the cluster, which has ended") != std::string::npos;
    CHECK_MESSAGE(reported, fault);
  }
  CHECK(passes(address_next_word + write_own_word + cluster_sync + read_next_word + cluster_sync,
               two_blocks));
  CHECK(passes(address_next_word + write_own_word + cluster_sync + read_next_word +
                   "barrier.cluster.arrive;\nbarrier.cluster.wait;",
               two_blocks));
}

TEST_CASE("a cluster barrier that part of a warp, or a block, misses") {
  CHECK(
      contains(fault_messages("setp.eq.s32 %q0, %t, 3;\n@%q0 barrier.cluster.arrive;", two_blocks),
               "a cluster's barrier that part of a warp does not reach"));
  // The barrier does not wait for blocks that have ended.
  CHECK(passes("setp.eq.s32 %q0, %c, 0;\n@%q0 ret;\n" + cluster_sync, two_blocks));
}

TEST_CASE("removing a barrier of the cluster removes its wait") {
  launch_config without_barrier = two_blocks;
  without_barrier.removed = 0;
  std::string const text =
      address_next_word + write_own_word + cluster_sync + read_next_word + cluster_sync;
  for (std::string const& fault : fault_messages(text, without_barrier)) {
    bool const reported = fault.find("race") != std::string::npos ||
                          fault.find("which was never written") != std::string::npos;
    CHECK_MESSAGE(reported, fault);
  }
  without_barrier.removed = 1;
  for (std::string const& fault : fault_messages(text, without_barrier)) CHECK(fault != "");
}

TEST_CASE("invalid addresses of shared memory") {
  CHECK(contains(fault_messages("cvta.shared.u64 %g0, 0;\nmapa.u64 %g1, %g0, 2;", two_blocks),
                 "block 2 of a cluster of 2"));
  CHECK(contains(fault_messages("mapa.u64 %g1, %out, 1;", two_blocks),
                 "not an address of shared memory"));
  CHECK(contains(fault_messages(address_next_word + "cvta.to.shared.u64 %g2, %g1;", two_blocks),
                 "another block's"));
  CHECK(passes(address_next_word + "cvta.to.shared.u64 %g2, %g0;\ncvt.u32.u64 %a4, %g2;\n"
                                   "st.shared.u32 [%a4], %t;\nld.shared.u32 %a5, [%sh];",
               two_blocks));
  CHECK(contains(fault_messages("cvta.to.shared.u64 %g2, %out;", two_blocks),
                 "not an address of shared memory"));
  CHECK(passes("cvta.to.global.u64 %g2, %out_t;\nst.global.u32 [%g2], %t;", two_blocks));
}
