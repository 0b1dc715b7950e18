// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../softmax_attention.cpp; see backend.hpp.
#include "../softmax_attention.cpp"
