// SPDX-License-Identifier: Apache-2.0
// Tensors of test data, and a problem with its expected results.
#pragma once

#include "buffers.hpp"
#include "inputs.hpp"

#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

namespace ss = slicesort;

inline ss::tensor1<index_t const> view_of(std::vector<index_t> const& lengths) {
  if (lengths.empty()) return {};
  return {lengths.data(), static_cast<index_t>(lengths.size())};
}

// Returns a tensor whose column i is make(i).
template <class T, class Make>
tensor<T> tensor_of_columns(extents3 e, Make const& make) {
  tensor<T> t(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c)
      t.set_column(b, c, make(static_cast<std::uint64_t>(b * e.channels + c)));
  return t;
}
// Returns a tensor whose columns have the first `kind_count` kinds of input.
template <class T>
tensor<T> mixed_tensor(extents3 e, int kind_count, std::uint64_t seed) {
  return tensor_of_columns<T>(e, [=](std::uint64_t column) {
    auto const kind =
        static_cast<input_kind>((column + seed) % static_cast<std::uint64_t>(kind_count));
    return make_column<T>(kind, static_cast<std::size_t>(e.length), seed + 7919 * column);
  });
}
// Returns the sum of products of elements, in double.
template <class A, class B>
double sum_of_products(std::vector<A> const& a, std::vector<B> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b.at(i));
  return sum;
}
// Returns random integers in [-bound, bound], whose sums are exact in every dtype.
template <class T>
tensor<T> integer_tensor(extents3 e, std::uint64_t bound, std::uint64_t seed) {
  random_stream random(seed);
  tensor<T> t(e);
  for (T& element : t.elements())
    element = from_double<T>(static_cast<double>(random.below(2 * bound + 1)) -
                             static_cast<double>(bound));
  return t;
}
template <class T>
std::vector<T> elements_of(std::vector<double> const& values) {
  std::vector<T> elements;
  for (double v : values) elements.push_back(from_double<T>(v));
  return elements;
}

template <class T>
struct variant_problem {
  tensor<T> x, dy;
  std::vector<index_t> lengths;  // empty if the call has none
  tensor<T> y, dx;               // expected results

  index_t rows(index_t b) const {
    return lengths.empty() ? x.extents().length : lengths[static_cast<std::size_t>(b)];
  }
  // Hash of the problem, to select a backend.
  std::uint64_t backend_seed() const {
    std::uint64_t hash = random_stream::mix(sizeof(T)) + lengths.size();
    for (T const& element : x.elements()) hash = random_stream::mix(hash ^ bits_of(element));
    return hash;
  }
};

template <class T>
tensor<T> sample_of(tensor<T> const& t, index_t b) {
  tensor<T> sample({1, t.extents().length, t.extents().channels});
  for (index_t c = 0; c < t.extents().channels; ++c) sample.set_column(0, c, t.column(b, c));
  return sample;
}

}  // namespace support
