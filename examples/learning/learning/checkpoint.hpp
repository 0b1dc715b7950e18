// SPDX-License-Identifier: Apache-2.0
// A training run in a safetensors file: parameters by their names, both moments of Adam as
// `adam.m.<name>` and `adam.v.<name>`, and what the caller says of the run as metadata.
#pragma once

#include "learning/files/safetensors.hpp"
#include "learning/files/whole_file.hpp"
#include "learning/parameters.hpp"

#include <cstddef>
#include <cstring>
#include <map>
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

/// Reads a checkpoint into parameters of the same names and shapes, and returns its metadata. What
/// is no such file is refused with a `checkpoint_error`, and nothing is written.
template <class T>
metadata load_checkpoint(std::string const& path, parameters<T>& all) {
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
    for (stored_tensor const& one : wanted)
      std::memcpy(const_cast<void*>(one.data), found[one.name]->data, one.bytes);
    return file.about;
  } catch (checkpoint_error const& e) {
    throw checkpoint_error(path + ": " + e.what());
  }
}

}  // namespace learning
