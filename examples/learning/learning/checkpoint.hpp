// SPDX-License-Identifier: Apache-2.0
// Checkpoints of training runs as safetensors files: parameters by name, Adam's moments as
// `adam.m.<name>` and `adam.v.<name>`, and metadata.
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

// Returns the tensors of a checkpoint, which refer to the memory of the parameters.
template <class T>
std::vector<stored_tensor> tensors_of(parameters<T>& params) {
  std::vector<stored_tensor> tensors;
  auto const add = [&](char const* prefix, std::vector<T>& array) {
    for (auto const& entry : params.entries())
      tensors.push_back({prefix + entry.name, std::is_same_v<T, float> ? "F32" : "F64", entry.shape,
                         array.data() + entry.offset,
                         static_cast<std::size_t>(entry.size) * sizeof(T)});
  };
  add("", params.values());
  add("adam.m.", params.first_moments());
  add("adam.v.", params.second_moments());
  return tensors;
}

}  // namespace detail

/// Writes a checkpoint, atomically. Throws `checkpoint_error`.
template <class T>
void save_checkpoint(std::string const& path, parameters<T>& params, metadata const& meta) {
  save_tensors(path, detail::tensors_of(params), meta);
}

/// The metadata of a run in its checkpoint.
struct run_state {
  index_t step = 0;
  double seconds = 0;
  std::string settings;  ///< flags that the results depend on
};
inline metadata metadata_of(run_state const& run) {
  return {{"step", std::to_string(run.step)},
          {"seconds", format_number(run.seconds, 17)},
          {"settings", run.settings}};
}
/// Parses metadata. Throws `checkpoint_error` for other settings, and for a step or a time that a
/// run of `steps` steps cannot have.
inline run_state parse_run_state(metadata const& meta, std::string const& settings, index_t steps) {
  auto const text = [&](char const* name) -> std::string const& {
    auto const found = meta.find(name);
    if (found == meta.end()) throw checkpoint_error(std::string("has no ") + name);
    return found->second;
  };
  if (text("settings") != settings)
    throw checkpoint_error("is of another run: " + text("settings"));
  std::optional<index_t> const step = parse_number<index_t>(text("step"));
  if (!step || *step < 0 || *step > steps)
    throw checkpoint_error("step is '" + text("step") + "', must be a whole number from 0 to " +
                           std::to_string(steps));
  std::optional<double> const seconds = parse_number<double>(text("seconds"));
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0)
    throw checkpoint_error("seconds is '" + text("seconds") +
                           "', must be a finite number of at least 0");
  return {*step, *seconds, settings};
}

/// Reads a checkpoint into parameters of the same names and shapes, and returns `read(metadata)`.
/// Throws `checkpoint_error`, with the file's name, if the file does not fit or `read` throws one;
/// then leaves the parameters unchanged.
template <class T, class Read = metadata (*)(metadata const&)>
auto load_checkpoint(
    std::string const& path, parameters<T>& params,
    Read const& read = [](metadata const& meta) { return meta; }) {
  std::string const bytes = read_file(path);
  try {
    tensor_file const file = read_tensors(bytes);
    std::map<std::string, stored_tensor const*> found;
    for (stored_tensor const& tensor : file.tensors) found[tensor.name] = &tensor;
    std::vector<stored_tensor> const expected = detail::tensors_of(params);
    for (stored_tensor const& tensor : expected) {
      auto const match = found.find(tensor.name);
      if (match == found.end()) throw checkpoint_error("has no tensor " + tensor.name);
      if (match->second->shape != tensor.shape || match->second->dtype != tensor.dtype)
        throw checkpoint_error("has a tensor " + tensor.name + " of another shape or type");
    }
    if (found.size() != expected.size())
      throw checkpoint_error("has tensors that this model does not have");
    auto const result = read(file.meta);
    for (stored_tensor const& tensor : expected)
      std::memcpy(const_cast<void*>(tensor.data), found[tensor.name]->data, tensor.bytes);
    return result;
  } catch (checkpoint_error const& e) {
    throw checkpoint_error(path + ": " + e.what());
  }
}

}  // namespace learning
