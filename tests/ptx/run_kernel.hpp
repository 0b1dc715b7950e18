// SPDX-License-Identifier: Apache-2.0
// Runs PTX statements as a kernel with an input and an output array. Its registers, in addition to
// those of run_text.hpp:
//   %t     index of the thread in its block; %sh: address of its 4 bytes of shared memory
//   %c     index of the block
//   %z     zero
//   %in    address of the input array; %in_t: address of the thread's element
//   %out   address of the output array; %out_t: address of the thread's element
//   %a<16> .b32, %g<8> .b64, %q<4> .pred
#pragma once

#include "run_text.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace run_kernel {

using words = std::vector<std::uint32_t>;

// Initialized as {threads, blocks, cluster, shared}.
struct launch_config {
  unsigned threads = 32, blocks = 1, cluster = 1;
  std::size_t shared = 1024;  // bytes
  std::uint64_t seed = 1;
  ptx::machine_options options = {};
  int removed = -1;  // index of a removed synchronization
};

struct run_result {
  std::string fault;     // message without the location; empty if there was no fault
  std::string location;  // location of the fault
  words out;
  ptx::counters counts;
};

inline std::string text(std::string const& statements) {
  return run_text::module_text(
      ".reg .b32 %t, %sh, %c, %z, %a<16>;\n.reg .b64 %in, %out, %in_t, %out_t, %g<8>;\n"
      ".reg .pred %q<4>;\n"
      "mov.u32 %t, %tid.x;\nshl.b32 %sh, %t, 2;\nmov.u32 %c, %ctaid.x;\nmov.u32 %z, 0;\n"
      "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
      "mov.u32 %a15, %ntid.x;\nmad.lo.s32 %a15, %a15, %c, %t;\nmul.wide.u32 %g7, %a15, 4;\n"
      "add.s64 %in_t, %in, %g7;\nadd.s64 %out_t, %out, %g7;\n" +
          statements + "\nret;",
      ".param .u64 in, .param .u64 out");
}

// The output array has `output_size` zeros, by default one per thread.
inline run_result run(std::string const& statements, launch_config const& config = {},
                      words input = {}, std::size_t output_size = 0) {
  run_result result;
  result.out.resize(output_size == 0 ? std::size_t{config.threads} * config.blocks : output_size);
  input.resize(std::max<std::size_t>(input.size(), 1));
  ptx::module module(text(statements));
  ptx::launch launch;
  launch.grid.x = config.blocks;
  launch.block.x = config.threads;
  launch.cluster = config.cluster;
  launch.shared_bytes = config.shared;
  launch.seed = config.seed;
  launch.options = config.options;
  if (config.removed >= 0) launch.removed = {"k", config.removed};
  std::uint64_t const addresses[] = {reinterpret_cast<std::uint64_t>(input.data()),
                                     reinterpret_cast<std::uint64_t>(result.out.data())};
  launch.parameters.resize(sizeof addresses);
  std::memcpy(launch.parameters.data(), addresses, sizeof addresses);
  ptx::register_memory(input.data(), 4 * input.size());
  ptx::register_memory(result.out.data(), 4 * result.out.size());
  try {
    result.counts = ptx::run(module.get("k"), launch);
  } catch (ptx::fault const& f) {
    std::string const message = f.what();
    std::size_t const location_end = message.find("`: ");
    result.location = message.substr(0, location_end == std::string::npos ? 0 : location_end + 1);
    result.fault = location_end == std::string::npos ? message : message.substr(location_end + 3);
  }
  ptx::unregister_memory(input.data());
  ptx::unregister_memory(result.out.data());
  return result;
}

// True if the kernel runs without a fault for 20 seeds, which determine the order of warps and the
// time of copies.
inline bool passes(std::string const& statements, launch_config config = {},
                   words const& input = {}) {
  for (config.seed = 1; config.seed <= 20; ++config.seed) {
    run_result const result = run(statements, config, input);
    CHECK(result.fault == "");
    if (!result.fault.empty()) return false;
  }
  return true;
}

// Returns the faults for the same 20 seeds.
inline std::vector<std::string> fault_messages(std::string const& statements,
                                               launch_config config = {}, words const& input = {}) {
  std::vector<std::string> faults;
  for (config.seed = 1; config.seed <= 20; ++config.seed)
    faults.push_back(run(statements, config, input).fault);
  return faults;
}

inline bool contains(std::string const& text, std::string const& expected) {
  bool const is_contained = text.find(expected) != std::string::npos;
  CHECK_MESSAGE(is_contained, "\"", text, "\" does not say \"", expected, "\"");
  return is_contained;
}

// True if all texts contain it.
inline bool contains(std::vector<std::string> const& texts, std::string const& expected) {
  for (std::string const& text : texts)
    if (!contains(text, expected)) return false;
  return true;
}

}  // namespace run_kernel
