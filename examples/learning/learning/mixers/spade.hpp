// SPDX-License-Identifier: Apache-2.0
// SPADE: attention within a window, beside S4D, which sees all rows.
#pragma once

#include "learning/mixers/state_space.hpp"
#include "recipes/state_space/spade.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace learning::mixers {

template <class T>
class spade_core : public recipe_core<spade_core<T>, recipes::spade<T, recipe_exec>, T> {
 public:
  static constexpr bool reads_rows = true, appends_rows = true;
  using spade_core::recipe_core::learn;

  struct config {
    ss::mask::window window{63, 64};
    state_space_config global{};
  };
  spade_core(parameter_scope<T> const& scope, head_shape shape, config const& options)
      : window_(options.window), norm_epsilon_(scope.rules.norm_epsilon) {
    learn_s4d(*this, scope, scope.width, options.global);
    extents4 const local{1, shape.heads, 1, shape.channels}, global{1, 1, 1, scope.width};
    for (auto const& [norm, e] :
         {std::pair<std::string, extents4>("local_norm", local), {"global_norm", global}}) {
      learn(scope, norm + ".weight", e, initializer::constant(1));
      learn(scope, norm + ".bias", e, initializer::constant(0));
    }
  }

  auto make(recipe_exec const& exec) const {
    return recipes::spade<T, recipe_exec>(exec, window_, norm_epsilon_);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    auto const w = [&](std::size_t i) { return this->template learned<U>(i); };
    return {t.q,          t.k,         t.v, {ss::split_heads(t.x, 1), w(0), w(1), w(2), w(3), w(4)},
            {w(5), w(6)}, {w(7), w(8)}};
  }

 private:
  ss::mask::window window_;
  double norm_epsilon_;
};

/// `y = W_O [norm(window_attention(Q, K, V)), norm(s4d(x))]`.
template <class T = float>
using spade = multi_head<spade_core<T>>;

}  // namespace learning::mixers
