// SPDX-License-Identifier: Apache-2.0
#include "../multi_permutation.cpp"  // for the GPU: see backend.hpp
