// SPDX-License-Identifier: Apache-2.0
// Prints outputs and gradients of models after one step, a line per array. Compiled with the
// library's products and with a BLAS, for check_losses.py. A BLAS sums in another order, and a
// rounding before a sort may change a result by any amount. So "exact" models multiply integers
// only, without rounding; "smooth" models are continuous.
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
void print_step(std::string const& name, model<T>& m, Slope const& slope) {
  random_stream const random(1, 2);
  std::vector<std::int32_t> tokens(samples * shape.length), labels(samples);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(random.below(i, shape.vocabulary));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 2);
  batch<T> const input{samples, shape, tokens.data(), nullptr, {}, labels.data(), nullptr};
  std::vector<T> answers(samples * shape.outputs), slopes(answers.size());
  matrix<T> const y(answers.data(), samples, shape.outputs),
      dy(slopes.data(), samples, shape.outputs);

  thread_pool threads(1);
  memory stack;
  context<T> c{threads, stack};
  for (int pass = 0; pass < 2; ++pass) {  // the first counts
    if (pass == 1) stack.allocate();
    m.forward(c, input, y);
    if (pass == 1) slope(input, y, dy);
    m.backward(c, input, dy);
  }
  print(name + " answers", answers.data(), static_cast<index_t>(answers.size()));
  for (auto const& entry : m.params().entries())
    print(name + " " + entry.name, m.params().gradients().data() + entry.offset, entry.size);
}

// Parameters are integers: embeddings of at most 3 + 1, and weights with one 1 and one -1 in each
// row (and column, if square). So each of five products at most doubles a value. Pooling divides by
// 64. A weight's gradient sums 1280 products of at most 4 * 2^4 * 2^5 / 64. In units of 1 / 64 that
// is below 2^24, which float represents exactly.
template <class T>
void print_exact(std::string const& name) {
  encoder_config with;
  with.width = 32;
  encoder<mixers::sorting<ss::ascending, T>, bare> m(shape, with, {}, 1);
  for (auto const& entry : m.params().entries()) {
    T* const values = m.params().values().data() + entry.offset;
    random_stream const random(3, stream_of(entry.name));
    index_t const columns = entry.shape.back();
    bool const added = entry.name == "positions" || entry.shape.size() == 1;
    for (index_t i = 0; i < entry.size; ++i) {
      index_t const row = i / columns, column = i % columns;
      auto const place = static_cast<std::uint64_t>(i);
      if (added)
        values[i] = static_cast<T>(random.below(place, 3) - 1);
      else if (entry.name == "embedding.weight")
        values[i] = static_cast<T>(random.below(place, 7) - 3);
      else
        values[i] = static_cast<T>((column == (5 * row + 1) % columns) -
                                   (column == (7 * row + 4) % columns));
    }
  }
  print_step<T>(name, m, [](batch<T> const&, matrix<T> y, matrix<T> dy) {
    for (index_t i = 0; i < y.rows * y.columns; ++i) dy.data[i] = static_cast<T>(i % 3 - 1);
  });
}

template <class Mixer, class Block>
void print_smooth(std::string const& name, index_t layers) {
  encoder_config with;
  with.width = 32, with.hidden = 48, with.layers = layers;
  encoder<Mixer, Block> m(shape, with, {}, 1);
  print_step<double>(name, m, [](batch<double> const& input, matrix<double> y, matrix<double> dy) {
    loss<double>(input, y, dy);
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
