// SPDX-License-Identifier: Apache-2.0
// Thrust's containers as views and as workspace, and Thrust's execution policies.
#include <slicesort/slicesort.hpp>
#include <slicesort/thrust.hpp>

#include <doctest/doctest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace ss = slicesort;

static_assert(std::is_same_v<decltype(ss::view(std::declval<thrust::device_vector<float>&>(),
                                               ss::extents3{})),
                             ss::tensor3<float>>);
static_assert(std::is_same_v<decltype(ss::view(std::declval<thrust::device_vector<float> const&>(),
                                               ss::extents3{})),
                             ss::tensor3<float const>>);
static_assert(
    std::is_same_v<decltype(ss::view(std::declval<thrust::device_vector<ss::index_t> const&>())),
                   ss::tensor1<ss::index_t const>>);
static_assert(std::is_same_v<decltype(ss::view(std::declval<thrust::device_vector<float>&>(),
                                               ss::extents4{})),
                             ss::tensor4<float>>);
static_assert(std::is_convertible_v<thrust::device_vector<unsigned char>&, ss::workspace>);

TEST_CASE("a Thrust policy becomes its stream") {
  auto const stream = reinterpret_cast<cudaStream_t>(0x40);  // never used
  CHECK(ss::cuda_exec(thrust::cuda::par.on(stream)).stream == stream);
  CHECK(ss::cuda_exec(thrust::cuda::par_nosync.on(stream)).stream == stream);
}

TEST_CASE("an empty vector is an empty view and no workspace") {
  thrust::device_vector<float> empty;
  CHECK(ss::view(empty, {0, 4, 2}).data() == nullptr);
  CHECK(ss::view(empty).size() == 0);
  CHECK(ss::workspace(empty).bytes == 0);
  CHECK(ss::workspace(empty).data == nullptr);
}

TEST_CASE("device vectors through an operator") {
  ss::extents3 const shape{2, 3, 1};
  std::vector<float> const values = {3, 1, 2, 6, 5, 4};
  std::vector<ss::index_t> const host_lengths = {3, 2};
  thrust::device_vector<float> const x(values.begin(), values.end());
  thrust::device_vector<ss::index_t> const lengths(host_lengths.begin(), host_lengths.end());
  thrust::device_vector<float> y(values.size());
  thrust::device_vector<std::uint16_t> perm(values.size());

  ss::slicing_sort<> const op;
  auto const exec = ss::cuda_exec(thrust::cuda::par);
  thrust::device_vector<unsigned char> scratch(op.workspace_bytes<float>(exec, shape));
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), {ss::view(perm, shape)}, scratch,
             {ss::view(lengths)});

  std::vector<float> sorted(y.size());
  std::vector<std::uint16_t> rows(perm.size());
  thrust::copy(y.begin(), y.end(), sorted.begin());  // waits
  thrust::copy(perm.begin(), perm.end(), rows.begin());
  CHECK(sorted == std::vector<float>{1, 2, 3, 5, 6, 4});
  CHECK(rows == std::vector<std::uint16_t>{1, 2, 0, 1, 0, 2});
}
