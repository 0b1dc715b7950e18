// SPDX-License-Identifier: Apache-2.0
// CUDA build of ../sparse_mix.cpp; see backend.hpp.
#include "../sparse_mix.cpp"
