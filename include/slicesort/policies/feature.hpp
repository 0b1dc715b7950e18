// SPDX-License-Identifier: Apache-2.0
/// Feature maps of linear attention. A semantic policy of `linear_attention`, which multiplies
/// features of queries and keys where softmax attention takes `exp(<q, k>)`. Below, x is a row of q
/// or k with D channels, and r is the number of rows of `w`.
///
/// A user-defined feature map is any copyable type with
/// - `index_t features(index_t channels) const`: the number of features that `map` writes;
/// - `void map(feature_row row, A const* x, A* phi) const`: writes the features of the row, given
///   its `row.channels` numbers at `x`;
/// - `void backward(feature_row row, A const* x, A const* dphi, A* dx) const`: writes the gradient
///   of the row, given that of its features;
///
/// for A = float, the accumulator of all types but double, and A = double: two functions each, or
/// templates. Optional is `char const* validate(index_t channels) const`, which returns null, or
/// what is wrong with the parameters. For `exec::cuda` all but `validate` must be `__host__
/// __device__`. `backward` may still have its deprecated name, `pull`.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <optional>

SLICESORT_TYPES_BEGIN

/// Position of a row: number `index` of the queries or keys of a sample. `length` is the larger
/// number of its valid queries and valid keys.
struct feature_row {
  index_t index, length, channels;
};

namespace feature {

/// `x + 1` where x > 0, else `exp(x)`: D features (Katharopoulos et al., *Transformers are RNNs*,
/// 2020, eq. 7).
struct elu_plus_one {};

/// `max(x, 0) + eps`: D features. With `eps` 1e-3, and `divisor::sum_plus{0}`, the Performer of the
/// Long Range Arena's code.
struct relu {
  double eps = 0;
};

/// `[max(x, 0) cos t, max(x, 0) sin t]` with `t = pi (i + 1) / (2 L)` in row i, where L is the
/// larger number of valid queries and valid keys of the sample: 2 D features (cosFormer, Qin et
/// al., 2022, eq. 10).
struct cosine_reweighted {};

/// `r^(-1/2) (exp(<w_f, z> - |z|^2 / 2 - m) + eps)` with `z = x / D^(1/4)`: r features, whose
/// products approximate `exp(<q, k> / sqrt(D))` if the rows of `w` are normal (Performer's FAVOR+,
/// Choromanski et al., 2021, lemma 1). For a query, m is the largest `<w_f, z>` of its row. For
/// keys it is the largest one of all valid keys; causal, of this key and those before it, so that
/// no row depends on a later key, and sums are rescaled when m grows. Gradients treat m as a
/// constant.
struct random_exp {
  double eps = 1e-6;
};

/// `max(scale <w_f, x>, 0) + eps`: r features (Performer's generalized attention). `scale` defaults
/// to `D^(-1/4)`.
struct random_relu {
  double eps = 1e-3;
  std::optional<double> scale = std::nullopt;
};

/// `scale [sin u, cos u]` with `u_f = <w_f, x> / (|x| + floor)`: 2 r features (Random Feature
/// Attention, Peng et al., 2021, eq. 4). `scale` defaults to `r^(-1/2)`. Products of features may
/// be negative, and so may divisors: the authors' code uses a scale of 0.1 and adds 1 to divisors
/// (`divisor::sum_plus{1}`).
struct random_fourier {
  double floor = 1e-3;
  std::optional<double> scale = std::nullopt;
};

}  // namespace feature

SLICESORT_TYPES_END
