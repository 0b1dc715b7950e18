// SPDX-License-Identifier: Apache-2.0
/// The CUDA backend: with this header, every operator takes `exec::cuda{stream}`. Needs a CUDA
/// compiler; `slicesort.hpp` includes it when one reads it.
#pragma once

#include <slicesort/detail/block/max_exchange.hpp>
#include <slicesort/detail/block/multi_permutation.hpp>
#include <slicesort/detail/block/shuffle.hpp>
#include <slicesort/detail/block/slicing_sort.hpp>
#include <slicesort/detail/cuda/launch.cuh>
