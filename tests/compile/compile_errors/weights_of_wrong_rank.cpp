// SPDX-License-Identifier: Apache-2.0
// Weights of sparse_mix of rank 2 instead of 4.
// expect: slicesort: this argument must be a view [outer, batch, length, channels]
#include <slicesort/slicesort.hpp>

#include <cstddef>

// A stand-in for std::mdspan.
template <std::size_t Rank>
struct mdspan_like {
  static constexpr std::size_t rank() { return Rank; }
  std::size_t extent(std::size_t) const { return 1; }
  std::size_t stride(std::size_t) const { return 1; }
  float* data_handle() const { return nullptr; }
};

#ifdef VALID
using weights = mdspan_like<4>;
#else
using weights = mdspan_like<2>;
#endif

void mix(slicesort::tensor3<float const> x, weights w, slicesort::tensor3<float> y,
         slicesort::workspace scratch) {
  slicesort::sparse_mix<>{}.forward(slicesort::exec::host{}, x, w, y, slicesort::no_saved, scratch);
}
