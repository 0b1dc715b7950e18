// SPDX-License-Identifier: Apache-2.0
// Tiles on the block executor: reductions and shuffles of a warp, asynchronous copies, and tile
// products.
#include "block_executor.hpp"
#include "faulty_kernels.hpp"
#include "support/error_message.hpp"
#include "support/sanitizers.hpp"

#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/detail/sort/device/sort_columns.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;
using slicesort::detail::register_tile;
using slicesort::detail::tile_lane;
using slicesort::detail::tile_vector16;

namespace {

template <class Kernel>
void run(Kernel const& kernel, int threads, std::uint64_t seed) {
  launch config;
  config.blocks = 2;
  config.threads = threads;
  config.seed = seed;
  config.shared_bytes = slicesort::detail::shared_bytes(kernel);
  run_kernel<false>(config, kernel);
}

struct neighbors_kernel {
  static constexpr int max_threads = 128;
  int *maxima, *sums, *quad_values;  // maxima of 32 threads, sums of 4, values of lane 3 of 4
  template <class Block>
  void operator()(Block& block) const {
    int const value = block.rank() * 37 % 64;
    int const a = block.template reduce<32>(value, [](int x, int y) { return x > y ? x : y; });
    int const b = block.template reduce<4>(value, [](int x, int y) { return x + y; });
    struct pair {
      int values[2];
      int operator[](int i) const { return values[i]; }
    };
    auto const from_quad = block.shfl_quad(pair{{0, value}});
    maxima[block.rank()] = a, sums[block.rank()] = b, quad_values[block.rank()] = from_quad(3, 1);
  }
};

// Tile products: first = a b^T, second = first x.
struct products_kernel {
  static constexpr int max_threads = 128;
  using tile = slicesort::detail::vector16_tile<float, 64>;
  static constexpr int width = 64, pieces = width / slicesort::detail::elements_per_vector16<float>;
  float const *a, *b, *x;  // [16 * warps, 64], [16, 64], [16, 64]
  float *first, *second;   // [16 * warps, 16], [16 * warps, 64]
  int warps;
  bool waits;

  template <class SharedAllocator>
  tile_vector16<float>* shared(SharedAllocator& shared_memory) const {
    return shared_memory.template allocate<tile_vector16<float>>(
        static_cast<std::size_t>((16 * warps + 32) * pieces));
  }
  template <class Block>
  void operator()(Block& block) const {
    auto* const rows = shared(block);
    auto* const columns = rows + 16 * warps * pieces;
    for (int i = block.rank(); i < (16 * warps + 32) * pieces; i += block.size()) {
      int const row = i / pieces, k = i % pieces, other_row = row - 16 * warps;
      float const* const source = other_row < 0    ? a + row * width
                                  : other_row < 16 ? b + other_row * width
                                                   : x + (other_row - 16) * width;
      block.copy_async(rows + tile::offset(row, k), source + 4 * k, 16);
    }
    if (waits) block.await_copies();
    block.sync();
    int const first_row = block.rank() / 32 * 16;
    tile_lane const lane(block.rank());
    register_tile<float, 1, 2> s;
    register_tile<float, 1, width / 8> y;
    s.clear(), y.clear();
    block.template mma_abt<width>(s, rows + first_row * pieces, columns, width);
    block.template mma_ab<width>(y, block.template mma_operand<float>(s), columns + 16 * pieces,
                                 width);
    for (int i = 0; i < s.count; ++i)
      first[(first_row + s.row(i, lane)) * 16 + s.column(i, lane)] = s[i];
    for (int i = 0; i < y.count; ++i)
      second[(first_row + y.row(i, lane)) * width + y.column(i, lane)] = y[i];
  }
};

// Returns small integers, whose sums are exact.
std::vector<float> small_integers(std::size_t count, int multiplier) {
  std::vector<float> v(count);
  for (std::size_t i = 0; i < count; ++i)
    v[i] = static_cast<float>(static_cast<int>(i) * multiplier % 7 - 3);
  return v;
}

}  // namespace

