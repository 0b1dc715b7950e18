// SPDX-License-Identifier: Apache-2.0
// Text that the training program prints: names, and shifts of CSP's layers for a figure.
#pragma once

#include "learning/mixers/csp.hpp"
#include "learning/tasks/by_name.hpp"
#include "models/catalog.hpp"

#include <iomanip>
#include <sstream>
#include <string>

namespace learning {

/// Returns a line for each model and task.
inline std::string list_names() {
  std::ostringstream lines;
  for (auto const& [name, entry] : all_models())
    lines << "model " << std::left << std::setw(27) << name << entry.description << '\n';
  for (auto const& [name, description] : task_descriptions())
    lines << "task  " << std::left << std::setw(27) << name << description << '\n';
  return lines.str();
}

/// Returns a line of JSON per shift: its name, and the rows by which every channel of every layer
/// of a model moves in a sample of `length` rows.
inline std::string shifts_as_json(model_request const& r, index_t length) {
  index_t const layers = r.encoder.layers, channels = r.encoder.width;
  std::string result;
  auto const add = [&](char const* name, auto shift) {
    std::string rows;
    for (index_t layer = 0; layer < layers; ++layer)
      for (index_t c = 0; c < channels; ++c)
        rows +=
            (rows.empty() ? "" : ", ") +
            std::to_string(mixers::shift_of_layer(shift, layer, layers).shift(c, channels, length));
    result += std::string("{\"shift\": \"") + name + "\", \"rows\": [" + rows + "]}\n";
  };
  add("linear", ss::shift::linear{});
  add("linear-step", ss::shift::linear_step{});
  if (channels % r.heads == 0) add("per-head", ss::shift::per_head{r.heads});
  add("modular", ss::shift::modular{});
  add("power", ss::shift::power{});
  add("power-ceil", ss::shift::power_ceil{});
  return result;
}

}  // namespace learning
