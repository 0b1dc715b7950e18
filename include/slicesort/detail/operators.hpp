// SPDX-License-Identifier: Apache-2.0
// Includes the device backends of all operators.
#pragma once

#include <slicesort/detail/csp/device.hpp>
#include <slicesort/detail/decaying_sum/device.hpp>
#include <slicesort/detail/linear_attention/device.hpp>
#include <slicesort/detail/matmul/device.hpp>
#include <slicesort/detail/max_exchange/device.hpp>
#include <slicesort/detail/merge_attention/device.hpp>
#include <slicesort/detail/multi_permutation/device.hpp>
#include <slicesort/detail/permute/device.hpp>
#include <slicesort/detail/pointwise_attention/device.hpp>
#include <slicesort/detail/short_convolution/device.hpp>
#include <slicesort/detail/shuffle/device.hpp>
#include <slicesort/detail/sinkhorn/device.hpp>
#include <slicesort/detail/sinkhorn_csp/device.hpp>
#include <slicesort/detail/slicing_sort/device.hpp>
#include <slicesort/detail/soft_sort/device.hpp>
#include <slicesort/detail/softmax_attention/device.hpp>
#include <slicesort/detail/sparse_mix/device.hpp>
#include <slicesort/detail/top_k/device.hpp>
