// SPDX-License-Identifier: Apache-2.0
#include "../shuffle.cpp"  // for the GPU: see backend.hpp
