// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../linear_attention.cpp; see backend.hpp.
#include "../linear_attention.cpp"
