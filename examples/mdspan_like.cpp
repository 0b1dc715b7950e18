// SPDX-License-Identifier: Apache-2.0
// Views with the interface of std::mdspan are accepted: rank(), extent(r), stride(r),
// data_handle(). This program sorts the values of a packed [batch, length, 3, channels] buffer
// (queries, keys, values) without a copy.
#include <slicesort/slicing_sort.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

// [snippet]
// A stand-in for std::mdspan<T, std::dextents<std::size_t, 3>, std::layout_stride>, for the mdspan
// of Kokkos or CUDA, or for your framework's view class.
template <class T>
struct strided_view {
  T* pointer;
  std::array<std::size_t, 3> extents, strides;

  static constexpr std::size_t rank() { return 3; }
  std::size_t extent(std::size_t r) const { return extents[r]; }
  std::size_t stride(std::size_t r) const { return strides[r]; }
  T* data_handle() const { return pointer; }
};
// [/snippet]

int main() {
  std::size_t const batch = 1, length = 3, channels = 2, packed = 3 * channels;
  std::vector<float> qkv = {
      1, 1, 2, 2, 30, 4,  // row 0: q q k k v v
      1, 1, 2, 2, 10, 6,  // row 1
      1, 1, 2, 2, 20, 5,  // row 2
  };
  std::vector<float> sorted(length * channels);

  strided_view<float const> const values{
      qkv.data() + 2 * channels, {batch, length, channels}, {length * packed, packed, 1}};
  strided_view<float> const y{
      sorted.data(), {batch, length, channels}, {length * channels, channels, 1}};

  ss::slicing_sort<> const op;
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, values, y, ss::no_saved, memory);
  for (std::size_t n = 0; n < length; ++n)
    std::printf("%g %g\n", static_cast<double>(sorted[n * channels]),
                static_cast<double>(sorted[n * channels + 1]));

  // In place: queries and keys of the packed buffer are unchanged.
  strided_view<float> const in_place{qkv.data() + 2 * channels, values.extents, values.strides};
  op.forward(exec, in_place, in_place, ss::no_saved, memory);
  std::printf("packed:");
  for (float v : qkv) std::printf(" %g", static_cast<double>(v));
  std::printf("\n");
}

// output:
// 10 4
// 20 5
// 30 6
// packed: 1 1 2 2 10 4 1 1 2 2 20 5 1 1 2 2 30 6
