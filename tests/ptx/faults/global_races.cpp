// SPDX-License-Identifier: Apache-2.0
// Detection of races in global memory, if enabled. The barriers of a block order its threads;
// nothing orders two blocks of a launch.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::fault_messages;
using run_kernel::launch_config;
using run_kernel::passes;

namespace {

launch_config watch_global_races(unsigned threads, unsigned blocks) {
  launch_config config;
  config.threads = threads;
  config.blocks = blocks;
  config.options.global_races = true;
  return config;
}

// Each thread writes its index, and reads the index that thread t ^ 32 wrote.
std::string exchange_values(std::string const& between) {
  return "st.global.u32 [%out_t], %t;\n" + between +
         "\nxor.b32 %a0, %t, 32;\nmul.wide.u32 %g0, %a0, 4;\nadd.s64 %g0, %g0, %out;\n"
         "ld.global.u32 %a1, [%g0];";
}

}  // namespace

TEST_CASE("a barrier orders the warps of a block") {
  CHECK(contains(fault_messages(exchange_values(""), watch_global_races(64, 1)),
                 "race in global memory"));
  CHECK(passes(exchange_values("bar.sync 0;"), watch_global_races(64, 1)));
  CHECK(passes(exchange_values(""), {64}));  // detection is off
}

TEST_CASE("bar.warp.sync orders the lanes of a warp") {
  std::string const write = "st.global.u32 [%out_t], %t;\n";
  std::string const read =
      "xor.b32 %a0, %sh, 4;\ncvt.u64.u32 %g0, %a0;\nadd.s64 %g0, %g0, %out;\n"
      "ld.global.u32 %a1, [%g0];";
  CHECK(contains(fault_messages(write + read, watch_global_races(32, 1)),
                 "it reads what thread 1 wrote, and nothing orders the two (thread 0, address 0x"));
  CHECK(passes(write + "bar.warp.sync -1;\n" + read, watch_global_races(32, 1)));
}

TEST_CASE("nothing orders the blocks of a launch") {
  // Each block accesses its own elements; then all blocks access those of block 0.
  CHECK(passes("st.global.u32 [%out_t], %t;\nld.global.u32 %a0, [%out_t];",
               watch_global_races(32, 3)));
  std::string const first = "mul.wide.u32 %g0, %t, 4;\nadd.s64 %g0, %g0, %out;\n";
  CHECK(contains(fault_messages(first + "st.global.u32 [%g0], %t;", watch_global_races(32, 2)),
                 "it writes what another block wrote"));
  CHECK(contains(fault_messages(first + "st.global.u32 [%out_t], %t;\nbar.sync 0;\n"
                                        "ld.global.u32 %a0, [%g0];",
                                watch_global_races(32, 2)),
                 "it reads what another block wrote"));
  // Two blocks read the elements that the last block writes.
  std::string const last =
      "setp.eq.s32 %q0, %c, 2;\n@%q0 st.global.u32 [%g0], %t;\n"
      "@!%q0 ld.global.u32 %a0, [%g0];";
  CHECK(contains(fault_messages(first + last, watch_global_races(32, 3)),
                 "it writes what another block read"));
  CHECK(passes(first + "ld.global.u32 %a0, [%g0];", watch_global_races(32, 3)));
}

TEST_CASE("cluster barriers order the blocks of a cluster") {
  std::string const write = "st.global.u32 [%out_t], %t;\n";
  std::string const read =
      "xor.b32 %a0, %c, 1;\nmad.lo.s32 %a0, %a0, 32, %t;\n"
      "mul.wide.u32 %g0, %a0, 4;\nadd.s64 %g0, %g0, %out;\n"
      "ld.global.u32 %a1, [%g0];";
  launch_config config = watch_global_races(32, 2);
  config.cluster = 2;
  CHECK(contains(fault_messages(write + read, config), "race in global memory"));
  CHECK(contains(fault_messages(write + "bar.sync 0;\n" + read, config), "race in global memory"));
  CHECK(passes(write + "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" + read, config));
}
