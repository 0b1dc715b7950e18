// SPDX-License-Identifier: Apache-2.0
// Where in a model a layer stands: under which name its parameters go, and what it may depend on.
#pragma once

#include "learning/layers/activation.hpp"
#include "learning/parameters.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace learning {

/// How weights of products are drawn, `[out, in]`: U(+-sqrt(6 / (in + out))) (xavier_uniform: the
/// Long Range Arena), U(+-1 / sqrt(in)) for weights and biases alike (torch's default: Paramixer),
/// or normal with a deviation of 0.02.
enum class initial { xavier, torch, normal };

/// What all layers of a model have in common.
struct conventions {
  initial weights = initial::xavier;
  activation hidden = activation::gelu_tanh;
  double norm_epsilon = 1e-6;
  double dropout = 0;
  double token_deviation = 1, position_deviation = 0.02;  ///< of embeddings, which are normal

  initializer weight(index_t in, index_t out) const {
    auto const i = static_cast<double>(in), o = static_cast<double>(out);
    if (weights == initial::normal) return initializer::normal(0.02);
    return initializer::uniform(weights == initial::xavier ? std::sqrt(6 / (i + o))
                                                           : 1 / std::sqrt(i));
  }
  initializer bias(index_t in) const {
    if (weights != initial::torch) return initializer::constant(0);
    return initializer::uniform(1 / std::sqrt(static_cast<double>(in)));
  }
};

/// The place of a layer in a model.
template <class T>
struct site {
  parameters<T>* all;
  std::string name;
  conventions rules{};
  index_t batch = 0, length = 0, width = 0;  ///< of the sequences that a block takes
  index_t layer = 0, layers = 1;

  site at(std::string const& part) const {
    site inner = *this;
    inner.name += (name.empty() ? "" : ".") + part;
    return inner;
  }
  parameter<T> add(std::string const& part, std::vector<index_t> shape, initializer first) const {
    return all->add(at(part).name, std::move(shape), first);
  }
};

}  // namespace learning
