// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../slicing_sort.cpp; see backend.hpp.
#include "../slicing_sort.cpp"
