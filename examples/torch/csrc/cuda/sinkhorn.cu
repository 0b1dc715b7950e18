// SPDX-License-Identifier: Apache-2.0
#include "../sinkhorn.cpp"  // for the GPU: see backend.hpp
