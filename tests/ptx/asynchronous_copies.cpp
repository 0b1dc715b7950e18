// SPDX-License-Identifier: Apache-2.0
// cp.async: what lands, when, and what it may meet.
#include "run_kernel.hpp"

#include <cstdint>
#include <string>

using run_kernel::contains;
using run_kernel::found;
using run_kernel::numbers;
using run_kernel::passes;
using run_kernel::run;
using run_kernel::setup;

namespace {

numbers counting(std::uint32_t count) {
  numbers n;
  for (std::uint32_t i = 0; i < count; ++i) n.push_back(i + 1);
  return n;
}

// Thread t copies the numbers 4 t to 4 t + 3. `more` may name a size to read.
std::string copy(std::string const& more = "") {
  return "shl.b32 %a0, %t, 4;\nmul.wide.u32 %g0, %t, 16;\nadd.s64 %g0, %g0, %in;\n"
         "cp.async.cg.shared.global [%a0], [%g0], 16" +
         more + ";\n";
}
// Each thread then has one of them.
std::string const take = "ld.shared.u32 %a1, [%at];\nst.global.u32 [%there], %a1;";
setup const two_warps = {64};

numbers in_two_warps(std::string const& statements, std::uint64_t seed) {
  setup s = two_warps;
  s.seed = seed;
  auto const o = run(statements, s, counting(256));
  CHECK(o.fault == "");
  return o.out;
}

}  // namespace

TEST_CASE("a copy has landed after its wait, and for others after a barrier") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    CHECK(in_two_warps(copy() + "cp.async.wait_all;\nbar.sync 0;\n" + take, seed) == counting(64));
}

TEST_CASE("a wait that is missing, or comes after the barrier, is found") {
  numbers const in = counting(256);
  CHECK(contains(found(copy() + "bar.sync 0;\n" + take + "\ncp.async.wait_all;", two_warps, in),
                 "reads what an asynchronous copy is still writing"));
  CHECK(contains(found(copy() + "bar.sync 0;\ncp.async.wait_all;\n" + take, two_warps, in),
                 "race at byte"));
  // Not even the thread itself may touch it.
  std::string const own = "ld.shared.u32 %a1, [%a0];\n";
  CHECK(contains(found(copy() + own + "cp.async.wait_all;", {}, in), "is still writing"));
  CHECK(passes(copy() + "cp.async.wait_all;\n" + own, {}, in));
  CHECK(contains(found(copy() + "st.shared.u32 [%a0], %t;\ncp.async.wait_all;", {}, in),
                 "writes what an asynchronous copy is still writing"));
  CHECK(contains(found(copy(), {}, in), "ends while its asynchronous copy is under way"));
}

TEST_CASE("a copy into what others still read is found") {
  std::string const before =
      "shl.b32 %a2, %t, 4;\nst.shared.v4.u32 [%a2], {%t, %t, %t, %t};\n"
      "bar.sync 0;\nxor.b32 %a3, %a2, 512;\nld.shared.u32 %a4, [%a3];\n";
  std::string const after = copy() + "cp.async.wait_all;";
  CHECK(contains(found(before + after, two_warps, counting(256)), "race at byte"));
  CHECK(passes(before + "bar.sync 0;\n" + after, two_warps, counting(256)));
}

TEST_CASE("copies land at once or at the wait, by lot") {
  // What changes between: the source.
  setup s = {1};
  int early = 0, late = 0;
  for (s.seed = 1; s.seed <= 40; ++s.seed) {
    auto const o =
        run("cp.async.ca.shared.global [%z], [%in], 4;\nst.global.u32 [%in], 77;\n"
            "cp.async.wait_all;\nld.shared.u32 %a0, [%z];\nst.global.u32 [%there], %a0;",
            s, {5});
    CHECK(o.fault == "");
    early += o.out[0] == 5;
    late += o.out[0] == 77;
  }
  CHECK(early + late == 40);
  CHECK(early > 5);
  CHECK(late > 5);
}

TEST_CASE("what is not read becomes zero") {
  std::string const rest = "cp.async.wait_all;\nbar.sync 0;\n" + take;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    numbers expected = counting(64);
    for (std::uint32_t i = 0; i < 64; ++i)
      if (i % 4 >= 2) expected[i] = 0;
    CHECK(in_two_warps("mov.u32 %a5, 8;\n" + copy(", %a5") + rest, seed) == expected);
    CHECK(in_two_warps("mov.u32 %a5, 0;\n" + copy(", %a5") + rest, seed) == numbers(64));
    for (std::uint32_t i = 0; i < 64; ++i) expected[i] = i % 4 == 0 ? (i + 1) & 0xff : 0;
    CHECK(in_two_warps(copy(", 1") + rest, seed) == expected);
  }
}

TEST_CASE("what a copy may not read or write") {
  numbers const in = counting(128);
  std::string const wait = "cp.async.wait_all;";
  CHECK(passes(copy() + wait, {}, in));
  CHECK(contains(found(copy(", 17") + wait, {}, in), "copies 17 of 16 bytes"));
  CHECK(contains(found(copy() + wait, {}, counting(127)),
                 "copies from outside of global memory (thread 31, address 0x"));
  CHECK(passes("setp.eq.s32 %q0, %t, 31;\nselp.b32 %a5, 12, 16, %q0;\n" + copy(", %a5") + wait, {},
               counting(127)));
  // Where nothing is read, the address does not matter.
  CHECK(passes(copy(", 0") + wait, {}, counting(4)));
  setup s;
  s.shared = 511;
  CHECK(contains(found(copy() + wait, s, in), "copies past the end of shared memory (thread 31"));
  CHECK(contains(found("cp.async.cg.shared.global [%at], [%in], 16;", {}, in),
                 "copies to shared memory, misaligned (thread 1, address 0x4)"));
  CHECK(contains(found("cp.async.ca.shared.global [%z], [%here], 8;", {}, in),
                 "copies from global memory, misaligned (thread 1"));
}

TEST_CASE("groups of copies are waited for one by one") {
  // Three groups of 4 bytes each, to [0], [4], [8].
  auto const groups = [](std::string const& wait, int read) {
    std::string text;
    for (int i = 0; i < 3; ++i)
      text += "cp.async.ca.shared.global [%a" + std::to_string(i) + "], [%in], 4;\n" +
              "cp.async.commit_group;\n";
    return "mov.u32 %a0, 0;\nmov.u32 %a1, 4;\nmov.u32 %a2, 8;\n" + text + wait +
           "\nld.shared.u32 %a3, [%a" + std::to_string(read) + "];\ncp.async.wait_group 0;";
  };
  setup const one = {1};
  CHECK(passes(groups("cp.async.wait_group 0;", 2), one));
  CHECK(passes(groups("cp.async.wait_group 1;", 1), one));
  CHECK(contains(found(groups("cp.async.wait_group 1;", 2), one), "is still writing"));
  CHECK(passes(groups("cp.async.wait_group 2;", 0), one));
  CHECK(contains(found(groups("cp.async.wait_group 2;", 1), one), "is still writing"));
  CHECK(contains(found(groups("cp.async.wait_group 3;", 0), one), "is still writing"));
  // What belongs to no group is waited for by wait_all alone.
  std::string const uncommitted = "cp.async.ca.shared.global [%z], [%in], 4;\n";
  CHECK(passes(uncommitted + "cp.async.wait_all;\nld.shared.u32 %a0, [%z];", one));
  CHECK(contains(found(uncommitted + "cp.async.wait_group 0;\nld.shared.u32 %a0, [%z];", one),
                 "is still writing"));
}
