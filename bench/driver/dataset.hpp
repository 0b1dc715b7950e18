// SPDX-License-Identifier: Apache-2.0
// An input tensor and what the oracle says of it, made once and shared by the cases that follow
// each other on it.
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

// Tensors of up to `verified_elements` are compared with the oracle completely; of larger ones, as
// many columns as fill `sampled_elements`.
inline constexpr std::size_t verified_elements = std::size_t{1} << 24;
inline constexpr std::size_t sampled_elements = std::size_t{1} << 22;

template <class T>
class dataset {
 public:
  dataset(std::string const& input, ss::extents3 e)
      : extents(e), values(static_cast<std::size_t>(e.size())) {
    fill_input(input, values.data(), e);
    std::size_t const columns = static_cast<std::size_t>(e.batch * e.channels),
                      total = values.size(), rows = static_cast<std::size_t>(e.length);
    std::size_t const wanted =
        total <= verified_elements ? columns : std::max<std::size_t>(4, sampled_elements / rows);
    std::size_t const step = std::max<std::size_t>(1, columns / wanted);
    // An odd step reaches every position within a tile of columns.
    for (std::size_t c = 0; c < columns; c += step | 1) verified.push_back(c);
  }

  // Where column number `column` begins; its rows are `extents.channels` apart.
  std::size_t start(std::size_t column) const {
    auto const channels = static_cast<std::size_t>(extents.channels);
    return column / channels * channels * static_cast<std::size_t>(extents.length) +
           column % channels;
  }

  // The oracle's permutations of the verified columns, from `make(column)`, computed once for each
  // `policy`.
  using permutations = std::vector<std::vector<std::uint32_t>>;
  template <class F>
  permutations const& remembered(std::string const& policy, F const& make) {
    auto const [at, fresh] = known_.try_emplace(policy);
    if (fresh)
      for (std::size_t const c : verified) at->second.push_back(make(c));
    return at->second;
  }

  // The values of rows 0, 1, .. of a column.
  std::vector<double> column(std::size_t number) const {
    auto const channels = static_cast<std::size_t>(extents.channels);
    std::vector<double> rows(static_cast<std::size_t>(extents.length));
    for (std::size_t n = 0; n < rows.size(); ++n)
      rows[n] = decoded(values[start(number) + n * channels]);
    return rows;
  }

  ss::extents3 extents;
  buffer<T> values;
  std::vector<std::size_t> verified;

 private:
  std::map<std::string, permutations> known_;
};

// The dataset of that input and shape; the most recent ones are kept and shared.
template <class T>
std::shared_ptr<dataset<T>> get_dataset(std::string const& input, ss::extents3 e) {
  struct entry {
    std::string input;
    std::shared_ptr<dataset<T>> data;
  };
  static std::list<entry> recent;
  constexpr std::size_t budget = std::size_t{512} << 20;
  for (auto at = recent.begin(); at != recent.end(); ++at)
    if (at->input == input && at->data->extents == e) {
      recent.splice(recent.begin(), recent, at);
      return recent.front().data;
    }
  std::size_t held = static_cast<std::size_t>(e.size()) * sizeof(T);
  for (auto at = recent.begin(); at != recent.end();) {
    held += at->data->values.bytes();
    at = held > budget ? recent.erase(at) : std::next(at);
  }
  recent.push_front({input, std::make_shared<dataset<T>>(input, e)});
  return recent.front().data;
}

}  // namespace bench
