// SPDX-License-Identifier: Apache-2.0
#include "../max_exchange.cpp"  // for the GPU: see backend.hpp
