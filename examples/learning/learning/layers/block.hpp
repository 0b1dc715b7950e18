// SPDX-License-Identifier: Apache-2.0
// Blocks around a mixer: norms, residuals and an MLP. A block is a tag with a template `layer`.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/dropout.hpp"
#include "learning/layers/elements.hpp"
#include "learning/layers/linear.hpp"
#include "learning/layers/norm.hpp"
#include "learning/layers/parameter_scope.hpp"

namespace learning {

/// The components of a layer with residuals.
template <class Mixer>
class residual_components {
 public:
  using T = typename Mixer::element;

  residual_components(parameter_scope<T> const& scope, typename Mixer::config const& mixer,
                      index_t hidden)
      : norm1_(scope.child("norm1")),
        norm2_(scope.child("norm2")),
        mixer_(scope.child("mixer"), mixer),
        mlp_(scope.child("mlp"), scope.width, hidden, scope.width),
        drop1_(scope.child("mixer")),
        drop2_(scope.child("mlp")) {}

 protected:
  layer_norm<T> norm1_, norm2_;
  Mixer mixer_;
  mlp<T> mlp_;
  dropout<T> drop1_, drop2_;
};

/// `x += drop(mix(norm(x)))`, `x += drop(mlp(norm(x)))` (Sliceformer, the Long Range Arena, ViT).
/// The encoder normalizes the output of the last layer.
struct pre_norm {
  static constexpr bool has_final_norm = true;
  static constexpr bool drops_embedding_twice = false;

  template <class Mixer>
  class layer : residual_components<Mixer> {
    using base = residual_components<Mixer>;
    using base::norm1_, base::norm2_, base::mixer_, base::mlp_, base::drop1_, base::drop2_;

   public:
    using T = typename base::T;
    using base::residual_components;

    void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
      memory::scope const scope(c.stack);
      extents3 const e = x.extents();
      input_ = x, normed_ = c.keep(e), middle_ = c.keep(e), normed2_ = c.keep(e);
      norm1_.forward(c, flat(x), flat(normed_));
      mixer_.forward(c, normed_, middle_);
      drop1_.apply(c, flat(middle_));
      add_elements<T>(c, flat(middle_), flat(x), flat(middle_));
      norm2_.forward(c, flat<T const>(middle_), flat(normed2_));
      mlp_.forward(c, flat<T const>(normed2_), flat(y));
      drop2_.apply(c, flat(y));
      add_elements<T>(c, flat(y), flat(middle_), flat(y));
    }
    void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
      memory::scope const scope(c.stack);
      extents3 const e = dy.extents();
      tensor3<T> const dout = c.scratch(e), dnormed = c.scratch(e);
      drop2_.apply(c, flat(dy), flat(dout));
      mlp_.backward(c, flat<T const>(normed2_), flat<T const>(dout), flat(dnormed));
      copy(c, flat(dy), flat(dx));
      norm2_.backward(c, flat<T const>(middle_), flat(dnormed), flat(dx),
                      ss::grad_mode::accumulate);
      drop1_.apply(c, flat<T const>(dx), flat(dout));
      mixer_.backward(c, dout, dnormed);
      norm1_.backward(c, flat(input_), flat(dnormed), flat(dx), ss::grad_mode::accumulate);
    }

   private:
    tensor3<T const> input_;
    tensor3<T> normed_, middle_, normed2_;
  };
};

/// `x = norm(x + drop(mix(x)))`, `x = norm(x + drop(mlp(x)))`, where `x + drop` around the mixer is
/// left out if it has a residual of its own.
template <bool AddsResidual>
struct normed_sums {
  static constexpr bool has_final_norm = false;
  static constexpr bool drops_embedding_twice = false;

  template <class Mixer>
  class layer : residual_components<Mixer> {
    using base = residual_components<Mixer>;
    using base::norm1_, base::norm2_, base::mixer_, base::mlp_, base::drop1_, base::drop2_;

   public:
    using T = typename base::T;
    using residual_components<Mixer>::residual_components;

    void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
      memory::scope const scope(c.stack);
      extents3 const e = x.extents();
      sum1_ = c.keep(e), middle_ = c.keep(e), sum2_ = c.keep(e);
      mixer_.forward(c, x, sum1_);
      if (AddsResidual) {
        drop1_.apply(c, flat(sum1_));
        add_elements<T>(c, flat(sum1_), flat(x), flat(sum1_));
      }
      norm1_.forward(c, flat<T const>(sum1_), flat(middle_));
      mlp_.forward(c, flat<T const>(middle_), flat(sum2_));
      drop2_.apply(c, flat(sum2_));
      add_elements<T>(c, flat(sum2_), flat(middle_), flat(sum2_));
      norm2_.forward(c, flat<T const>(sum2_), flat(y));
    }
    void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
      memory::scope const scope(c.stack);
      extents3 const e = dy.extents();
      tensor3<T> const dout = c.scratch(e), dsum = c.scratch(e), dmiddle = c.scratch(e);
      norm2_.backward(c, flat<T const>(sum2_), flat(dy), flat(dmiddle));
      drop2_.apply(c, flat<T const>(dmiddle), flat(dout));
      mlp_.backward(c, flat<T const>(middle_), flat<T const>(dout), flat(dmiddle),
                    ss::grad_mode::accumulate);
      norm1_.backward(c, flat<T const>(sum1_), flat<T const>(dmiddle), flat(dsum));
      if (!AddsResidual) return mixer_.backward(c, dsum, dx);
      drop1_.apply(c, flat<T const>(dsum), flat(dout));
      mixer_.backward(c, dout, dx);
      add_elements<T>(c, flat(dx), flat(dsum), flat(dx));
    }

   private:
    tensor3<T> sum1_, middle_, sum2_;
  };
};
struct post_norm : normed_sums<true> {};  ///< Attention Is All You Need
struct gated : normed_sums<false> {};     ///< MEGA

/// `x = drop(mix(x))` (Paramixer, whose mixer contains residuals and MLPs). Its code applies
/// dropout to the embedding a second time.
struct bare {
  static constexpr bool has_final_norm = false;
  static constexpr bool drops_embedding_twice = true;

  template <class Mixer>
  class layer {
   public:
    using T = typename Mixer::element;

    layer(parameter_scope<T> const& scope, typename Mixer::config const& mixer, index_t /*hidden*/)
        : mixer_(scope.child("mixer"), mixer), drop_(scope) {}

    void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
      mixer_.forward(c, x, y);
      drop_.apply(c, flat(y));
    }
    void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
      memory::scope const scope(c.stack);
      tensor3<T> const dropped = c.scratch(dy.extents());
      drop_.apply(c, flat(dy), flat(dropped));
      mixer_.backward(c, dropped, dx);
    }

   private:
    Mixer mixer_;
    dropout<T> drop_;
  };
};

}  // namespace learning
