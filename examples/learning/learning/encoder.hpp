// SPDX-License-Identifier: Apache-2.0
// A model: an embedding, layers of a block around a mixer, a pooling and a head. The mixer is a
// template argument.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/block.hpp"
#include "learning/layers/embedding.hpp"
#include "learning/layers/pool.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learning {

/// Interface of a model to the trainer.
template <class T>
class model {
 public:
  virtual ~model() = default;
  /// Computes outputs, `[batch, outputs]`. With `context::training`, keeps the data that backward
  /// reads until the memory is cleared.
  virtual void forward(context<T>& c, batch<T> const& input, matrix<T> y) = 0;
  /// Accumulates the gradients of all parameters, given the output gradients.
  virtual void backward(context<T>& c, batch<T> const& input, matrix<T const> dy) = 0;

  parameters<T>& params() { return parameters_; }

  /// Sets a function that forward calls with the rows `[batch, length, width]` before the first
  /// layer and after each layer. Empty: none.
  void set_observer(std::function<void(tensor3<T const>)> observer) {
    observer_ = std::move(observer);
  }

 protected:
  void observe(context<T>& c, tensor3<T const> rows) const {
    if (observer_) c.compute([&] { observer_(rows); });
  }

  parameters<T> parameters_;

 private:
  std::function<void(tensor3<T const>)> observer_;
};

/// The configuration of an encoder. The task determines the shapes of input and output.
struct encoder_config {
  index_t width = 64, layers = 2;
  index_t hidden = 128;     ///< hidden width of a block's MLP
  index_t head_hidden = 0;  ///< width of a linear layer with relu before the last one; 0: none
  positions position_kind = positions::learned;
  pooling pool_kind = pooling::mean;
  conventions rules{};
  bool masks_padding = true;  ///< ignores padding rows; published Sliceformer does not
};

/// @tparam Mixer `mixers::sorting<..>`, `csp`, `attention`, `sparse_mix`, `none`, .., `any_mixer`
///         for one that is chosen at run time, or a custom class with `element`, `config`,
///         `Mixer(parameter_scope, config)`, `forward(context, x, y)` and `backward(context, dy,
///         dx)`, for tensors `[batch, length, width]`. Forward keeps data for backward with
///         `context::keep`; backward overwrites dx. Rows past `context::lengths` are padding:
///         their values are undefined and need not be written.
/// @tparam Block `pre_norm`, `post_norm`, `gated` or `bare`.
template <class Mixer, class Block = pre_norm>
class encoder final : public model<typename Mixer::element> {
 public:
  using T = typename Mixer::element;
  using layer_type = typename Block::template layer<Mixer>;

  encoder(sample_shape input, encoder_config const& config, typename Mixer::config const& mixer,
          std::uint64_t seed = 0)
      : config_(config),
        input_(input),
        class_token_(config.pool_kind == pooling::cls),
        embedding_(root_scope(config), input, class_token_, config.position_kind),
        pool_(config.pool_kind, embedding_.rows(), config.width),
        second_dropout_(root_scope(config).child("again")) {
    parameter_scope<T> scope = root_scope(config);
    scope.length = embedding_.rows(), scope.layers = config.layers;
    for (scope.layer = 0; scope.layer < config.layers; ++scope.layer)
      layers_.push_back(std::make_unique<layer_type>(
          scope.child("layers." + std::to_string(scope.layer)), mixer, config.hidden));
    if (Block::has_final_norm) norm_.emplace(scope.child("norm"));
    index_t const pooled = pool_.outputs();
    index_t const last = config.head_hidden > 0 ? config.head_hidden : pooled;
    if (config.head_hidden > 0) before_head_.emplace(scope.child("before_head"), pooled, last);
    head_.emplace(scope.child("head"), last, input.outputs);
    this->parameters_.allocate(seed);
  }

