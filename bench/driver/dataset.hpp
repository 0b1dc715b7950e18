// SPDX-License-Identifier: Apache-2.0
// Input tensors and their oracle results, shared by consecutive cases.
#pragma once

#include "inputs.hpp"
#include "tensors.hpp"

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// Tensors of up to `fully_verified_elements` are compared with the oracle completely, larger ones
// only in columns with `sampled_elements` elements in total.
inline constexpr std::size_t fully_verified_elements = std::size_t{1} << 24;
inline constexpr std::size_t sampled_elements = std::size_t{1} << 22;

template <class T>
class dataset {
 public:
  dataset(std::string const& input, ss::extents3 shape)
      : extents(shape), values(static_cast<std::size_t>(shape.size())) {
    fill_input(input, values.data(), shape);
    std::size_t const columns = static_cast<std::size_t>(shape.batch * shape.channels),
                      total = values.size(), rows = static_cast<std::size_t>(shape.length);
    std::size_t const sampled = total <= fully_verified_elements
                                    ? columns
                                    : std::max<std::size_t>(4, sampled_elements / rows);
    std::size_t const stride = std::max<std::size_t>(1, columns / sampled);
    // An odd stride covers every position within a tile of columns.
    for (std::size_t c = 0; c < columns; c += stride | 1) verified_columns.push_back(c);
  }

  // Offset of the first row of a column; rows are `extents.channels` apart.
  std::size_t column_offset(std::size_t column) const {
    auto const channels = static_cast<std::size_t>(extents.channels);
    return column / channels * channels * static_cast<std::size_t>(extents.length) +
           column % channels;
  }

  // Returns the expected permutations make(column) of the verified columns, cached per policy.
  using permutations = std::vector<std::vector<std::uint32_t>>;
  template <class F>
  permutations const& permutations_for(std::string const& policy, F const& make) {
    auto const [entry, inserted] = cache_.try_emplace(policy);
    if (inserted)
      for (std::size_t const c : verified_columns) entry->second.push_back(make(c));
    return entry->second;
  }

  // The values of a column, row by row.
  std::vector<double> column(std::size_t index) const {
    auto const channels = static_cast<std::size_t>(extents.channels);
    std::vector<double> column_values(static_cast<std::size_t>(extents.length));
    for (std::size_t n = 0; n < column_values.size(); ++n)
      column_values[n] = to_double(values[column_offset(index) + n * channels]);
    return column_values;
  }

  ss::extents3 extents;
  buffer<T> values;
  std::vector<std::size_t> verified_columns;

 private:
  std::map<std::string, permutations> cache_;
};

// Returns the dataset of an input and shape from a cache of the most recently used ones.
template <class T>
std::shared_ptr<dataset<T>> get_dataset(std::string const& input, ss::extents3 shape) {
  struct cached_dataset {
    std::string input;
    std::shared_ptr<dataset<T>> data;
  };
  static std::list<cached_dataset> recent;
  constexpr std::size_t budget_bytes = std::size_t{512} << 20;
  for (auto entry = recent.begin(); entry != recent.end(); ++entry)
    if (entry->input == input && entry->data->extents == shape) {
      recent.splice(recent.begin(), recent, entry);
      return recent.front().data;
    }
  std::size_t cached_bytes = static_cast<std::size_t>(shape.size()) * sizeof(T);
  for (auto entry = recent.begin(); entry != recent.end();) {
    cached_bytes += entry->data->values.bytes();
    entry = cached_bytes > budget_bytes ? recent.erase(entry) : std::next(entry);
  }
  recent.push_front({input, std::make_shared<dataset<T>>(input, shape)});
  return recent.front().data;
}

}  // namespace bench