TEST_CASE("reductions and shuffles of a warp") {
  for (std::uint64_t seed : {1u, 2u, 3u}) {
    std::vector<int> maxima(128), sums(128), quad_values(128);
    run(neighbors_kernel{maxima.data(), sums.data(), quad_values.data()}, 128, seed);
    for (int r = 0; r < 128; ++r) {
      int maximum = 0, sum = 0;
      for (int i = 0; i < 32; ++i) maximum = std::max(maximum, (r / 32 * 32 + i) * 37 % 64);
      for (int i = 0; i < 4; ++i) sum += (r / 4 * 4 + i) * 37 % 64;
      auto const thread = static_cast<std::size_t>(r);
      CHECK(maxima[thread] == maximum);
      CHECK(sums[thread] == sum);
      CHECK(quad_values[thread] == (r / 4 * 4 + 3) * 37 % 64);
    }
  }
}

#if !SLICESORT_TEST_TSAN
namespace {

// Counts the seeds, out of 20, under which make(y) does not write the next thread's rank to y.
template <class Make>
int count_failing_seeds(Make const& make) {
  int failing_seeds = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> y(2 * 64);
    run(make(y.data()), 64, seed);
    bool is_correct = true;
    for (std::size_t i = 0; i < y.size(); ++i)
      is_correct = is_correct && y[i] == static_cast<int>((i % 64 + 1) % 64);
    failing_seeds += !is_correct;
  }
  return failing_seeds;
}

}  // namespace

TEST_CASE("negative: a warp reduction used as a block barrier") {
  auto const kernel = [](bool waits) {
    return [waits](int* y) { return pass_to_other_warp{{y}, waits}; };
  };
  CHECK(count_failing_seeds(kernel(true)) == 0);
  CHECK(count_failing_seeds(kernel(false)) == 20);
}

TEST_CASE("negative: a copy into memory that others still read") {
  std::vector<next_row::row> rows;
  for (int i = 0; i < 128; ++i) rows.push_back({i % 64 + i / 64 * 1000});
  auto const kernel = [&](bool waits_for_readers) {
    return [&, waits_for_readers](int* y) { return next_row{rows.data(), y, waits_for_readers}; };
  };
  CHECK(count_failing_seeds(kernel(true)) == 0);
  CHECK(count_failing_seeds(kernel(false)) == 20);
}
#endif

TEST_CASE("negative: a warp reduction in a block of half a warp") {
  std::string fault;
  try {
    run(reduce_half_warp{}, 16, 1);
  } catch (block_fault const& thrown) {
    fault = thrown.what();
  }
  CHECK(says(fault, "threads show each other numbers in a block of 16, which are no whole warps"));
}

TEST_CASE("a swizzled tile permutes each row, and spreads every column over all banks") {
  using tile = slicesort::detail::swizzled_tile<16, 2, 8>;  // eight units of two elements
  for (int row = 0; row < 24; ++row) {
    std::vector<int> counts(16), banks(8);
    for (int column = 0; column < 16; ++column) {
      int const offset = tile::offset(row, column);
      REQUIRE(offset / 16 == row);
      ++counts[static_cast<std::size_t>(offset % 16)];
      CHECK(offset % 2 == column % 2);
      CHECK(offset == tile::offset(row, column, tile::swizzle(row % 8)));
    }
    for (int i = row; i < row + 8; ++i)
      ++banks[static_cast<std::size_t>(tile::offset(i, 6) % 16 / 2)];
    CHECK(std::count(counts.begin(), counts.end(), 1) == 16);
    CHECK(std::count(banks.begin(), banks.end(), 1) == 8);
  }
}

