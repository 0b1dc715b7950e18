// SPDX-License-Identifier: Apache-2.0
// The recipes and some operators in float on one thread, as C functions for compare.py.
#include "../../recipes/linformer.hpp"
#include "../../recipes/long_short.hpp"
#include "../../recipes/mega/mega.hpp"
#include "../../recipes/mega/mega_csp.hpp"
#include "../../recipes/nystromformer.hpp"
#include "../../recipes/reformer.hpp"
#include "../../recipes/sinkformer.hpp"
#include "../../recipes/sinkhorn_transformer.hpp"
#include "../../recipes/state_space/etsmlp.hpp"
#include "../../recipes/state_space/s4d.hpp"
#include "../../recipes/state_space/s5.hpp"
#include "../../recipes/state_space/spade.hpp"
#include "../../recipes/synthesizer.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/decaying_sum.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/pointwise_attention.hpp>
#include <slicesort/policies/alignment.hpp>
#include <slicesort/policies/grouping.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/policies/score_function.hpp>
#include <slicesort/policies/shift.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

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

// Operators without saved state in the form of a recipe.
template <class Function>
class pointwise_layer {
 public:
  void forward(ss::attention_inputs<float> const& params, tensor y) {
    op_.forward(host{}, params, y, memory_.workspace());
  }
  void backward(tensor dy, ss::attention_inputs<float> const& params, tensor,
                ss::attention_gradients<float> const& grads) {
    op_.backward(host{}, dy, params, grads, memory_.workspace());
  }

 private:
  ss::pointwise_attention<ss::mask::full, Function> op_;
  recipes::memory<host> memory_{host{}};
};
struct sum_params {
  tensor x, a, w;  // [batch, 1, length, channels], [1, numbers, 1, channels]
};
class sum_layer {
 public:
  explicit sum_layer(ss::decaying_sum op) : op_(op) {}
  void forward(sum_params const& params, tensor y) {
    op_.forward(host{}, recipes::head(params.x, 0), {params.a, params.w}, recipes::head(y, 0), {},
                memory_.workspace());
  }
  void backward(tensor dy, sum_params const& params, tensor, sum_params const& grads) {
    op_.backward(host{}, recipes::head(dy, 0), recipes::head(params.x, 0), {params.a, params.w},
                 {recipes::head(grads.x, 0), grads.a, grads.w}, {}, memory_.workspace());
  }

 private:
  ss::decaying_sum op_;
  recipes::memory<host> memory_{host{}};
};

std::unique_ptr<layer> make(std::string_view name, std::int64_t size, array const* inputs, tensor y,
                            tensor dy, array const* grads) {
  host const exec;
  auto const x = [&](int i) { return inputs[i].view(); };
  auto const dx = [&](int i) { return grads == nullptr ? tensor() : grads[i].view(); };
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
  if (name == "pointwise_laplace")
    return bind(pointwise_layer<ss::score_function::laplace>(),
                ss::attention_inputs<float>{x(0), x(1), x(2), {}},
                ss::attention_gradients<float>{dx(0), dx(1), dx(2)});
  if (name == "pointwise_squared_relu")
    return bind(pointwise_layer<ss::score_function::squared_relu>(),
                ss::attention_inputs<float>{x(0), x(1), x(2), {}},
                ss::attention_gradients<float>{dx(0), dx(1), dx(2)});
  if (name == "mega" || name == "mega_chunk")
    return bind(recipes::mega<float, host>(exec, size),
                recipes::mega_params<float>{x(0), x(1), x(2), x(3), x(4), x(5)},
                recipes::mega_grads<float>{dx(0), dx(1), dx(2), dx(3), dx(4), dx(5)});
  using sort_channels = ss::csp<ss::shift::none, ss::ascending>;
  if (name == "mega_csp")
    return bind(
        recipes::mega_csp<float, host, sort_channels>(exec, sort_channels(ss::group_count{1})),
        recipes::mega_csp_params<float>{x(0), x(1)}, recipes::mega_csp_grads<float>{dx(0), dx(1)});
  if (name == "s4d")
    return bind(recipes::s4d<float, host>(exec),
                recipes::s4d_params<float>{x(0), x(1), x(2), x(3), x(4), x(5)},
                recipes::s4d_grads<float>{dx(0), dx(1), dx(2), dx(3), dx(4), dx(5)});
  if (name == "s5")
    return bind(recipes::s5<float, host>(exec),
                recipes::s5_params<float>{x(0), x(1), x(2), x(3), x(4), x(5), x(6)},
                recipes::s5_grads<float>{dx(0), dx(1), dx(2), dx(3), dx(4), dx(5), dx(6)});
  if (name == "etsmlp")
    return bind(recipes::etsmlp<float, host>(exec),
                recipes::etsmlp_params<float>{x(0), x(1), x(2), x(3)},
                recipes::etsmlp_grads<float>{dx(0), dx(1), dx(2), dx(3)});
  using state_space = recipes::s4d<float, host>;
  if (name == "spade")
    return bind(
        recipes::spade<float, host>(exec, ss::mask::window{size, size - 1}),
        recipes::spade_params<float, state_space>{
            x(0), x(1), x(2), {x(3), x(4), x(5), x(6), x(7), x(8)}, {x(9), x(10)}, {x(11), x(12)}},
        recipes::spade_grads<float, state_space>{dx(0),
                                                 dx(1),
                                                 dx(2),
                                                 {dx(3), dx(4), dx(5), dx(6), dx(7), dx(8)},
                                                 {dx(9), dx(10)},
                                                 {dx(11), dx(12)}});
  if (name == "decaying_sum" || name == "decaying_sum_mega") {
    bool const both = name == "decaying_sum_mega";
    return bind(sum_layer(ss::decaying_sum(
                    size, ss::decay_numbers::real,
                    both ? ss::decay_direction::both : ss::decay_direction::forward)),
                sum_params{x(0), x(1), x(2)}, sum_params{dx(0), dx(1), dx(2)});
  }
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

// Returns null if there is no such recipe. `size` is its landmarks, window, block, chunk,
// half-steps or states. `grads` is null if only forward is called.
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
