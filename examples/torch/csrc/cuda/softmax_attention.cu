// SPDX-License-Identifier: Apache-2.0
#include "../softmax_attention.cpp"  // for the GPU: see backend.hpp
