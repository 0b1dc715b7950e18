// SPDX-License-Identifier: Apache-2.0
// A mixer of values: a projection, an operator, and a projection back.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/linear.hpp"
#include "learning/layers/parameter_scope.hpp"

#include <slicesort/saved.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>

namespace learning::mixers {

/// `y = W_O op(W_V x)`. `Core` contains the operator and its state. It defines
/// `Core(parameter_scope, config)`, where the scope has the width of the values, and
/// `forward(context, v, y)` and `backward(context, dy, dv)`, which overwrite their results.
template <class Core>
class projected {
 public:
  using element = typename Core::element;
  using T = element;

  struct config {
    typename Core::config core{};
    index_t inner = 0;  ///< channels of the values; 0: the width
    bias values = bias::none, out = bias::none;
  };

  projected(parameter_scope<T> const& scope, config const& options)
      : inner_(options.inner > 0 ? options.inner : scope.width),
        values_(scope.child("value"), scope.width, inner_, options.values),
        out_(scope.child("out"), inner_, scope.width, options.out),
        core_(with_width(scope, inner_), options.core) {}

  void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
    memory::scope const scope(c.stack);
    extents3 const e{x.extents().batch, x.extents().length, inner_};
    input_ = x, mixed_ = c.keep(e);
    tensor3<T> const v = c.scratch(e);
    values_.forward(c, flat(x), flat(v));
    core_.forward(c, v, mixed_);
    out_.forward(c, flat<T const>(mixed_), flat(y));
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    memory::scope const scope(c.stack);
    tensor3<T> const dmixed = c.scratch(mixed_.extents()), dv = c.scratch(mixed_.extents());
    out_.backward(c, flat<T const>(mixed_), flat(dy), flat(dmixed));
    core_.backward(c, dmixed, dv);
    values_.backward(c, flat(input_), flat<T const>(dv), flat(dx));
  }

 private:
  static parameter_scope<T> with_width(parameter_scope<T> scope, index_t inner) {
    scope.width = inner;
    return scope;
  }

  index_t inner_;
  linear<T> values_, out_;
  Core core_;
  tensor3<T const> input_;
  tensor3<T> mixed_;
};

/// Allocates a tensor of saved indices.
template <class T>
ss::index_tensor3 keep_indices(context<T>& c, extents3 e, ss::index_width width) {
  auto const keep = [&](auto index) -> ss::index_tensor3 {
    using index_type = decltype(index);
    return tensor3<index_type>(c.template keep<index_type>(e.size()), e);
  };
  if (width == ss::index_width::bits8) return keep(std::uint8_t{});
  if (width == ss::index_width::bits16) return keep(std::uint16_t{});
  return keep(std::int32_t{});
}
/// Returns the narrowest index width for `length` rows.
inline ss::index_width width_of_rows(index_t length) {
  return length <= 65536 ? ss::index_width::bits16 : ss::index_width::bits32;
}
/// Returns the state for forward to write, or `no_saved` if no backward follows.
template <class Saved, class View, class T>
Saved saved_if_training(context<T> const& c, View const& view) {
  return c.training ? Saved(view) : Saved(ss::no_saved);
}
template <class T>
ss::workspace workspace(context<T>& c, std::size_t bytes) {
  return {c.template scratch<std::byte>(static_cast<index_t>(bytes)), bytes};
}

/// Base of cores whose operator saves indices. `Core` defines their extents with
/// `saved_extents(extents)` and their type with `index_width(extents)`.
template <class Core, class Op, class Saved, class T>
class saving_core {
 public:
  using element = T;
  explicit saving_core(Op op) : op_(op) {}

  void forward(context<T>& c, tensor3<T const> v, tensor3<T> y) {
    extents3 const e = v.extents();
    auto const& core = static_cast<Core const&>(*this);
    state_ = keep_indices(c, core.saved_extents(e), core.index_width(e));
    auto const scratch = workspace(c, op_.workspace_bytes(c.exec(), v));
    c.compute([&] {
      op_.forward(c.exec(), v, y, saved_if_training<Saved>(c, state_), scratch, c.lengths);
    });
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dv) {
    auto const scratch = workspace(c, op_.workspace_bytes(c.exec(), dy));
    c.compute([&] { op_.backward(c.exec(), dy, state_, dv, scratch, c.lengths); });
  }

  extents3 saved_extents(extents3 e) const { return e; }
  ss::index_width index_width(extents3 e) const { return width_of_rows(e.length); }

 protected:
  Op op_;

 private:
  ss::index_tensor3 state_;
};

}  // namespace learning::mixers
