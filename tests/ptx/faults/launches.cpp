// SPDX-License-Identifier: Apache-2.0
// Invalid launches, and the settings of a launch.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::launch_config;
using run_kernel::run;
using run_kernel::words;

namespace {

// Returns the reason for rejecting a launch of a kernel with 1000 bytes of static shared memory and
// at most 512 threads.
std::string rejection(ptx::launch const& config, ptx::device_limits const& device,
                      std::size_t opted_in = 0) {
  ptx::kernel k;
  k.static_shared = 1000;
  k.max_threads = 512;
  return ptx::error_message(k, config, device, opted_in);
}
ptx::launch valid_launch() {
  ptx::launch config;
  config.grid = {8, 8, 8};
  config.block = {32, 2, 2};
  return config;
}

}  // namespace

TEST_CASE("grids and blocks beyond the limits") {
  for (ptx::device_limits const& device : {ptx::sm_80, ptx::sm_90}) {
    CHECK(rejection(valid_launch(), device) == "");
    auto const rejection_with = [&](auto const& change) {
      ptx::launch config = valid_launch();
      change(config);
      return rejection(config, device);
    };
    CHECK(
        contains(rejection_with([](auto& config) { config.grid.y = 0; }), "a grid without blocks"));
    CHECK(contains(rejection_with([](auto& config) { config.block.y = 0; }),
                   "a block without threads"));
    CHECK(rejection_with([](auto& config) { config.block = {512}; }) == "");
    CHECK(contains(rejection_with([](auto& config) { config.block = {513}; }),
                   "launch bounds: 513, at most 512"));
    CHECK(contains(rejection_with([](auto& config) { config.block = {1025}; }),
                   "block: 1025, at most 1024"));
    CHECK(contains(rejection_with([](auto& config) {
                     config.block = {1, 1, 65};
                   }),
                   "block.z: 65, at most 64"));
    CHECK(rejection_with([](auto& config) { config.grid = {0x7fffffff}; }) == "");
    CHECK(contains(rejection_with([](auto& config) { config.grid = {0x80000000}; }),
                   "grid.x: 2147483648, at most"));
    CHECK(rejection_with([](auto& config) { config.grid = {1, 65535, 65535}; }) == "");
    CHECK(contains(rejection_with([](auto& config) {
                     config.grid = {1, 65536};
                   }),
                   "grid.y: 65536, at most 65535"));
    CHECK(contains(rejection_with([](auto& config) {
                     config.grid = {1, 1, 65536};
                   }),
                   "grid.z: 65536, at most 65535"));
  }
}

TEST_CASE("clusters beyond the limits") {
  ptx::launch config = valid_launch();
  config.cluster = 8;
  CHECK(rejection(config, ptx::sm_90) == "");
  CHECK(contains(rejection(config, ptx::sm_80), "blocks of a cluster: 8, at most 1"));
  config.cluster = 16;
  config.grid.x = 16;
  CHECK(contains(rejection(config, ptx::sm_90), "blocks of a cluster: 16, at most 8"));
  config.cluster = 8;
  config.grid.x = 12;
  CHECK(
      contains(rejection(config, ptx::sm_90), "grid.x: 12, no multiple of the cluster's 8 blocks"));
  config.cluster = 0;
  CHECK(contains(rejection(config, ptx::sm_90), "a cluster without blocks"));
}

TEST_CASE("shared memory beyond the limits") {
  ptx::launch config = valid_launch();
  config.shared_bytes = (48 << 10) - 1000;
  CHECK(rejection(config, ptx::sm_80) == "");
  ++config.shared_bytes;
  CHECK(contains(rejection(config, ptx::sm_80), "bytes of dynamic shared memory"));
  CHECK(rejection(config, ptx::sm_80, config.shared_bytes) == "");
  config.shared_bytes = (163 << 10) - 1000;
  CHECK(rejection(config, ptx::sm_80, config.shared_bytes) == "");
  ++config.shared_bytes;
  CHECK(contains(rejection(config, ptx::sm_80, config.shared_bytes),
                 "bytes of shared memory: 166913, at most 166912"));
  CHECK(rejection(config, ptx::sm_90, config.shared_bytes) == "");
  config.shared_bytes = (227 << 10) - 1000;
  CHECK(rejection(config, ptx::sm_90, config.shared_bytes) == "");
  ++config.shared_bytes;
  CHECK(contains(rejection(config, ptx::sm_90, config.shared_bytes), "232449, at most 232448"));
}

