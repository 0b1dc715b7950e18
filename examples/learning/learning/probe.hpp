// SPDX-License-Identifier: Apache-2.0
// Rows between the layers of a model, for figures.
#pragma once

#include "learning/encoder.hpp"
#include "learning/files/safetensors.hpp"
#include "learning/random.hpp"
#include "learning/trainer.hpp"

#include <algorithm>
#include <list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace learning {

/// Runs a model on the first test batch, as it is and with the rows of each sample shuffled, and
/// saves the rows between its layers.
class probe {
 public:
  probe(model<float>& model, trainer& run, std::uint64_t seed) {
    batch<float> const input = run.first_test_batch();
    index_t const length = input.shape.length;
    bool const has_tokens = input.shape.features == 0;
    add("labels", {input.size}, input.labels);
    add("lengths", {input.size}, input.lengths.data());
    if (has_tokens) add("tokens", {input.size, length}, input.tokens);
    observe(model, run, input, "rows");

    std::vector<index_t> const order = shuffled_order(input, seed);
    add("order", {input.size, length}, order.data());
    batch<float> shuffled = input;
    auto const tokens = gather(input, order, input.tokens, has_tokens ? 1 : 0);
    auto const features = gather(input, order, input.features, input.shape.features);
    shuffled.tokens = tokens.data(), shuffled.features = features.data();
    observe(model, run, shuffled, "shuffled");
  }

  /// Writes a safetensors file of floats: `rows.i` `[batch, length, width]` before the first layer
  /// (i = 0) and after layer i, with the class token; `shuffled.i`, of the shuffled samples;
  /// `order` `[batch, length]`, the row that each shuffled row was; `tokens` `[batch, length]` of
  /// tasks with tokens; `labels` and `lengths` `[batch]`.
  void save(std::string const& path) const {
    std::vector<stored_tensor> tensors;
    for (auto const& [name, shape, values] : saved_)
      tensors.push_back({name, "F32", shape, values.data(), values.size() * sizeof(float)});
    save_tensors(path, tensors, {});
  }

 private:
  struct named_values {
    std::string name;
    std::vector<index_t> shape;
    std::vector<float> values;
  };

  template <class U>
  void add(std::string name, std::vector<index_t> shape, U const* values) {
    index_t size = 1;
    for (index_t const extent : shape) size *= extent;
    std::vector<float> floats(static_cast<std::size_t>(size));
    std::transform(values, values + size, floats.begin(),
                   [](U value) { return static_cast<float>(value); });
    saved_.push_back({std::move(name), std::move(shape), std::move(floats)});
  }
  void observe(model<float>& model, trainer& run, batch<float> const& input,
               std::string const& name) {
    index_t layer = 0;
    model.set_observer([&](tensor3<float const> x) {
      extents3 const e = x.extents();
      add(name + "." + std::to_string(layer++), {e.batch, e.length, e.channels}, x.data());
    });
    run.forward(input);
    model.set_observer({});
  }
  // Returns the source of each row: a random permutation of the valid rows.
  static std::vector<index_t> shuffled_order(batch<float> const& input, std::uint64_t seed) {
    index_t const length = input.shape.length;
    std::vector<index_t> order(static_cast<std::size_t>(input.size * length));
    for (index_t b = 0; b < input.size; ++b) {
      random_stream const random(seed ^ stream_of("probe"), static_cast<std::uint64_t>(b));
      index_t* const rows = order.data() + b * length;
      std::iota(rows, rows + length, index_t{0});
      for (index_t n = input.lengths(b); n > 1; --n)
        std::swap(rows[n - 1], rows[random.below(static_cast<std::uint64_t>(n), n)]);
    }
    return order;
  }
  template <class U>
  static std::vector<U> gather(batch<float> const& input, std::vector<index_t> const& order,
                               U const* values, index_t width) {
    std::vector<U> result;
    for (std::size_t row = 0; row < order.size() && width > 0; ++row) {
      auto const n = static_cast<index_t>(row), length = input.shape.length;
      U const* const source = values + (n / length * length + order[row]) * width;
      result.insert(result.end(), source, source + width);
    }
    return result;
  }

  std::list<named_values> saved_;
};

}  // namespace learning
