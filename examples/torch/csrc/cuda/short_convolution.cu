// SPDX-License-Identifier: Apache-2.0
#include "../short_convolution.cpp"  // for the GPU: see backend.hpp
