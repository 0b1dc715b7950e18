// SPDX-License-Identifier: Apache-2.0
// Instantiates the kernels of all cases, to compile them to PTX.
#include "cases.hpp"

#include <slicesort/cuda.cuh>

template class counting::cases<slicesort::exec::cuda>;