TEST_CASE("products of tiles") {
  for (int warps : {1, 3}) {
    auto const rows = static_cast<std::size_t>(16 * warps);
    auto const a = small_integers(rows * 64, 5), b = small_integers(16 * 64, 3),
               x = small_integers(16 * 64, 11);
    std::vector<float> first(rows * 16), second(rows * 64);
    products_kernel kernel{a.data(), b.data(), x.data(), first.data(), second.data(), warps, true};
    run(kernel, 32 * warps, 4);
    auto count_mismatches = [&] {
      int count = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        std::vector<float> s(16), y(64);
        for (std::size_t c = 0; c < 16; ++c)
          for (std::size_t k = 0; k < 64; ++k) s[c] += a[r * 64 + k] * b[c * 64 + k];
        for (std::size_t c = 0; c < 64; ++c)
          for (std::size_t k = 0; k < 16; ++k) y[c] += s[k] * x[k * 64 + c];
        for (std::size_t c = 0; c < 16; ++c) count += first[r * 16 + c] != s[c];
        for (std::size_t c = 0; c < 64; ++c) count += second[r * 64 + c] != y[c];
      }
      return count;
    };
    CHECK(count_mismatches() == 0);
    // Without the wait, some copies have not happened yet.
    kernel.waits = false;
    run(kernel, 32 * warps, 5);
    CHECK(count_mismatches() > 0);
  }
}

namespace {

constexpr slicesort::device_info devices[] = {{75, 30, 49152}, {}, {90, 132, 232448}};

}  // namespace

TEST_CASE("tiles of columns fit in shared memory, and their blocks in a multiprocessor") {
  using slicesort::index_t;
  for (slicesort::device_info const& device : devices)
    for (std::size_t bytes : {2u, 4u, 8u})
      for (index_t length : {1, 2, 3, 7, 64, 1000, 3000, 7000, 20000, 30000, 100000})
        for (index_t columns : {1, 2, 3, 100, 1000, 1000000}) {
          slicesort::permute_tuning const t = slicesort::default_permute_tuning(device, bytes);
          std::size_t const column = bytes * static_cast<std::size_t>(length);
          int const width = slicesort::detail::tile_width(device, t, column, length, columns);
          CAPTURE(device.architecture);
          CAPTURE(column);
          CAPTURE(columns);
          CHECK((width > 0) == (column + 64 <= device.shared_bytes));
          if (width == 0) continue;
          std::size_t const tile = column * static_cast<std::size_t>(width);
          CHECK(tile + 64 <= device.shared_bytes);
          int const threads = slicesort::detail::tile_threads(t, column, length, width);
          CHECK((threads & (threads - 1)) == 0);
          CHECK(threads >= std::max(32, width));
          bool const shares_multiprocessor = tile <= t.shared_tile_bytes;
          CHECK(threads <=
                std::max(width, shares_multiprocessor ? t.tile_threads / 2 : t.tile_threads));
        }
}

TEST_CASE_TEMPLATE("the longest run of a sort fills shared memory", T, float, double,
                   slicesort::bfloat16) {
  using slicesort::detail::sort_tile_bytes;
  using slicesort::detail::tile_row_multiple;
  for (slicesort::device_info const& device : devices) {
    auto const rows = slicesort::detail::longest_run<T>(device.shared_bytes);
    bool const is_limited_by_levels = rows == slicesort::index_t{1}
                                                  << slicesort::detail::max_tile_levels;
    CHECK(rows % tile_row_multiple == 0);
    CHECK(sort_tile_bytes<T>(rows, 1) <= device.shared_bytes);
    CHECK((is_limited_by_levels ||
           sort_tile_bytes<T>(rows + tile_row_multiple, 1) > device.shared_bytes));
  }
}

TEST_CASE("lengths in device memory are clamped") {
  using slicesort::index_t;
  index_t const lengths[] = {-1, 0, 3, 5, 6};
  slicesort::tensor1<index_t const> const view(lengths, 5);
  index_t const expected[] = {0, 0, 3, 5, 5};
  for (index_t i = 0; i < 5; ++i) CHECK(slicesort::detail::valid_rows(view, i, 5) == expected[i]);
  CHECK(slicesort::detail::valid_rows({}, 0, 5) == 5);
}
