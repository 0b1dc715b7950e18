// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../soft_sort.cpp; see backend.hpp.
#include "../soft_sort.cpp"
