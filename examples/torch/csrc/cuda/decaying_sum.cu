// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../decaying_sum.cpp; see backend.hpp.
#include "../decaying_sum.cpp"
