// SPDX-License-Identifier: Apache-2.0
/// Everything: the words, the policies and every operator; the CUDA backend when a CUDA compiler
/// reads it.
#pragma once

#include <slicesort/alignment.hpp>
#include <slicesort/attention_algorithm.hpp>
#include <slicesort/attention_tensors.hpp>
#include <slicesort/bigbird.hpp>
#include <slicesort/checkpoints.hpp>
#include <slicesort/csp.hpp>
#include <slicesort/dense_matrix.hpp>
#include <slicesort/direction.hpp>
#include <slicesort/divisor.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/extents.hpp>
#include <slicesort/feature.hpp>
#include <slicesort/gemm.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/grouping.hpp>
#include <slicesort/linear_attention.hpp>
#include <slicesort/mask.hpp>
#include <slicesort/mask_protocol.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/options.hpp>
#include <slicesort/order.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/products.hpp>
#include <slicesort/random_rows.hpp>
#include <slicesort/rank_collapse.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/shift.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/sinkhorn_csp.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/sparse_mask.hpp>
#include <slicesort/sparse_mix.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/topology.hpp>
#include <slicesort/tuning.hpp>
#include <slicesort/version.hpp>
#include <slicesort/view.hpp>
#include <slicesort/workspace.hpp>

#if defined(__CUDACC__)
#  include <slicesort/cuda.cuh>
#endif
