// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../short_convolution.cpp; see backend.hpp.
#include "../short_convolution.cpp"
