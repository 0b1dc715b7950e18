// SPDX-License-Identifier: Apache-2.0
// Every operator that runs on grids.
#pragma once

#include <slicesort/detail/csp/dispatch.hpp>
#include <slicesort/detail/linear_attention/dispatch.hpp>
#include <slicesort/detail/max_exchange/dispatch.hpp>
#include <slicesort/detail/merge_attention/dispatch.hpp>
#include <slicesort/detail/multi_permutation/dispatch.hpp>
#include <slicesort/detail/permute/dispatch.hpp>
#include <slicesort/detail/shuffle/dispatch.hpp>
#include <slicesort/detail/sinkhorn_csp/dispatch.hpp>
#include <slicesort/detail/slicing_sort/dispatch.hpp>
#include <slicesort/detail/softmax_attention/dispatch.hpp>
#include <slicesort/detail/sparse_mix/dispatch.hpp>
