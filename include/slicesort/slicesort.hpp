// SPDX-License-Identifier: Apache-2.0
/// Includes the basic types, the policies and all operators; with a CUDA compiler, also the CUDA
/// backend.
#pragma once

#include <slicesort/argsort.hpp>
#include <slicesort/attention_tensors.hpp>
#include <slicesort/csp.hpp>
#include <slicesort/decaying_sum.hpp>
#include <slicesort/dense_matrix.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/extents.hpp>
#include <slicesort/linear_attention.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/options.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/pointwise_attention.hpp>
#include <slicesort/policies/alignment.hpp>
#include <slicesort/policies/attention_algorithm.hpp>
#include <slicesort/policies/checkpoints.hpp>
#include <slicesort/policies/direction.hpp>
#include <slicesort/policies/divisor.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/policies/grouping.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/policies/masks/bigbird.hpp>
#include <slicesort/policies/masks/sparse_mask.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/policies/shift.hpp>
#include <slicesort/policies/topology.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/random_rows.hpp>
#include <slicesort/rank_collapse.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/short_convolution.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/sigmoid.hpp>
#include <slicesort/sinkhorn.hpp>
#include <slicesort/sinkhorn_csp.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/soft_sort.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/sparse_mix.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/top_k.hpp>
#include <slicesort/version.hpp>
#include <slicesort/view.hpp>
#include <slicesort/workspace.hpp>

#if defined(__CUDACC__)
#  include <slicesort/cuda.cuh>
#endif
