// SPDX-License-Identifier: Apache-2.0
// Accesses out of bounds, misaligned, or to unwritten shared memory.
#include "../run_kernel.hpp"

using run_kernel::contains;
using run_kernel::fault_messages;
using run_kernel::launch_config;
using run_kernel::passes;
using run_kernel::run;

TEST_CASE("global memory consists of the registered allocations") {
  // One thread accesses one element past the end.
  std::string const advance_last_thread =
      "setp.eq.s32 %q0, %t, 31;\n@%q0 add.s64 %out_t, %out_t, 4;\n";
  CHECK(passes("st.global.u32 [%out_t], %t;"));
  CHECK(contains(fault_messages(advance_last_thread + "st.global.u32 [%out_t], %t;"),
                 "writes 4 bytes outside of global memory (thread 31, address 0x"));
  CHECK(contains(fault_messages("ld.global.u32 %a0, [%out_t+128];"),
                 "reads 4 bytes outside of global memory (thread 0, address 0x"));
  CHECK(contains(fault_messages("ld.global.u32 %a0, [%out+-4];"),
                 "outside of global memory (thread 0"));
  // A vector that crosses the end of the allocation.
  CHECK(passes("ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%out+112];"));
  CHECK(contains(fault_messages("add.s64 %g0, %out, 16;\nld.global.v4.u32 {%a0, %a1, %a2, %a3}, "
                                "[%g0+112];"),
                 "reads 16 bytes outside of global memory"));
  // A generic address in neither global nor shared memory.
  CHECK(
      contains(fault_messages("mov.u64 %g0, 64;\nld.u32 %a0, [%g0];"), "outside of global memory"));
}

TEST_CASE("shared memory has the size of the launch") {
  launch_config const config = {32, 1, 1, 128};
  CHECK(passes("st.shared.u32 [%sh], %t;", config));
  CHECK(contains(fault_messages("st.shared.u32 [%sh+4], %t;", config),
                 "writes 4 bytes past the end of 128 bytes of shared memory (thread 31, address "
                 "0x80)"));
  CHECK(contains(fault_messages("ld.shared.u32 %a0, [%sh+-4];", config),
                 "reads 4 bytes past the end"));
  launch_config const no_shared = {32, 1, 1, 0};
  CHECK(contains(fault_messages("st.shared.u8 [%z], 1;", no_shared), "past the end of 0 bytes"));
  CHECK(
      contains(fault_messages("st.shared.u32 [%z], 1;", {32, 1, 1, 3}), "past the end of 3 bytes"));
  // An access through a generic address.
  CHECK(contains(
      fault_messages("mov.u64 %g0, 128;\ncvta.shared.u64 %g0, %g0;\nst.u32 [%g0], %t;", config),
      "past the end of 128 bytes"));
}

TEST_CASE("an access is aligned to its size") {
  CHECK(contains(fault_messages("ld.global.u32 %a0, [%out+2];"),
                 "reads 4 bytes, misaligned (thread 0"));
  CHECK(contains(fault_messages("ld.global.v2.u32 {%a0, %a1}, [%out+4];"),
                 "reads 8 bytes, misaligned"));
  CHECK(contains(fault_messages("st.shared.v4.u32 [%sh], {%t, %t, %t, %t};"),
                 "writes 16 bytes, misaligned (thread 1, address 0x4)"));
  CHECK(contains(fault_messages("cvta.shared.u64 %g0, 6;\nst.u32 [%g0], %t;"), "misaligned"));
  CHECK(passes("shl.b32 %a0, %sh, 2;\nst.shared.v4.u32 [%a0], {%t, %t, %t, %t};"));
  // An inactive lane may have any address.
  CHECK(passes("setp.eq.s32 %q0, %t, 0;\n@%q0 ld.global.v2.u32 {%a0, %a1}, [%out_t];"));
}

TEST_CASE("a read of unwritten shared memory is reported") {
  CHECK(contains(fault_messages("ld.shared.u32 %a0, [%sh];"),
                 "thread 0 reads byte 0 of shared memory, which was never written"));
  CHECK(passes("st.shared.u32 [%sh], %t;\nld.shared.u32 %a0, [%sh];"));
  CHECK(contains(fault_messages("st.shared.u16 [%sh], 1;\nld.shared.u32 %a0, [%sh];"),
                 "reads byte 2"));
  // Writes by an earlier block are not visible.
  CHECK(contains(fault_messages("setp.eq.s32 %q0, %c, 0;\n@%q0 st.shared.u32 [%sh], %t;\n"
                                "ld.shared.u32 %a0, [%sh];",
                                {32, 2}),
                 "which was never written"));
}

TEST_CASE("shared memory starts with garbage") {
  launch_config config;
  config.options.unwritten_shared = false;
  std::string const copy = "ld.shared.u32 %a0, [%sh];\nst.global.u32 [%out_t], %a0;";
  auto const first = run(copy, config).out;
  config.seed = 2;
  CHECK(run(copy, config).out != first);
}

TEST_CASE("loads must stay within the parameters") {
  CHECK(contains(fault_messages("ld.param.u64 %g0, [out+8];"), "reads past the parameters"));
  CHECK(contains(fault_messages("ld.param.u64 %g0, [in+4];"), "reads a parameter, misaligned"));
  CHECK(passes("ld.param.u64 %g0, [in+8];"));
}

TEST_CASE("loads of narrow numbers are extended to the register") {
  run_kernel::words const input = {0x8081'ff7f};
  auto const loaded = [&](std::string const& load) {
    auto const result = run(load + "\nst.global.u32 [%out_t], %a0;", {}, input);
    CHECK(result.fault == "");
    return result.out[7];
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
