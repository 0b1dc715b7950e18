// SPDX-License-Identifier: Apache-2.0
/// Everything: the words, the policies and every operator; the CUDA backend when a CUDA compiler
/// reads it.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/options.hpp>
#include <slicesort/order.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/tuning.hpp>
#include <slicesort/version.hpp>
#include <slicesort/workspace.hpp>

#if defined(__CUDACC__)
#  include <slicesort/cuda.cuh>
#endif
