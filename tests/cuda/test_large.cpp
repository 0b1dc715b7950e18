// SPDX-License-Identifier: Apache-2.0
// slicing_sort, forward and backward, with more than 2^31 elements or offsets beyond 2^31. The
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

struct device_buffer {
  void* data = nullptr;
  explicit device_buffer(std::size_t bytes) { SLICESORT_TEST_CUDA_CALL(cudaMalloc(&data, bytes)); }
  ~device_buffer() { (void)cudaFree(data); }
  device_buffer(device_buffer const&) = delete;
  device_buffer& operator=(device_buffer const&) = delete;
};

// The cases take up to 18 GB.
bool device_is_small() {
  std::size_t free_memory = 0, total = 0;
  return cudaMemGetInfo(&free_memory, &total) != cudaSuccess || total < (std::size_t{20} << 30);
}
std::size_t free_bytes() {
  std::size_t free_memory = 0, total = 0;
  SLICESORT_TEST_CUDA_CALL(cudaMemGetInfo(&free_memory, &total));
  return free_memory;
}
std::size_t span_of(extents3 e, strides3 s) {
  return static_cast<std::size_t>((e.batch - 1) * s.batch + (e.length - 1) * s.length +
                                  (e.channels - 1) * s.channels + 1);
}

// Sorts in place, then runs backward on another copy of the source. Needs three large buffers and
// the workspace.
template <class Index>
void check_large(extents3 e, strides3 s) {
  constexpr bool is_16_bit = sizeof(Index) == 2;
  ss::slicing_sort<pattern_order> const op(pattern_order{up});
  device_stream const stream;
  stream_exec const exec{stream.get()};
  std::size_t const value_bytes = span_of(e, s) * 2;
  std::size_t const perm_bytes = static_cast<std::size_t>(e.size()) * sizeof(Index);
  std::size_t const scratch_bytes = op.workspace_bytes<bfloat16>(exec, e);
  std::size_t const required =
      2 * value_bytes + perm_bytes + scratch_bytes + (std::size_t{1} << 28);
  CAPTURE(e.batch);
  CAPTURE(e.length);
  CAPTURE(e.channels);
  REQUIRE(free_bytes() >= required);
  device_buffer const values(value_bytes), perm(perm_bytes), restored(value_bytes),
      scratch(scratch_bytes + 1);
  tensor3<bfloat16> const x(static_cast<bfloat16*>(values.data), e, s);
  tensor3<Index> const perm_view(static_cast<Index*>(perm.data), e);
  ss::workspace const work{scratch.data, scratch_bytes};
  fill_bf16(values.data, e, s);
  op.forward(exec, x, x, {perm_view}, work);
  stream.wait();
  sort_faults const faults = check_bf16_sort(values.data, perm.data, is_16_bit, e, s);
  CHECK(faults.wrong_values == 0);
  CHECK(faults.wrong_order == 0);
  CHECK(faults.unstable_ties == 0);
  CHECK(faults.invalid_columns == 0);
  fill_bf16(values.data, e, s);
  op.backward(exec, x, {perm_view}, tensor3<bfloat16>(static_cast<bfloat16*>(restored.data), e, s),
              work);
  stream.wait();
  CHECK(check_bf16_backward(restored.data, perm.data, is_16_bit, e, s) == 0);
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
