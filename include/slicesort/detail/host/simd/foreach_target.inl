// SPDX-License-Identifier: Apache-2.0
// Includes SLICESORT_TARGET_TEXT once for every instruction set of isa.hpp, in a namespace of its name and,
// where it is not the baseline, in a region that lets the compiler use it. The text finds the width of
// its vectors and the number of its vector registers in two macros.
// clang-format off
namespace portable {
#define SLICESORT_VECTOR_BYTES 16
#define SLICESORT_VECTOR_REGISTERS 16
#include SLICESORT_TARGET_TEXT
#undef SLICESORT_VECTOR_BYTES
#undef SLICESORT_VECTOR_REGISTERS
}  // namespace portable

#if SLICESORT_X86_DISPATCH
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2)
namespace avx2 {
#  define SLICESORT_VECTOR_BYTES 32
#  define SLICESORT_VECTOR_REGISTERS 16
#  include SLICESORT_TARGET_TEXT
#  undef SLICESORT_VECTOR_BYTES
#  undef SLICESORT_VECTOR_REGISTERS
}  // namespace avx2
SLICESORT_TARGET_END

SLICESORT_TARGET_BEGIN(SLICESORT_AVX512)
namespace avx512 {
#  define SLICESORT_VECTOR_BYTES 64
#  define SLICESORT_VECTOR_REGISTERS 32
#  include SLICESORT_TARGET_TEXT
#  undef SLICESORT_VECTOR_BYTES
#  undef SLICESORT_VECTOR_REGISTERS
}  // namespace avx512
SLICESORT_TARGET_END
#endif
#undef SLICESORT_TARGET_TEXT
// clang-format on
