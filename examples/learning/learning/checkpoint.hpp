// SPDX-License-Identifier: Apache-2.0
// A training run in a safetensors file: parameters by their names, as in torch's `state_dict`, both
// moments of Adam as `adam.m.<name>` and `adam.v.<name>`, and numbers of the run as metadata.
#pragma once

#include "learning/parameters.hpp"
#include "learning/safetensors.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace learning {

using metadata = std::map<std::string, std::string>;

namespace detail {

// Calls f(name in the file, parameter, array) for all that a checkpoint holds.
template <class T, class F>
void each_stored(parameters<T>& all, F const& f) {
  for (auto const& entry : all.entries()) {
    f(entry.name, entry, all.values());
    f("adam.m." + entry.name, entry, all.first_moments());
    f("adam.v." + entry.name, entry, all.second_moments());
  }
}

}  // namespace detail

/// Writes a checkpoint to a second file and renames it, so that an interrupted write leaves the old
/// one. Throws `checkpoint_error`.
template <class T>
void save_checkpoint(std::string const& path, parameters<T>& all, metadata const& about) {
  std::vector<stored_tensor> tensors;
  detail::each_stored(all, [&](std::string const& name, auto const& entry, std::vector<T>& array) {
    tensors.push_back({name, std::is_same_v<T, float> ? "F32" : "F64", entry.shape,
                       array.data() + entry.at, static_cast<std::size_t>(entry.size) * sizeof(T)});
  });
  save(path, tensors, about);
}

}  // namespace learning
