// SPDX-License-Identifier: Apache-2.0
// The BLAS that multiplies the matrices of materialized attention, and the kernels that it runs.
#pragma once

#include <string>

namespace bench {

// Starts this program anew, with the same arguments, if OpenBLAS would run kernels of an older
// processor than this one; else returns. OPENBLAS_CORETYPE, if it is set, is left as it is.
void choose_blas_kernels(char** argv);

// Name, version and kernels.
std::string describe_blas();

// Names the processor's vector extension that the kernels leave unused. Empty if there is none.
std::string blas_complaint();

}  // namespace bench
