// SPDX-License-Identifier: Apache-2.0
// Parameters of sinkhorn_csp. Channels are shifted as in csp (channel-wise sample permutation), but
// the rows of a group are mixed by a matrix instead of permuted.
#pragma once

#include <slicesort/detail/csp/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Arguments of the workspace size.
struct sinkhorn_csp_shape {
  static constexpr index_t max_iterations = 65536;

  extents3 extents;
  index_t group;  // rows per group
  index_t iterations;
};

// Number of samples that backward processes at a time. For these, the workspace holds the gradient
// of the reference through every channel.
constexpr index_t samples_at_once(extents3 e) {
  constexpr index_t max_elements = index_t{1} << 20;
  index_t const rows = e.length < 1 ? 1 : e.length;
  index_t const limit = max_elements / rows / (e.channels < 1 ? 1 : e.channels);
  return limit < 1 ? 1 : limit < e.batch ? limit : e.batch;
}

// Number of elements of samples_at_once samples.
constexpr index_t elements_at_once(extents3 e) {
  return e.empty() ? 0 : samples_at_once(e) * e.length * e.channels;
}

// Clamps a factor of a logit, so the product of any two factors is far below infinity.
template <class A>
SLICESORT_HD inline A logit_factor(double value) {
  constexpr double limit = sizeof(A) == 4 ? 0x1p60 : 0x1p508;
  double const below = value > limit ? limit : value;
  return static_cast<A>(below < -limit ? -limit : below);
}

template <class T>
struct sinkhorn_csp_forward {
  using element = T;
  static constexpr char const* name = "sinkhorn_csp.forward";
  csp_config config;
  double tau;
  index_t iterations;
  tensor3<T const> x;
  tensor3<T> y;
  tensor1<index_t const> lengths;

  sinkhorn_csp_shape shape() const { return {x.extents(), config.group, iterations}; }
};

template <class T>
struct sinkhorn_csp_backward {
  using element = T;
  static constexpr char const* name = "sinkhorn_csp.backward";
  csp_config config;
  double tau;
  index_t iterations;
  tensor3<T const> dy, x;
  tensor3<T> dx;
  grad_mode mode;
  tensor1<index_t const> lengths;

  sinkhorn_csp_shape shape() const { return {x.extents(), config.group, iterations}; }
};

struct sinkhorn_csp_op {
  using shape = sinkhorn_csp_shape;
  template <class T>
  using forward = sinkhorn_csp_forward<T>;
  template <class T>
  using backward = sinkhorn_csp_backward<T>;
};

SLICESORT_DETAIL_END
