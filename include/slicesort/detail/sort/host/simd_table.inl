// SPDX-License-Identifier: Apache-2.0
// The tile sorter for one instruction set, in the order in which its parts build on each other.

// clang-format off
#include <slicesort/detail/sort/host/rows.inl>
#include <slicesort/detail/sort/host/network.inl>
#include <slicesort/detail/sort/host/codec.inl>
#include <slicesort/detail/sort/host/ties.inl>
#include <slicesort/detail/sort/host/tile_sorter.inl>
#include <slicesort/detail/sort/host/tile_writer.inl>
// clang-format on
