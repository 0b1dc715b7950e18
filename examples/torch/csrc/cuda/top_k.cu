// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../top_k.cpp; see backend.hpp.
#include "../top_k.cpp"
