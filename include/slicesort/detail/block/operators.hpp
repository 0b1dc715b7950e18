// SPDX-License-Identifier: Apache-2.0
// Every operator that runs on grids.
#pragma once

#include <slicesort/detail/block/csp.hpp>
#include <slicesort/detail/block/max_exchange.hpp>
#include <slicesort/detail/block/multi_permutation.hpp>
#include <slicesort/detail/block/shuffle.hpp>
#include <slicesort/detail/block/sinkhorn_csp.hpp>
#include <slicesort/detail/block/slicing_sort.hpp>
#include <slicesort/detail/block/softmax_attention.hpp>
#include <slicesort/detail/block/sparse_mix.hpp>
