// SPDX-License-Identifier: Apache-2.0
// A mixer whose type is chosen at run time, so that one encoder is compiled for many mixers.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/parameter_scope.hpp"

#include <functional>
#include <memory>

namespace learning::mixers {

template <class T = float>
class any_mixer {
  struct interface {
    virtual ~interface() = default;
    virtual void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) = 0;
    virtual void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) = 0;
  };
  template <class Mixer>
  struct holder final : interface {
    Mixer mixer;
    holder(parameter_scope<T> const& scope, typename Mixer::config const& options)
        : mixer(scope, options) {}
    void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) override {
      mixer.forward(c, x, y);
    }
    void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) override {
      mixer.backward(c, dy, dx);
    }
  };

 public:
  using element = T;
  using config = std::function<std::unique_ptr<interface>(parameter_scope<T> const&)>;

  /// Returns the configuration that selects `Mixer`.
  template <class Mixer>
  static config holding(typename Mixer::config const& options) {
    return [options](parameter_scope<T> const& scope) -> std::unique_ptr<interface> {
      return std::make_unique<holder<Mixer>>(scope, options);
    };
  }

  any_mixer(parameter_scope<T> const& scope, config const& make) : mixer_(make(scope)) {}
  void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) { mixer_->forward(c, x, y); }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) { mixer_->backward(c, dy, dx); }

 private:
  std::unique_ptr<interface> mixer_;
};

}  // namespace learning::mixers
