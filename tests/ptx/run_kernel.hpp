// SPDX-License-Identifier: Apache-2.0
// Runs a kernel of one array in and one array out, whose statements a test writes down. Beside
// run_text's registers they have
//   %t     the thread in its block, %at its 4 bytes of shared memory
//   %c     the block
//   %z     zero
//   %in    the array in, %here the thread's number in it
//   %out   the array out, %there the thread's number in it
//   %a<16> of .b32, %g<8> of .b64, %q<4> of .pred
#pragma once

#include "run_text.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace run_kernel {

using numbers = std::vector<std::uint32_t>;

struct setup {
  unsigned threads = 32, blocks = 1, cluster = 1;
  std::size_t shared = 1024;
  std::uint64_t seed = 1;
  ptx::watch watched = {};
  int removed = -1;
};

struct outcome {
  std::string fault;  // what the machine said, behind where it was; empty: nothing
  std::string where;
  numbers out;
  ptx::counters counted;
};

inline std::string text(std::string const& statements) {
  return run_text::module_text(
      ".reg .b32 %t, %at, %c, %z, %a<16>;\n.reg .b64 %in, %out, %here, %there, %g<8>;\n"
      ".reg .pred %q<4>;\n"
      "mov.u32 %t, %tid.x;\nshl.b32 %at, %t, 2;\nmov.u32 %c, %ctaid.x;\nmov.u32 %z, 0;\n"
      "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
      "mov.u32 %a15, %ntid.x;\nmad.lo.s32 %a15, %a15, %c, %t;\nmul.wide.u32 %g7, %a15, 4;\n"
      "add.s64 %here, %in, %g7;\nadd.s64 %there, %out, %g7;\n" +
          statements + "\nret;",
      ".param .u64 in, .param .u64 out");
}

// `out` has a number for each thread unless `count` says otherwise, and starts as zero.
inline outcome run(std::string const& statements, setup const& s = {}, numbers in = {},
                   std::size_t count = 0) {
  outcome o;
  o.out.resize(count == 0 ? std::size_t{s.threads} * s.blocks : count);
  in.resize(std::max<std::size_t>(in.size(), 1));
  ptx::module m(text(statements));
  ptx::launch how;
  how.grid.x = s.blocks;
  how.block.x = s.threads;
  how.cluster = s.cluster;
  how.shared_bytes = s.shared;
  how.seed = s.seed;
  how.watched = s.watched;
  if (s.removed >= 0) how.removed = {"k", s.removed};
  std::uint64_t const addresses[] = {reinterpret_cast<std::uint64_t>(in.data()),
                                     reinterpret_cast<std::uint64_t>(o.out.data())};
  how.parameters.resize(sizeof addresses);
  std::memcpy(how.parameters.data(), addresses, sizeof addresses);
  ptx::register_memory(in.data(), 4 * in.size());
  ptx::register_memory(o.out.data(), 4 * o.out.size());
  try {
    o.counted = ptx::run(m.get("k"), how);
  } catch (ptx::fault const& f) {
    std::string const said = f.what();
    std::size_t const at = said.find("`: ");
    o.where = said.substr(0, at == std::string::npos ? 0 : at + 1);
    o.fault = at == std::string::npos ? said : said.substr(at + 3);
  }
  ptx::forget_memory(in.data());
  ptx::forget_memory(o.out.data());
  return o;
}

// Whether it runs without a fault, whatever is open: 20 orders of warps and arrivals of copies.
inline bool passes(std::string const& statements, setup s = {}, numbers const& in = {}) {
  for (s.seed = 1; s.seed <= 20; ++s.seed) {
    outcome const o = run(statements, s, in);
    CHECK(o.fault == "");
    if (!o.fault.empty()) return false;
  }
  return true;
}

// What is found, for each of 20 ways to decide what is open.
inline std::vector<std::string> found(std::string const& statements, setup s = {},
                                      numbers const& in = {}) {
  std::vector<std::string> faults;
  for (s.seed = 1; s.seed <= 20; ++s.seed) faults.push_back(run(statements, s, in).fault);
  return faults;
}

inline bool contains(std::string const& text, std::string const& part) {
  bool const held = text.find(part) != std::string::npos;
  CHECK_MESSAGE(held, "\"", text, "\" does not say \"", part, "\"");
  return held;
}

inline bool contains(std::vector<std::string> const& texts, std::string const& part) {
  for (std::string const& text : texts)
    if (!contains(text, part)) return false;
  return true;
}

}  // namespace run_kernel
