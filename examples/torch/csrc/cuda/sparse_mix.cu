// SPDX-License-Identifier: Apache-2.0
#include "../sparse_mix.cpp"  // for the GPU: see backend.hpp
