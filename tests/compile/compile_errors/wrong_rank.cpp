// SPDX-License-Identifier: Apache-2.0
// An input of rank 2 instead of 3.
// expect: slicesort: this argument must be a view [batch, length, channels]
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
using input = mdspan_like<3>;
#else
using input = mdspan_like<2>;
#endif

void sort(input x, slicesort::tensor3<float> y, slicesort::workspace scratch) {
  slicesort::slicing_sort<>{}.forward(slicesort::exec::host{}, x, y, slicesort::no_saved, scratch);
}