  void forward(context<T>& c, batch<T> const& input, matrix<T> y) override {
    memory::scope const scope(c.stack);
    extents3 const e{input.size, embedding_.rows(), config_.width};
    set_lengths(c, input);
    tensor3<T> x = c.keep(e);
    embedding_.forward(c, input, x);
    c.embedding = x;
    if (Block::drops_embedding_twice && drops(c)) {
      tensor3<T> const dropped = c.keep(e);
      second_dropout_.apply(c, flat<T const>(x), flat(dropped));
      x = dropped;
    }
    this->observe(c, x);
    for (auto const& layer : layers_) {
      tensor3<T> const next = c.keep(e);
      layer->forward(c, x, next);
      x = next;
      this->observe(c, x);
    }
    last_ = x;
    if (norm_) {
      x = c.keep(e);
      norm_->forward(c, flat<T const>(last_), flat(x));
    }
    pooled_ = {c.keep(input.size * pool_.outputs()), input.size, pool_.outputs()};
    pool_.forward(c, x, pooled_);
    hidden_ = pooled_;
    if (before_head_) {
      slope_ = c.keep_rows(pooled_, config_.head_hidden);
      hidden_ = c.keep_rows(pooled_, config_.head_hidden);
      before_head_->forward(c, pooled_, slope_);
      activate(c, activation::relu, slope_, hidden_);
    }
    head_->forward(c, hidden_, y);
  }

  void backward(context<T>& c, batch<T> const& input, matrix<T const> dy) override {
    memory::scope const scope(c.stack);
    extents3 const e{input.size, embedding_.rows(), config_.width};
    tensor3<T> dx = c.scratch(e), dy_layer = c.scratch(e);
    c.embedding_gradient = c.scratch(e);
    fill<T>(c, T(0), flat(c.embedding_gradient));
    matrix<T> const dpooled = c.scratch_like(pooled_);
    if (before_head_) {
      matrix<T> const dhidden = c.scratch_like(slope_);
      head_->backward(c, hidden_, dy, dhidden);
      multiply_elements<T>(c, dhidden, slope_, dhidden);
      before_head_->backward(c, pooled_, dhidden, dpooled);
    } else {
      head_->backward(c, pooled_, dy, dpooled);
    }
    pool_.backward(c, dpooled, dx);
    if (norm_) {
      std::swap(dx, dy_layer);
      norm_->backward(c, flat<T const>(last_), flat<T const>(dy_layer), flat(dx));
    }
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      std::swap(dx, dy_layer);
      (*layer)->backward(c, dy_layer, dx);
    }
    if (Block::drops_embedding_twice) second_dropout_.apply(c, flat(dx));
    add_elements<T>(c, flat<T const>(dx), flat<T const>(c.embedding_gradient), flat(dx));
    embedding_.backward(c, input, dx);
  }

 private:
  parameter_scope<T> root_scope(encoder_config const& config) {
    parameter_scope<T> scope{&this->parameters_, "", config.rules, 0, 0, 0, 1};
    scope.width = config.width;
    return scope;
  }
  bool drops(context<T> const& c) const { return c.training && config_.rules.dropout > 0; }
  // Sets the lengths of the sequences, class token included.
  void set_lengths(context<T>& c, batch<T> const& input) {
    c.lengths = {}, c.computes_padding = config_.pool_kind == pooling::flatten;
    if (!config_.masks_padding || input.lengths.size() == 0) return;
    index_t* const lengths = c.template keep<index_t>(input.size);
    c.compute([&] {
      for (index_t b = 0; b < input.size; ++b)
        lengths[b] = input.lengths(b) + (class_token_ ? 1 : 0);
      c.lengths = {lengths, input.size};
    });
  }

  encoder_config config_;
  sample_shape input_;
  bool class_token_;
  embedding<T> embedding_;
  pool<T> pool_;
  dropout<T> second_dropout_;
  std::vector<std::unique_ptr<layer_type>> layers_;
  std::optional<layer_norm<T>> norm_;
  std::optional<linear<T>> before_head_, head_;
  tensor3<T> last_;
  matrix<T> pooled_, hidden_, slope_;
};

}  // namespace learning
