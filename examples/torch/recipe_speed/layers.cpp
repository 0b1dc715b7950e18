// SPDX-License-Identifier: Apache-2.0
// The recipes and softmax attention in float on one thread, as C functions for compare.py.
#include "../../recipes/linformer.hpp"
#include "../../recipes/long_short.hpp"
#include "../../recipes/nystromformer.hpp"
#include "../../recipes/reformer.hpp"
#include "../../recipes/sinkformer.hpp"
#include "../../recipes/sinkhorn_transformer.hpp"
#include "../../recipes/synthesizer.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>

namespace ss = slicesort;
using host = ss::exec::host;
using tensor = ss::tensor4<float>;

// A contiguous tensor [batch, heads, length, channels].
struct array {
  float* data;
  std::int64_t extents[4];

  tensor view() const { return {data, {extents[0], extents[1], extents[2], extents[3]}}; }
};
// A layer with its tensors.
struct layer {
  virtual ~layer() = default;
  virtual void forward() = 0;
  virtual void backward() = 0;
};

namespace {

template <class Recipe, class Params, class Grads>
struct recipe_layer : layer {
  Recipe recipe;
  Params params;
  tensor y, dy;
  Grads grads;

  recipe_layer(Recipe&& r, Params const& p, tensor output, tensor doutput, Grads const& g)
      : recipe(std::move(r)), params(p), y(output), dy(doutput), grads(g) {}
  void forward() override { recipe.forward(params, y); }
  void backward() override { recipe.backward(dy, params, y, grads); }
};

// Softmax attention in the form of a recipe.
class softmax_layer {
 public:
  void forward(ss::attention_inputs<float> const& params, tensor y) {
    memory_.clear();
    state_ = memory_.tensor<float>(op_.saved_extents(params.q.extents(), params.v.extents()));
    op_.forward(host{}, params, y, state_, memory_.workspace());
  }
  void backward(tensor dy, ss::attention_inputs<float> const& params, tensor y,
                ss::attention_gradients<float> const& grads) {
    op_.backward(host{}, dy, params, y, state_, grads, memory_.workspace());
  }

 private:
  ss::softmax_attention<> op_;
  recipes::memory<host> memory_{host{}};
  tensor state_;
};

std::unique_ptr<layer> make(std::string_view name, std::int64_t size, array const* inputs, tensor y,
                            tensor dy, array const* grads) {
  host const exec;
  auto const x = [&](int i) { return inputs[i].view(); };
  auto const dx = [&](int i) { return grads[i].view(); };
  auto const bind = [&](auto recipe, auto const& params, auto const& gradients) {
    return std::unique_ptr<layer>(new recipe_layer<decltype(recipe), std::decay_t<decltype(params)>,
                                                   std::decay_t<decltype(gradients)>>(
        std::move(recipe), params, y, dy, gradients));
  };
  if (name == "softmax_attention")
    return bind(softmax_layer(), ss::attention_inputs<float>{x(0), x(1), x(2), {}},
                ss::attention_gradients<float>{dx(0), dx(1), dx(2)});
  if (name == "linformer")
    return bind(recipes::linformer<float, host>(exec),
                recipes::linformer_params<float>{x(0), x(1), x(2), x(3), x(4)},
                recipes::linformer_grads<float>{dx(0), dx(1), dx(2), dx(3), dx(4)});
  if (name == "nystromformer")
    return bind(recipes::nystromformer<float, host>(exec, size),
                recipes::nystromformer_params<float>{x(0), x(1), x(2), x(3)},
                recipes::nystromformer_grads<float>{dx(0), dx(1), dx(2), dx(3)});
  if (name == "synthesizer")
    return bind(recipes::synthesizer<float, host>(exec),
                recipes::synthesizer_params<float>{{}, {}, x(0), x(1)},
                recipes::synthesizer_grads<float>{{}, {}, dx(0), dx(1)});
  if (name == "long_short")
    return bind(recipes::long_short<float, host>(exec, ss::mask::window{size, size - 1}),
                recipes::long_short_params<float>{x(0), x(1), x(2), x(3), x(4)},
                recipes::long_short_grads<float>{dx(0), dx(1), dx(2), dx(3), dx(4)});
  if (name == "sinkhorn_transformer")
    return bind(recipes::sinkhorn_transformer<float, host>(exec, size),
                recipes::sinkhorn_transformer_params<float>{x(0), x(1), x(2), x(3)},
                recipes::sinkhorn_transformer_grads<float>{dx(0), dx(1), dx(2), dx(3)});
  if (name == "reformer")
    return bind(recipes::reformer<float, host>(exec, size),
                recipes::reformer_params<float>{x(0), x(1), x(2)},
                recipes::reformer_grads<float>{dx(0), dx(1)});
  if (name == "sinkformer")
    return bind(recipes::sinkformer<float, host>(exec, size),
                recipes::sinkformer_params<float>{x(0), x(1), x(2)},
                recipes::sinkformer_grads<float>{dx(0), dx(1), dx(2)});
  return nullptr;
}

// Returns 0, or 1 after an error, which it prints.
template <class F>
int report_error(F const& f) {
  try {
    f();
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace

extern "C" {

// Returns null if there is no such recipe. `size` is its landmarks, window, block, chunk or
// half-steps.
layer* make_layer(char const* name, std::int64_t size, array const* inputs, array y, array dy,
                  array const* grads) {
  return make(name, size, inputs, y.view(), dy.view(), grads).release();
}
int forward_layer(layer* recipe) {
  return report_error([&] { recipe->forward(); });
}
int backward_layer(layer* recipe) {
  return report_error([&] { recipe->backward(); });
}
void delete_layer(layer* recipe) { delete recipe; }
}
