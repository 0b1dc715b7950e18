// SPDX-License-Identifier: Apache-2.0
/// Feature maps of linear attention. A semantic policy of `linear_attention`, which uses the dot
/// product of query features and key features in place of softmax attention's `exp(<q, k>)`. Below,
/// x is a row of q or k with D channels, and r is the number of rows of `w`.
///
/// A user-defined feature map is any copyable type with
/// - `index_t features(index_t channels) const`: the number of features that `map` writes;
/// - `void map(feature_row row, A const* x, A* phi) const`: writes the features of the row, whose
///   `row.channels` elements are at `x`;
/// - `void backward(feature_row row, A const* x, A const* dphi, A* dx) const`: writes the gradient
///   of the row, given the gradient of its features;
///
/// for A = float, the accumulator of all types except double, and for A = double: two overloads
/// each, or templates. It may add `char const* validate(index_t channels) const`, which returns
/// null or the error of its parameters. For `exec::cuda` all but `validate` must be
/// `__host__ __device__`. The deprecated name `pull` is still accepted for `backward`.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <optional>

SLICESORT_TYPES_BEGIN

/// Position of a row: row `index` of the queries or keys of a sample. `length` is the number of
/// valid queries or of valid keys of the sample, whichever is larger. In calls with states, `index`
/// counts from the start of the sequence, exactly up to 2^30 rows, and `length` is 0.
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
/// number of valid queries or of valid keys of the sample, whichever is larger: 2 D features
/// (cosFormer, Qin et al., 2022, eq. 10).
struct cosine_reweighted {};

/// `r^(-1/2) (exp(<w_f, z> - |z|^2 / 2 - m) + eps)` with `z = x / D^(1/4)`: r features, whose
/// products approximate `exp(<q, k> / sqrt(D))` if the rows of `w` are normal (Performer's FAVOR+,
/// Choromanski et al., 2021, lemma 1). For a query, m is the largest `<w_f, z>` of its row. For
/// keys it is the maximum over all valid keys. If causal, it is the maximum over this key and the
/// earlier keys, so that no row depends on a later key; sums are rescaled when m grows. Gradients
/// treat m as a constant.
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