TEST_CASE("all parameters must be passed") {
  ptx::module module(run_kernel::text(""));
  std::string message;
  try {
    ptx::run(module.get("k"), ptx::launch());
  } catch (ptx::fault const& f) {
    message = f.what();
  }
  CHECK(message == "k: 0 bytes of parameters, the kernel takes 16");
}

TEST_CASE("the result does not depend on the number of host threads") {
  std::string const text =
      "add.s32 %a0, %t, 4;\nand.b32 %a0, %a0, 63;\nshl.b32 %a0, %a0, 2;\n"
      "mad.lo.s32 %a1, %c, 100, %t;\nst.shared.u32 [%sh], %a1;\nbar.sync 0;\n"
      "ld.shared.u32 %a2, [%a0];\nsetp.lt.u32 %q0, %a2, 1000;\n"
      "@%q0 add.s32 %a2, %a2, 7;\nst.global.u32 [%out_t], %a2;";
  launch_config config = {64, 100};
  auto const one_thread = run(text, config);
  config.options.threads = 4;
  auto const four_threads = run(text, config);
  CHECK(one_thread.fault == "");
  CHECK(four_threads.fault == "");
  CHECK(four_threads.out == one_thread.out);
  CHECK(four_threads.counts.warp_instructions == one_thread.counts.warp_instructions);
  CHECK(four_threads.counts.thread_instructions == one_thread.counts.thread_instructions);
  CHECK(four_threads.counts.blocks == 100);
  CHECK(four_threads.counts.threads == 6400);
  CHECK(four_threads.counts.barriers == 100);
  CHECK(four_threads.counts.launches == 1);
}

TEST_CASE("a launch reports the fault of its first cluster, for any number of host threads") {
  launch_config config = {32, 50};
  config.options.threads = 4;
  for (int i = 0; i < 20; ++i) {
    auto const result = run("setp.ge.u32 %q0, %c, 17;\n@%q0 trap;", config);
    CHECK(result.fault == "trap");
    CHECK(contains(result.location, "block 17, "));
  }
}

TEST_CASE("a block that waits for an earlier one continues, or ends with its fault") {
  // Each block waits until the previous block has stored its index.
  std::string const chain =
      "setp.eq.s32 %q0, %c, 0;\n@%q0 bra STORE;\nadd.s64 %g0, %out_t, -4;\n"
      "SPIN:\nld.relaxed.gpu.global.u32 %a0, [%g0];\nsetp.eq.s32 %q1, %a0, 0;\n@%q1 bra SPIN;\n"
      "STORE:\n@@\nadd.s32 %a1, %c, 1;\nst.relaxed.gpu.global.u32 [%out_t], %a1;";
  launch_config config = {1, 200};
  for (unsigned const thread_count : {1u, 4u}) {
    config.options.threads = thread_count;
    auto const result = run(std::string(chain).replace(chain.find("@@"), 2, ""), config);
    CHECK(result.fault == "");
    CHECK(result.out[199] == 200);
    CHECK(
        run(std::string(chain).replace(chain.find("@@"), 2, "setp.eq.s32 %q2, %c, 20;\n@%q2 trap;"),
            config)
            .fault == "trap");
  }
}

