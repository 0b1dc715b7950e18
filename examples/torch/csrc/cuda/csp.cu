// SPDX-License-Identifier: Apache-2.0
#include "../csp.cpp"  // for the GPU: see backend.hpp
