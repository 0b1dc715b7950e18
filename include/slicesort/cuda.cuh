// SPDX-License-Identifier: Apache-2.0
/// The CUDA backend: with this header, every operator takes `exec::cuda{stream}`. Needs a CUDA
/// compiler; `slicesort.hpp` includes it when one reads it.
#pragma once

#include <slicesort/detail/cuda/launch.cuh>
#include <slicesort/detail/operators.hpp>
