// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../pointwise_attention.cpp; see backend.hpp.
#include "../pointwise_attention.cpp"
