// SPDX-License-Identifier: Apache-2.0
// Accesses out of bounds, misaligned, or to unwritten shared memory.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::faults_of;
using run_kernel::passes;
using run_kernel::run;
using run_kernel::setup;

TEST_CASE("global memory consists of the registered allocations") {
  // One thread accesses one element past the end.
  std::string const last = "setp.eq.s32 %q0, %t, 31;\n@%q0 add.s64 %out_t, %out_t, 4;\n";
  CHECK(passes("st.global.u32 [%out_t], %t;"));
  CHECK(contains(faults_of(last + "st.global.u32 [%out_t], %t;"),
                 "writes 4 bytes outside of global memory (thread 31, address 0x"));
  CHECK(contains(faults_of("ld.global.u32 %a0, [%out_t+128];"),
                 "reads 4 bytes outside of global memory (thread 0, address 0x"));
  CHECK(contains(faults_of("ld.global.u32 %a0, [%out+-4];"), "outside of global memory (thread 0"));
  // A vector that crosses the end.
  CHECK(passes("ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%out+112];"));
  CHECK(contains(faults_of("add.s64 %g0, %out, 16;\nld.global.v4.u32 {%a0, %a1, %a2, %a3}, "
                           "[%g0+112];"),
                 "reads 16 bytes outside of global memory"));
  // A generic address in neither global nor shared memory.
  CHECK(contains(faults_of("mov.u64 %g0, 64;\nld.u32 %a0, [%g0];"), "outside of global memory"));
}

TEST_CASE("shared memory has the size of the launch") {
  setup const s = {32, 1, 1, 128};
  CHECK(passes("st.shared.u32 [%sh], %t;", s));
  CHECK(contains(faults_of("st.shared.u32 [%sh+4], %t;", s),
                 "writes 4 bytes past the end of 128 bytes of shared memory (thread 31, address "
                 "0x80)"));
  CHECK(contains(faults_of("ld.shared.u32 %a0, [%sh+-4];", s), "reads 4 bytes past the end"));
  setup const none = {32, 1, 1, 0};
  CHECK(contains(faults_of("st.shared.u8 [%z], 1;", none), "past the end of 0 bytes"));
  CHECK(contains(faults_of("st.shared.u32 [%z], 1;", {32, 1, 1, 3}), "past the end of 3 bytes"));
  // An access through a generic address.
  CHECK(contains(faults_of("mov.u64 %g0, 128;\ncvta.shared.u64 %g0, %g0;\nst.u32 [%g0], %t;", s),
                 "past the end of 128 bytes"));
}

TEST_CASE("an access is aligned to its size") {
  CHECK(contains(faults_of("ld.global.u32 %a0, [%out+2];"), "reads 4 bytes, misaligned (thread 0"));
  CHECK(contains(faults_of("ld.global.v2.u32 {%a0, %a1}, [%out+4];"), "reads 8 bytes, misaligned"));
  CHECK(contains(faults_of("st.shared.v4.u32 [%sh], {%t, %t, %t, %t};"),
                 "writes 16 bytes, misaligned (thread 1, address 0x4)"));
  CHECK(contains(faults_of("cvta.shared.u64 %g0, 6;\nst.u32 [%g0], %t;"), "misaligned"));
  CHECK(passes("shl.b32 %a0, %sh, 2;\nst.shared.v4.u32 [%a0], {%t, %t, %t, %t};"));
  // An inactive lane may have any address.
  CHECK(passes("setp.eq.s32 %q0, %t, 0;\n@%q0 ld.global.v2.u32 {%a0, %a1}, [%out_t];"));
}

TEST_CASE("a read of unwritten shared memory is reported") {
  CHECK(contains(faults_of("ld.shared.u32 %a0, [%sh];"),
                 "thread 0 reads byte 0 of shared memory, which was never written"));
  CHECK(passes("st.shared.u32 [%sh], %t;\nld.shared.u32 %a0, [%sh];"));
  CHECK(contains(faults_of("st.shared.u16 [%sh], 1;\nld.shared.u32 %a0, [%sh];"), "reads byte 2"));
  // The writes of an earlier block are not visible.
  CHECK(contains(faults_of("setp.eq.s32 %q0, %c, 0;\n@%q0 st.shared.u32 [%sh], %t;\n"
                           "ld.shared.u32 %a0, [%sh];",
                           {32, 2}),
                 "which was never written"));
}

TEST_CASE("shared memory starts with garbage") {
  setup s;
  s.options.unwritten_shared = false;
  std::string const copy = "ld.shared.u32 %a0, [%sh];\nst.global.u32 [%out_t], %a0;";
  auto const first = run(copy, s).out;
  s.seed = 2;
  CHECK(run(copy, s).out != first);
}

TEST_CASE("loads must stay within the parameters") {
  CHECK(contains(faults_of("ld.param.u64 %g0, [out+8];"), "reads past the parameters"));
  CHECK(contains(faults_of("ld.param.u64 %g0, [in+4];"), "reads a parameter, misaligned"));
  CHECK(passes("ld.param.u64 %g0, [in+8];"));
}

TEST_CASE("loads of narrow numbers are extended to the register") {
  run_kernel::numbers const input = {0x8081'ff7f};
  auto const loaded = [&](std::string const& load) {
    auto const o = run(load + "\nst.global.u32 [%out_t], %a0;", {}, input);
    CHECK(o.fault == "");
    return o.out[7];
  };
  CHECK(loaded("ld.global.u8 %a0, [%in+1];") == 0xff);
  CHECK(loaded("ld.global.s8 %a0, [%in+1];") == 0xffff'ffff);
  CHECK(loaded("ld.global.s8 %a0, [%in];") == 0x7f);
  CHECK(loaded("ld.global.u16 %a0, [%in+2];") == 0x8081);
  CHECK(loaded("ld.global.s16 %a0, [%in+2];") == 0xffff'8081);
  CHECK(loaded("ld.global.s32 %g0, [%in];\nshr.s64 %g0, %g0, 4;\ncvt.u32.u64 %a0, %g0;") ==
        0xf808'1ff7);
  CHECK(loaded("ld.s8 %h0, [%in+1];\ncvt.u32.u16 %a0, %h0;") == 0xffff);
  CHECK(loaded("ld.global.v4.u8 {%a1, %a2, %a0, %a3}, [%in];") == 0x81);
  CHECK(loaded("ld.global.nc.v2.u16 {%h1, %h2}, [%in];\ncvt.u32.u16 %a0, %h2;") == 0x8081);
}
