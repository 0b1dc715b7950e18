// SPDX-License-Identifier: Apache-2.0
// The kernels of csp for one instruction set, in the order in which they build on each other.
// clang-format off
#include <slicesort/detail/host/simd/exchange_pairs.inl>
#include <slicesort/detail/host/simd/turned_columns.inl>
#include <slicesort/detail/host/simd/csp_mover.inl>
// clang-format on
