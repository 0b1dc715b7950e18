// SPDX-License-Identifier: Apache-2.0
// Prints outputs and gradients of models after one step, one line per array. check_losses.py
// compares two builds, with the library's products and with a BLAS. A BLAS sums in a different
// order, and a rounding before a sort may change a result by any amount. So "exact" models multiply
// only integers, without rounding; "smooth" models are continuous.
#include "learning/encoder.hpp"
#include "learning/gemm.hpp"
#include "learning/loss.hpp"
#include "learning/mixers/attention.hpp"
#include "learning/mixers/sorting.hpp"
#include "learning/mixers/sparse_mix.hpp"
#include "linked_operators.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace learning;

// 1280 rows: two tiles.
constexpr index_t samples = 20;
constexpr sample_shape shape{64, 0, 16, 2, 0};

template <class T>
void print(std::string const& name, T const* values, index_t count) {
  std::printf("%s", name.c_str());
  for (index_t i = 0; i < count; ++i) std::printf(" %.17g", static_cast<double>(values[i]));
  std::printf("\n");
}

// Runs forward and backward; slope(batch, y, dy) writes dy.
template <class T, class Slope>
void print_step(std::string const& name, model<T>& model, Slope const& slope) {
  random_stream const random(1, 2);
  std::vector<std::int32_t> tokens(samples * shape.length), labels(samples);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(random.below(i, shape.vocabulary));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 2);
  batch<T> const input{samples, shape, tokens.data(), nullptr, {}, labels.data(), nullptr};
  std::vector<T> outputs(samples * shape.outputs), output_gradients(outputs.size());
  matrix<T> const y(outputs.data(), samples, shape.outputs),
      dy(output_gradients.data(), samples, shape.outputs);

  thread_pool threads(1);
  memory stack;
  context<T> c{threads, stack};
  for (int pass = 0; pass < 2; ++pass) {  // the first pass only measures the memory
    if (pass == 1) stack.allocate();
    model.forward(c, input, y);
    if (pass == 1) slope(input, y, dy);
    model.backward(c, input, dy);
  }
  print(name + " answers", outputs.data(), static_cast<index_t>(outputs.size()));
  for (auto const& entry : model.params().entries())
    print(name + " " + entry.name, model.params().gradients().data() + entry.offset, entry.size);
}

// Parameters are integers: embeddings of at most 3 + 1, and weights with one 1 and one -1 in each
// row (and column, if square). So each of five products at most doubles a value. Pooling divides by
// 64. A weight's gradient sums 1280 products of at most 4 * 2^4 * 2^5 / 64. In units of 1 / 64 that
// is below 2^24, which float represents exactly.
template <class T>
void print_exact(std::string const& name) {
  encoder_config config;
  config.width = 32;
  encoder<mixers::sorting<ss::ascending, T>, bare> model(shape, config, {}, 1);
  for (auto const& entry : model.params().entries()) {
    T* const values = model.params().values().data() + entry.offset;
    random_stream const random(3, stream_of(entry.name));
    index_t const columns = entry.shape.back();
    bool const is_added = entry.name == "positions" || entry.shape.size() == 1;
    for (index_t i = 0; i < entry.size; ++i) {
      index_t const row = i / columns, column = i % columns;
      auto const index = static_cast<std::uint64_t>(i);
      if (is_added)
        values[i] = static_cast<T>(random.below(index, 3) - 1);
      else if (entry.name == "embedding.weight")
        values[i] = static_cast<T>(random.below(index, 7) - 3);
      else
        values[i] = static_cast<T>((column == (5 * row + 1) % columns) -
                                   (column == (7 * row + 4) % columns));
    }
  }
  print_step<T>(name, model, [](batch<T> const&, matrix<T> y, matrix<T> dy) {
    for (index_t i = 0; i < y.rows * y.columns; ++i) dy.data[i] = static_cast<T>(i % 3 - 1);
  });
}

template <class Mixer, class Block>
void print_smooth(std::string const& name, index_t layers) {
  encoder_config config;
  config.width = 32, config.hidden = 48, config.layers = layers;
  encoder<Mixer, Block> model(shape, config, {}, 1);
  print_step<double>(name, model,
                     [](batch<double> const& input, matrix<double> y, matrix<double> dy) {
                       loss<double>(input, y, dy, input.size);
                     });
}

}  // namespace

int main() {
  use_single_threaded_blas();
  std::printf("products %s\n", gemm_name);
  print_exact<float>("exact float");
  print_exact<double>("exact double");
  print_smooth<mixers::attention<ss::mask::full, double>, post_norm>("smooth attention", 2);
  print_smooth<mixers::sparse_mix<ss::topology::chord, double>, bare>("smooth sparse_mix", 1);
}
