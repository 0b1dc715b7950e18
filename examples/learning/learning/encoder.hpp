// SPDX-License-Identifier: Apache-2.0
// A whole model: an embedding, layers of a block around a mixer, a pooling and a head. The mixer is
// one template argument, and everything else stays when it is changed.
#pragma once

#include "learning/call.hpp"
#include "learning/layers/block.hpp"
#include "learning/layers/embedding.hpp"
#include "learning/layers/pool.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace learning {

/// What a trainer knows of a model.
template <class T>
class model {
 public:
  virtual ~model() = default;
  /// From a batch to answers, `[batch, outputs]`. With `call::training` it keeps what backward
  /// reads, until the memory is cleared.
  virtual void forward(call<T>& c, batch<T> const& in, matrix<T> y) = 0;
  /// Adds to the gradients of all parameters, given those of the answers.
  virtual void backward(call<T>& c, batch<T> const& in, matrix<T const> dy) = 0;

  parameters<T>& learned() { return parameters_; }

 protected:
  parameters<T> parameters_;
};

/// The shape of an encoder; that of its input and output is the task's.
struct encoder_config {
  index_t width = 64, layers = 2;
  index_t hidden = 128;     ///< of a block's MLP
  index_t head_hidden = 0;  ///< of the head, a linear layer with relu; 0: none
  positions with = positions::learned;
  pooling pooled = pooling::mean;
  conventions rules{};
  bool masks_padding = true;  ///< rows past a sample's length take no part; else they are rows as
                              ///< others (published Sliceformer)
};

/// @tparam Mixer `mixers::sorting<..>`, `csp`, `attention`, `sparse_mix`, `none`, or a class of
///         yours with `element`, `config`, `Mixer(site, config)`, `forward(call, x, y)` and
///         `backward(call, dy, dx)`, of tensors `[batch, length, width]`. Forward keeps what
///         backward reads with `call::keep`; backward overwrites dx. Rows past `call::lengths` are
///         padding: what lies there is undefined, and nothing need be written.
/// @tparam Block `pre_norm`, `post_norm` or `bare`.
template <class Mixer, class Block = pre_norm>
class encoder final : public model<typename Mixer::element> {
 public:
  using T = typename Mixer::element;
  using layer_type = typename Block::template layer<Mixer>;

  encoder(sample_shape input, encoder_config const& with, typename Mixer::config const& mixer,
          std::uint64_t seed = 0)
      : with_(with),
        input_(input),
        class_token_(with.pooled == pooling::cls),
        embedding_(top(with), input, class_token_, with.with),
        pool_(with.pooled, embedding_.rows(), with.width),
        again_(top(with).at("again")) {
    site<T> at = top(with);
    at.length = embedding_.rows(), at.layers = with.layers;
    for (at.layer = 0; at.layer < with.layers; ++at.layer)
      layers_.push_back(std::make_unique<layer_type>(at.at("layers." + std::to_string(at.layer)),
                                                     mixer, with.hidden));
    if (Block::norms_at_the_end) norm_.emplace(at.at("norm"));
    index_t const pooled = pool_.outputs();
    index_t const last = with.head_hidden > 0 ? with.head_hidden : pooled;
    if (with.head_hidden > 0) before_head_.emplace(at.at("before_head"), pooled, last);
    head_.emplace(at.at("head"), last, input.outputs);
    this->parameters_.allocate(seed);
  }

  void forward(call<T>& c, batch<T> const& in, matrix<T> y) override {
    memory::scope const scope(c.stack);
    extents3 const e{in.size, embedding_.rows(), with_.width};
    set_lengths(c, in);
    tensor3<T> x = c.keep(e);
    embedding_.forward(c, in, x);
    c.start = x;
    if (Block::drops_twice && drops(c)) {
      tensor3<T> const dropped = c.keep(e);
      copy<T>(c, flat<T const>(x), flat(dropped));
      again_.apply(c, flat(dropped));
      x = dropped;
    }
    for (auto const& layer : layers_) {
      tensor3<T> const next = c.keep(e);
      layer->forward(c, x, next);
      x = next;
    }
    last_ = x;
    if (norm_) {
      x = c.keep(e);
      norm_->forward(c, flat<T const>(last_), flat(x));
    }
    pooled_ = {c.keep(in.size * pool_.outputs()), in.size, pool_.outputs()};
    pool_.forward(c, x, pooled_);
    hidden_ = pooled_;
    if (before_head_) {
      slope_ = c.keep_rows(pooled_, with_.head_hidden);
      hidden_ = c.keep_rows(pooled_, with_.head_hidden);
      before_head_->forward(c, pooled_, slope_);
      activate(c, activation::relu, slope_, hidden_);
    }
    head_->forward(c, hidden_, y);
  }

  void backward(call<T>& c, batch<T> const& in, matrix<T const> dy) override {
    memory::scope const scope(c.stack);
    extents3 const e{in.size, embedding_.rows(), with_.width};
    tensor3<T> dx = c.scratch(e), dy_of_layer = c.scratch(e);
    c.start_gradient = c.scratch(e);
    fill<T>(c, T(0), flat(c.start_gradient));
    matrix<T> const dpooled = c.scratch_rows(pooled_, pooled_.columns);
    if (before_head_) {
      matrix<T> const dhidden = c.scratch_rows(slope_, slope_.columns);
      head_->backward(c, hidden_, dy, dhidden);
      multiply_elements<T>(c, dhidden, slope_, dhidden);
      before_head_->backward(c, pooled_, dhidden, dpooled);
    } else {
      head_->backward(c, pooled_, dy, dpooled);
    }
    pool_.backward(c, dpooled, dx);
    if (norm_) {
      std::swap(dx, dy_of_layer);
      norm_->backward(c, flat<T const>(last_), flat<T const>(dy_of_layer), flat(dx));
    }
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      std::swap(dx, dy_of_layer);
      (*layer)->backward(c, dy_of_layer, dx);
    }
    if (Block::drops_twice) again_.apply(c, flat(dx));
    add_elements<T>(c, flat<T const>(dx), flat<T const>(c.start_gradient), flat(dx));
    embedding_.backward(c, in, dx);
  }

 private:
  site<T> top(encoder_config const& with) {
    site<T> at{&this->parameters_, "", with.rules, 0, 0, 0, 1};
    at.width = with.width;
    return at;
  }
  bool drops(call<T> const& c) const { return c.training && with_.rules.dropout > 0; }
  // Those of the sequences: with the class token's row.
  void set_lengths(call<T>& c, batch<T> const& in) {
    c.lengths = {}, c.forms_padding = with_.pooled == pooling::flatten;
    if (!with_.masks_padding || in.lengths.size() == 0) return;
    index_t* const lengths = c.template keep<index_t>(in.size);
    c.work([&] {
      for (index_t b = 0; b < in.size; ++b) lengths[b] = in.lengths(b) + (class_token_ ? 1 : 0);
      c.lengths = {lengths, in.size};
    });
  }

  encoder_config with_;
  sample_shape input_;
  bool class_token_;
  embedding<T> embedding_;
  pool<T> pool_;
  dropout<T> again_;
  std::vector<std::unique_ptr<layer_type>> layers_;
  std::optional<layer_norm<T>> norm_;
  std::optional<linear<T>> before_head_, head_;
  tensor3<T> last_;
  matrix<T> pooled_, hidden_, slope_;
};

}  // namespace learning
