// SPDX-License-Identifier: Apache-2.0
// The kernels of csp for one instruction set, in the order in which they build on each other.

// clang-format off
#include <slicesort/detail/csp/host/exchange_pairs.inl>
#include <slicesort/detail/csp/host/transposed_columns.inl>
#include <slicesort/detail/csp/host/tile_kernel.inl>
// clang-format on
