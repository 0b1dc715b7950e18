// SPDX-License-Identifier: Apache-2.0
// A training run in a safetensors file: parameters by their names, both moments of Adam as
// `adam.m.<name>` and `adam.v.<name>`, and what the caller says of the run as metadata.
#pragma once

#include "learning/files/safetensors.hpp"
#include "learning/files/whole_file.hpp"
#include "learning/numbers.hpp"
#include "learning/parameters.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace learning {
namespace detail {

// All that a checkpoint of these parameters holds, in their memory.
template <class T>
std::vector<stored_tensor> stored(parameters<T>& all) {
  std::vector<stored_tensor> tensors;
  auto const add = [&](char const* prefix, std::vector<T>& array) {
    for (auto const& entry : all.entries())
      tensors.push_back({prefix + entry.name, std::is_same_v<T, float> ? "F32" : "F64", entry.shape,
                         array.data() + entry.at,
                         static_cast<std::size_t>(entry.size) * sizeof(T)});
  };
  add("", all.values());
  add("adam.m.", all.first_moments());
  add("adam.v.", all.second_moments());
  return tensors;
}

}  // namespace detail

/// Writes a checkpoint; the old one stays until the new one is on the disk. Throws
/// `checkpoint_error`.
template <class T>
void save_checkpoint(std::string const& path, parameters<T>& all, metadata const& about) {
  save_tensors(path, detail::stored(all), about);
}

/// The metadata of a run in its checkpoint.
struct run_state {
  index_t step = 0;
  double seconds = 0;
  std::string settings;  ///< of which the numbers of the model depend
};
inline metadata metadata_of(run_state const& run) {
  return {{"step", std::to_string(run.step)},
          {"seconds", text_of(run.seconds, 17)},
          {"settings", run.settings}};
}
/// Throws `checkpoint_error` for metadata of other settings, and for a step or seconds that no run
/// of so many steps has.
inline run_state run_state_of(metadata const& about, std::string const& settings, index_t steps) {
  auto const text = [&](char const* name) -> std::string const& {
    auto const found = about.find(name);
    if (found == about.end()) throw checkpoint_error(std::string("has no ") + name);
    return found->second;
  };
  if (text("settings") != settings)
    throw checkpoint_error("is of another run: " + text("settings"));
  std::optional<index_t> const step = number_in<index_t>(text("step"));
  if (!step || *step < 0 || *step > steps)
    throw checkpoint_error("step is '" + text("step") + "', must be a whole number from 0 to " +
                           std::to_string(steps));
  std::optional<double> const seconds = number_in<double>(text("seconds"));
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0)
    throw checkpoint_error("seconds is '" + text("seconds") +
                           "', must be a finite number of at least 0");
  return {*step, *seconds, settings};
}

/// Reads a checkpoint into parameters of the same names and shapes, and returns what
/// `read(metadata)` makes of its metadata. What is no such file, or is refused by `read` with a
/// `checkpoint_error`, throws one that names the file, and nothing is written.
template <class T, class Read = metadata (*)(metadata const&)>
auto load_checkpoint(
    std::string const& path, parameters<T>& all,
    Read const& read = [](metadata const& about) { return about; }) {
  std::string const bytes = bytes_of_file(path);
  try {
    tensor_file const file = read_tensors(bytes);
    std::map<std::string, stored_tensor const*> found;
    for (stored_tensor const& one : file.tensors) found[one.name] = &one;
    std::vector<stored_tensor> const wanted = detail::stored(all);
    for (stored_tensor const& one : wanted) {
      auto const at = found.find(one.name);
      if (at == found.end()) throw checkpoint_error("has no tensor " + one.name);
      if (at->second->shape != one.shape || at->second->dtype != one.dtype)
        throw checkpoint_error("has a tensor " + one.name + " of another shape or type");
    }
    if (found.size() != wanted.size())
      throw checkpoint_error("has tensors that this model does not have");
    auto const result = read(file.about);
    for (stored_tensor const& one : wanted)
      std::memcpy(const_cast<void*>(one.data), found[one.name]->data, one.bytes);
    return result;
  } catch (checkpoint_error const& e) {
    throw checkpoint_error(path + ": " + e.what());
  }
}

}  // namespace learning
