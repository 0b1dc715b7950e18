// SPDX-License-Identifier: Apache-2.0
// Interface of sort_on_gpu.cu: no CUDA header, no template.
#pragma once

#include <slicesort/exec.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <vector>

// Sorts every channel of device tensors on the policy's stream.
void sort_on_gpu(slicesort::exec::cuda exec, slicesort::tensor3<float const> x,
                 slicesort::tensor3<float> y, slicesort::index_tensor3 perm);

// Copies `x` from host memory to the GPU, sorts it there, and returns the result.
std::vector<float> sorted_on_gpu(std::vector<float> const& x, slicesort::extents3 shape);

bool has_gpu();
