// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../shuffle.cpp; see backend.hpp.
#include "../shuffle.cpp"
