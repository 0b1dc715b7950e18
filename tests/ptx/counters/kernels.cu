// SPDX-License-Identifier: Apache-2.0
// Compiled to PTX for the kernels of all cases.
#include "cases.hpp"

#include <slicesort/cuda.cuh>

template class counting::cases<slicesort::exec::cuda>;
