// SPDX-License-Identifier: Apache-2.0
#include "../slicing_sort.cpp"  // for the GPU: see backend.hpp
