// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../max_exchange.cpp; see backend.hpp.
#include "../max_exchange.cpp"