TEST_CASE("instructions are counted per warp and per active lane") {
  auto const empty = run("", {64}).counts;
  auto const result =
      run("setp.lt.s32 %q0, %t, 8;\nadd.s32 %a0, %t, 1;\n@%q0 add.s32 %a0, %t, 2;", {64});
  CHECK(result.counts.warp_instructions - empty.warp_instructions == 6);
  CHECK(result.counts.thread_instructions - empty.thread_instructions == 64 + 64 + 8);
  CHECK(result.counts.divergent_branches == 0);
  auto const diverging = run("setp.lt.s32 %q0, %t, 8;\n@%q0 bra A;\nadd.s32 %a0, %t, 1;\nA:", {64});
  CHECK(diverging.counts.divergent_branches == 1);  // the second warp does not diverge
  CHECK(diverging.counts.thread_instructions - empty.thread_instructions == 64 + 8 + 56);
}

TEST_CASE("memory traffic is counted if count_memory is set") {
  launch_config config;
  config.shared = 8192;
  config.options.count_memory = true;
  config.options.unwritten_shared = config.options.shared_races = false;
  auto const shared = [&](std::string const& address, std::string const& load) {
    auto const c = run(address + "\nld.shared." + load + ", [%a0];", config).counts;
    return std::vector<std::uint64_t>{c.shared_requests, c.shared_wavefronts,
                                      c.shared_ideal_wavefronts};
  };
  using counts = std::vector<std::uint64_t>;
  CHECK(shared("shl.b32 %a0, %t, 2;", "u32 %a1") == counts{1, 1, 1});
  CHECK(shared("shl.b32 %a0, %t, 3;", "u32 %a1") == counts{1, 2, 1});   // every second bank
  CHECK(shared("shl.b32 %a0, %t, 7;", "u32 %a1") == counts{1, 32, 1});  // one bank
  CHECK(shared("mov.u32 %a0, 64;", "u32 %a1") == counts{1, 1, 1});      // one word
  CHECK(shared("shl.b32 %a0, %t, 1;", "u16 %h1") == counts{1, 1, 1});
  CHECK(shared("shl.b32 %a0, %t, 3;", "v2.u32 {%a1, %a2}") == counts{1, 2, 2});
  CHECK(shared("shl.b32 %a0, %t, 4;", "v4.u32 {%a1, %a2, %a3, %a4}") == counts{1, 4, 4});

  words const input(1024);
  auto const global = [&](std::string const& address, std::string const& load) {
    auto const c =
        run(address + "\nadd.s64 %g0, %g0, %in;\nld.global." + load + ", [%g0];", config, input)
            .counts;
    return std::vector<std::uint64_t>{c.global_requests, c.global_sectors, c.global_bytes};
  };
  // The array begins at a multiple of 16, not always of 32.
  auto const has_sectors = [](counts const& c, std::uint64_t sectors) {
    return c[1] == sectors || c[1] == sectors + 1;
  };
  counts const contiguous = global("mul.wide.u32 %g0, %t, 4;", "u32 %a1");
  CHECK(contiguous[0] == 1);
  CHECK(contiguous[2] == 128);
  CHECK(has_sectors(contiguous, 4));
  CHECK(global("mul.wide.u32 %g0, %t, 64;", "u32 %a1") == counts{1, 32, 128});
  CHECK(global("mov.u64 %g0, 64;", "u32 %a1") == counts{1, 1, 128});
  CHECK(has_sectors(global("mul.wide.u32 %g0, %t, 16;", "v4.u32 {%a1, %a2, %a3, %a4}"), 16));
}

TEST_CASE("executions of each instruction are counted if count_memory is set") {
  launch_config config = {64, 3};
  config.options.count_memory = true;
  auto const c =
      run("setp.lt.s32 %q0, %t, 32;\n@%q0 bra A;\nadd.s32 %a0, %t, 1;\nA:", config).counts;
  std::uint64_t sum = 0;
  for (std::uint64_t const n : c.executed) sum += n;
  CHECK(sum == c.warp_instructions);
  CHECK(c.executed.front() == 6);
  CHECK(c.executed[c.executed.size() - 2] == 3);  // the addition
}
