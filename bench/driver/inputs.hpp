// SPDX-License-Identifier: Apache-2.0
// Inputs of the benches, by name. Tensors are [batch, length, channels], channels fastest.
#pragma once

#include "numbers.hpp"
#include "settings.hpp"

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

inline constexpr std::uint64_t input_seed = 2024;

// Fills element i with f(i).
template <class T, class F>
void fill_each(T* out, ss::extents3 shape, F const& f) {
  std::size_t const size = static_cast<std::size_t>(shape.size());
  for (std::size_t i = 0; i < size; ++i) out[i] = from_double<T>(f(i));
}

template <class T, class F>
void fill_normal(T* out, ss::extents3 shape, std::uint64_t seed, F const& f) {
  std::size_t const size = static_cast<std::size_t>(shape.size());
  for (std::size_t i = 0; i < size; i += 2) {
    auto const pair = random_normals(seed, i / 2);
    out[i] = from_double<T>(f(pair.even));
    if (i + 1 < size) out[i + 1] = from_double<T>(f(pair.odd));
  }
}

// Fills every channel with a ramp over the rows, with a random offset per channel.
template <class T>
void fill_ramp(T* out, ss::extents3 shape, bool is_ascending) {
  auto const rows = static_cast<std::size_t>(shape.length),
             channels = static_cast<std::size_t>(shape.channels);
  fill_each(out, shape, [&](std::size_t i) {
    std::size_t const row = i / channels % rows, level = is_ascending ? row : rows - 1 - row;
    double const shift = random_uniform(input_seed, i % channels);
    return -3.0 + 6.0 * (static_cast<double>(level) + shift) / static_cast<double>(rows);
  });
}

// Embeds bytes by a seeded normal table and adds a sinusoidal position. Samples are evenly spread
// windows of the text.
template <class T>
void fill_text(T* out, ss::extents3 shape, std::uint64_t seed, bool wraps_around) {
  auto const& text = corpus();
  auto const batch = static_cast<std::size_t>(shape.batch),
             rows = static_cast<std::size_t>(shape.length),
             channels = static_cast<std::size_t>(shape.channels);
  if (rows > text.size() && !wraps_around)
    throw usage_error("length " + std::to_string(rows) + " is longer than the text (" +
                      std::to_string(text.size()) + " bytes)");
  std::vector<double> embedding(256 * channels), frequency(channels);
  for (std::size_t i = 0; i < embedding.size(); ++i) {
    auto const pair = random_normals(seed + 1, i / 2);
    embedding[i] = i % 2 == 0 ? pair.even : pair.odd;
  }
  for (std::size_t c = 0; c < channels; ++c)
    frequency[c] =
        std::pow(10000.0, -static_cast<double>(c / 2 * 2) / static_cast<double>(channels));
  for (std::size_t n = 0; n < rows; ++n)
    for (std::size_t c = 0; c < channels; ++c) {
      double const phase = static_cast<double>(n) * frequency[c];
      double const position = c % 2 == 0 ? std::sin(phase) : std::cos(phase);
      for (std::size_t b = 0; b < batch; ++b) {
        std::size_t const start = wraps_around ? b * text.size() / batch
                                  : batch > 1  ? b * (text.size() - rows) / (batch - 1)
                                               : 0;
        out[(b * rows + n) * channels + c] =
            from_double<T>(embedding[text[(start + n) % text.size()] * channels + c] + position);
      }
    }
}

// Fills the named input. A suffix #1, #2, .. selects another embedding or different noise.
template <class T>
void fill_input(std::string const& input, T* out, ss::extents3 shape) {
  std::size_t const suffix = input.find('#');
  std::string const name = input.substr(0, suffix);
  std::uint64_t const seed =
      input_seed + (suffix == std::string::npos ? 0 : 1000 * std::stoul(input.substr(suffix + 1)));
  if (name == "normal")
    fill_normal(out, shape, seed, [](double v) { return v; });
  else if (name == "relu")
    fill_normal(out, shape, seed, [](double v) { return v > 0.0 ? v : 0.0; });
  else if (name == "uniform")
    fill_each(out, shape, [](std::size_t i) { return random_uniform(input_seed, i); });
  else if (name == "few_unique")
    fill_each(out, shape, [](std::size_t i) {
      return 0.5 * static_cast<double>(random_bits(input_seed, i) >> 60) - 4.0;
    });
  else if (name == "sorted")
    fill_ramp(out, shape, true);
  else if (name == "reversed")
    fill_ramp(out, shape, false);
  else if (name == "constant")
    fill_each(out, shape, [](std::size_t) { return 1.25; });
  else if (name == "text")
    fill_text(out, shape, seed, false);
  else if (name == "repeated_text")
    fill_text(out, shape, seed, true);
  else
    throw usage_error("unknown input " + name);
}

}  // namespace bench
