// SPDX-License-Identifier: Apache-2.0
#include "../linear_attention.cpp"  // for the GPU: see backend.hpp
