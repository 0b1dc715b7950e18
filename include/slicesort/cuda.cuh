// SPDX-License-Identifier: Apache-2.0
/// The CUDA backend: lets every operator run on `exec::cuda{stream}`. Needs a CUDA compiler, with
/// which `slicesort.hpp` includes it.
#pragma once

#include <slicesort/detail/cuda/launch.cuh>
#include <slicesort/detail/operators.hpp>
