// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../multi_permutation.cpp; see backend.hpp.
#include "../multi_permutation.cpp"
