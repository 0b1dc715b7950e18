// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../csp.cpp; see backend.hpp.
#include "../csp.cpp"
