// SPDX-License-Identifier: Apache-2.0
// slicing_sort, forward and backward, of more than 2^31 elements, and with offsets beyond 2^31. The
// results are checked on the device.
#include "backend/device.hpp"
#include "backend/remote.hpp"
#include "oracles/large.hpp"

#include "support/pattern_order.hpp"

#include <doctest/doctest.h>
#include <slicesort/slicing_sort.hpp>

#include <cstddef>
#include <cstdint>

using namespace support;

namespace {

namespace ss = slicesort;

struct device_block {
  void* data = nullptr;
  explicit device_block(std::size_t bytes) { SLICESORT_TEST_CUDA_CALL(cudaMalloc(&data, bytes)); }
  ~device_block() { (void)cudaFree(data); }
  device_block(device_block const&) = delete;
  device_block& operator=(device_block const&) = delete;
};

// The cases take up to 18 GB.
bool device_is_small() {
  std::size_t unused = 0, total = 0;
  return cudaMemGetInfo(&unused, &total) != cudaSuccess || total < (std::size_t{20} << 30);
}
std::size_t free_bytes() {
  std::size_t unused = 0, total = 0;
  SLICESORT_TEST_CUDA_CALL(cudaMemGetInfo(&unused, &total));
  return unused;
}
std::size_t span_of(extents3 e, strides3 s) {
  return static_cast<std::size_t>((e.batch - 1) * s.batch + (e.length - 1) * s.length +
                                  (e.channels - 1) * s.channels + 1);
}

// Sorts in place, then runs backward on another copy of the source. Takes three large blocks and
// the workspace.
template <class Index>
void check_large(extents3 e, strides3 s) {
  constexpr bool narrow = sizeof(Index) == 2;
  ss::slicing_sort<pattern_order> const op(pattern_order{up});
  device_stream const stream;
  on_stream const exec{stream.get()};
  std::size_t const value_bytes = span_of(e, s) * 2;
  std::size_t const perm_bytes = static_cast<std::size_t>(e.size()) * sizeof(Index);
  std::size_t const scratch_bytes = op.workspace_bytes<bfloat16>(exec, e);
  std::size_t const required =
      2 * value_bytes + perm_bytes + scratch_bytes + (std::size_t{1} << 28);
  CAPTURE(e.batch);
  CAPTURE(e.length);
  CAPTURE(e.channels);
  REQUIRE(free_bytes() >= required);
  device_block const values(value_bytes), perm(perm_bytes), moved(value_bytes),
      scratch(scratch_bytes + 1);
  tensor3<bfloat16> const x(static_cast<bfloat16*>(values.data), e, s);
  tensor3<Index> const p(static_cast<Index*>(perm.data), e);
  ss::workspace const work{scratch.data, scratch_bytes};
  fill_bf16(values.data, e, s);
  op.forward(exec, x, x, {p}, work);
  stream.wait();
  sort_faults const faults = check_bf16_sort(values.data, perm.data, narrow, e, s);
  CHECK(faults.moved == 0);
  CHECK(faults.order == 0);
  CHECK(faults.stability == 0);
  CHECK(faults.permutation == 0);
  fill_bf16(values.data, e, s);
  op.backward(exec, x, {p}, tensor3<bfloat16>(static_cast<bfloat16*>(moved.data), e, s), work);
  stream.wait();
  CHECK(check_bf16_backward(moved.data, perm.data, narrow, e, s) == 0);
}

}  // namespace

TEST_CASE("more than 2^31 elements, a column per thread" * doctest::skip(device_is_small())) {
  extents3 const e{33000, 64, 1024};
  check_large<std::uint16_t>(e, ss::row_major(e));
}
TEST_CASE("more than 2^31 elements, a tile of columns per block" *
          doctest::skip(device_is_small())) {
  extents3 const e{2101, 1000, 1024};
  check_large<std::uint16_t>(e, ss::row_major(e));
}
TEST_CASE("more than 2^31 elements, merged runs" * doctest::skip(device_is_small())) {
  extents3 const e{17, 125000, 1024};
  check_large<std::uint32_t>(e, ss::row_major(e));
}
TEST_CASE("more than 2^31 elements in one sample, channels far apart" *
          doctest::skip(device_is_small())) {
  extents3 const e{1, 40000, 54000};
  check_large<std::uint16_t>(e, {0, 1, e.length});
}
TEST_CASE("few elements, far apart" * doctest::skip(device_is_small())) {
  check_large<std::uint16_t>({3, 50, 40}, {(index_t{1} << 31) + 12345, 41, 1});
  check_large<std::uint16_t>({2, 50, 40}, {1, 3, (index_t{1} << 26) + 77});
  check_large<std::uint32_t>({1, 40, 2}, {0, (index_t{1} << 26) + 5, 1});
  check_large<std::uint16_t>({1, 3, 40}, {0, (index_t{1} << 31) + 7, 1});
  check_large<std::uint32_t>({1, 40, 3}, {0, 1, (index_t{1} << 31) + 64});
}
