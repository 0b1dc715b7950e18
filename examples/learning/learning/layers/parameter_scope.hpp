// SPDX-License-Identifier: Apache-2.0
// Parameter scopes: the name prefix of a layer's parameters, and the settings that it depends on.
#pragma once

#include "learning/layers/activation.hpp"
#include "learning/parameters.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace learning {

/// Initialization of weights, `[out, in]`: U(+-sqrt(6 / (in + out))) (xavier_uniform: the Long
/// Range Arena), U(+-1 / sqrt(in)) for weights and biases (torch's default: Paramixer), or normal
/// with a standard deviation of 0.02.
enum class initial { xavier, torch, normal };

/// Settings that all layers of a model share.
struct conventions {
  initial weights = initial::xavier;
  activation hidden = activation::gelu_tanh;
  double norm_epsilon = 1e-6;
  double dropout = 0;
  double token_deviation = 1, position_deviation = 0.02;  ///< sigma of initial embeddings

  initializer weight(index_t input_width, index_t output_width) const {
    auto const i = static_cast<double>(input_width), o = static_cast<double>(output_width);
    if (weights == initial::normal) return initializer::normal(0.02);
    return initializer::uniform(weights == initial::xavier ? std::sqrt(6 / (i + o))
                                                           : 1 / std::sqrt(i));
  }
  initializer bias(index_t input_width) const {
    if (weights != initial::torch) return initializer::constant(0);
    return initializer::uniform(1 / std::sqrt(static_cast<double>(input_width)));
  }
};

/// The scope of a layer. Children have the name `parent.child`.
template <class T>
struct parameter_scope {
  parameters<T>* params;
  std::string name;
  conventions rules{};
  index_t batch = 0, length = 0, width = 0;  ///< extents of the block's input
  index_t layer = 0, layers = 1;

  parameter_scope child(std::string const& child_name) const {
    parameter_scope inner = *this;
    inner.name += (name.empty() ? "" : ".") + child_name;
    return inner;
  }
  parameter<T> add(std::string const& parameter_name, std::vector<index_t> shape,
                   initializer init) const {
    return params->add(child(parameter_name).name, std::move(shape), init);
  }
};

}  // namespace learning
