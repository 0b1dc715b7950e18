// SPDX-License-Identifier: Apache-2.0
// expect: slicesort: this argument must be a view [outer, batch, length, channels]
#include <slicesort/slicesort.hpp>

#include <cstddef>

// A stand-in for std::mdspan.
template <std::size_t Rank>
struct span {
  static constexpr std::size_t rank() { return Rank; }
  std::size_t extent(std::size_t) const { return 1; }
  std::size_t stride(std::size_t) const { return 1; }
  float* data_handle() const { return nullptr; }
};

#ifdef VALID
using weights = span<4>;
#else
using weights = span<2>;
#endif

void mix(slicesort::tensor3<float const> x, weights w, slicesort::tensor3<float> y,
         slicesort::workspace scratch) {
  slicesort::sparse_mix<>{}.forward(slicesort::exec::host{}, x, w, y, slicesort::no_saved, scratch);
}
