// SPDX-License-Identifier: Apache-2.0
// The block executor runs correct kernels, and reports the mistakes of faulty ones. Mistakes that
// only a sanitizer detects are in compile/negative_tests.cpp.
#include "block_executor.hpp"
#include "faulty_kernels.hpp"
#include "support/block_backend.hpp"
#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

using namespace support;

namespace {

// Values of launch::os_threads to test; ThreadSanitizer does not know the executor's fibers.
std::vector<bool> os_thread_settings() {
  if (SLICESORT_TEST_TSAN) return {true};
  return {false, true};
}

template <class Kernel>
void run(Kernel const& kernel, launch config) {
  config.shared_bytes = slicesort::detail::shared_bytes(kernel);
  run_kernel<false>(config, kernel);
}
launch launch_with_seed(std::uint64_t seed, bool os_threads, int threads = 64, index_t blocks = 3) {
  launch config;
  config.blocks = blocks;
  config.threads = threads;
  config.seed = seed;
  config.os_threads = os_threads;
  return config;
}
template <class F>
std::string fault_of(F const& f) {
  try {
    f();
  } catch (block_fault const& fault) {
    return fault.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a correct kernel runs correctly under every seed") {
  for (bool os_threads : os_thread_settings())
    for (int threads : {1, 2, 32, 128, 512}) {
      constexpr std::size_t blocks = 5;
      auto const n = static_cast<std::size_t>(threads);
      std::vector<int> x(blocks * n), expected(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i % 7);
      x[2 * n] = -1;
      for (std::size_t i = 0; i < x.size(); ++i) expected[i] = x[i / n * n + (n - 1 - i % n)];
      for (std::uint64_t seed = 0; seed < (os_threads ? 3u : 50u); ++seed) {
        std::vector<int> reversed(x.size()), sums(blocks), negative(blocks);
        run(reverse_and_sum{x.data(), reversed.data(), sums.data(), negative.data(), threads},
            launch_with_seed(seed, os_threads, threads, blocks));
        CHECK(reversed == expected);
        CHECK(negative == std::vector<int>{0, 0, 1, 0, 0});
        for (std::size_t b = 0; b < blocks; ++b) {
          auto const first = x.begin() + static_cast<std::ptrdiff_t>(b * n);
          CHECK(sums[b] == std::accumulate(first, first + threads, 0));
        }
      }
    }
}

namespace {

struct write_log {
  static constexpr int max_threads = 1024;
  std::vector<int>* log;
  template <class Block>
  void operator()(Block& block) const {
    for (int interval = 0; interval < 2; ++interval) {
      log->push_back(static_cast<int>(block.index()) * block.size() + block.rank());
      block.sync();
    }
  }
};

}  // namespace

// Only fibers may write the log without a lock. ThreadSanitizer runs threads.
TEST_CASE("every block and thread runs once, in an order that the seed decides" *
          doctest::skip(SLICESORT_TEST_TSAN)) {
  std::set<std::vector<int>> schedules;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> log, repeated_log;
    run(write_log{&log}, launch_with_seed(seed, false, 16, 12));
    run(write_log{&repeated_log}, launch_with_seed(seed, false, 16, 12));
    CHECK(log == repeated_log);
    schedules.insert(log);
    std::vector<int> run_counts(16 * 12);
    for (int thread : log) ++run_counts[static_cast<std::size_t>(thread)];
    CHECK(run_counts == std::vector<int>(16 * 12, 2));
    // The order changes from one interval to the next.
    CHECK(!std::equal(log.begin(), log.begin() + 16, log.begin() + 16));
  }
  CHECK(schedules.size() == 20);
  std::vector<int> empty_log;
  run(write_log{&empty_log}, launch_with_seed(1, false, 16, 0));
  CHECK(empty_log.empty());
}

#if !SLICESORT_TEST_TSAN
namespace {

template <class Kernel>
int count_failing_seeds() {
  int failing_seeds = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> y(3 * 64);
    run(Kernel{y.data()}, launch_with_seed(seed, false));
    bool is_correct = true;
    for (std::size_t i = 0; i < y.size(); ++i)
      is_correct = is_correct && y[i] == static_cast<int>((i % 64 + 1) % 64);
    failing_seeds += !is_correct;
  }
  return failing_seeds;
}

}  // namespace

TEST_CASE("negative: a missing barrier gives wrong results, under every seed") {
  CHECK(count_failing_seeds<correct_kernel>() == 0);
  CHECK(count_failing_seeds<missing_barrier>() == 20);
  CHECK(count_failing_seeds<missing_second_barrier>() == 20);
}
#endif

TEST_CASE("negative: divergent barriers") {
  for (bool os_threads : os_thread_settings())
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      auto const message = [&](divergence kind) {
        return fault_of([&] { run(divergent{kind}, launch_with_seed(seed, os_threads)); });
      };
      CHECK(says(message(divergence::some_return),
                 "divergent barrier: thread 0 ends while thread 32 waits at sync()"));
      CHECK(says(message(divergence::wrong_kind),
                 "divergent barrier: thread 0 waits at sync() while thread 5 waits at any()"));
      CHECK(says(message(divergence::extra_barrier),
                 "divergent barrier: thread 32 ends while thread 63 waits at sync()"));
      CHECK(says(message(divergence::half_warp),
                 "divergent barrier: thread 32 waits for its warp while thread 48 ends"));
      CHECK(says(message(divergence::extra_barrier),
                 ("of 3 (64 threads, seed " + std::to_string(seed)).c_str()));
    }
}

TEST_CASE("clusters: a correct kernel, and faulty ones") {
  for (bool os_threads : os_thread_settings())
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      std::vector<int> y(6 * 64), expected(y.size());
      for (std::size_t i = 0; i < y.size(); ++i)
        expected[i] = static_cast<int>((i / 64 ^ 1) * 64 + i % 64);
      auto const result = [&](exchange_in_cluster kernel, index_t blocks) {
        launch config = launch_with_seed(seed, os_threads, 64, blocks);
        config.cluster = 2;
        return fault_of([&] { run(kernel, config); });
      };
      CHECK(result({y.data()}, 6).empty());
      CHECK(y == expected);
      CHECK(says(result({y.data(), true, true}, 6),
                 "divergent barrier: thread 0 waits at sync_cluster() while thread 64 ends"));
      CHECK(result({y.data()}, 5) == "a launch of 5 blocks in clusters of 2");
      // With threads, this is a race: any result is possible. AddressSanitizer aborts.
      if (os_threads || SLICESORT_TEST_ASAN) continue;
      CHECK(result({y.data(), false, false}, 6) == "");
      CHECK(y != expected);
    }
}

TEST_CASE("negative: a launch with too little shared memory, and threads with different slices") {
  for (bool os_threads : os_thread_settings()) {
    auto const message = [&](auto const& kernel) {
      return fault_of([&] { run(kernel, launch_with_seed(1, os_threads)); });
    };
    CHECK(message(mismatched_slices{64, 64, 64}) == "");
    CHECK(message(mismatched_slices{64, 61, 61}) == "");
    CHECK(says(message(mismatched_slices{64, 65, 65}),
               "slice 0 of shared memory ends at byte 272, the launch asked for 256"));
    CHECK(says(message(mismatched_slices{0, 1, 1}), "ends at byte 16, the launch asked for 0"));
    std::string const size_mismatch = message(mismatched_slices{64, 64, 63});
    CHECK(says(size_mismatch, "slice 0 of shared memory has "));
    CHECK(says(size_mismatch, " 252"));
    CHECK(says(size_mismatch, " 256"));
    CHECK(says(message(many_slices{}), "slice 32 of shared memory: the executor expects no more"));
  }
}

#if !SLICESORT_TEST_ASAN
TEST_CASE("negative: overruns of the pool, and of a slice into the next") {
  for (bool os_threads : os_thread_settings()) {
    auto const message = [&](int slice, std::ptrdiff_t offset) {
      return fault_of([&] { run(overrun{slice, offset}, launch_with_seed(1, os_threads)); });
    };
    CHECK(message(0, 0) == "");
    CHECK(message(0, 55) == "");
    CHECK(message(1, 63) == "");
    CHECK(says(message(0, 56), "shared memory overrun: something wrote past the end of slice 0"));
    CHECK(says(message(0, 64), "shared memory overrun: something wrote past the end of slice 0"));
    CHECK(says(message(1, -1), "shared memory overrun: something wrote past the end of slice 0"));
    CHECK(says(message(1, 64), "shared memory overrun: something wrote past the end of slice 1"));
    CHECK(says(message(1, 1000), "shared memory overrun: something wrote past the end of slice 1"));
    CHECK(says(message(0, -1), "shared memory overrun: something wrote before slice 0"));
  }
}
#endif

TEST_CASE("negative: a read of unwritten shared memory returns garbage, in every block") {
  for (bool os_threads : os_thread_settings()) {
    std::set<int> values;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      std::vector<int> y(3 * 64);
      run(read_leftover{y.data()}, launch_with_seed(seed, os_threads));
      CHECK(std::count(y.begin(), y.end(), 0) == 0);
      values.insert(y.begin(), y.end());
    }
    CHECK(values.size() > 5);
  }
}

TEST_CASE("launches beyond a device's limits") {
  block_exec exec;
  exec.device.shared_bytes = 4096;
  auto const message = [&](index_t blocks, int threads, std::size_t ints) {
    return fault_of([&] {
      block_grid<false>(exec).run(mismatched_slices{ints, ints, ints}, blocks, threads);
    });
  };
  CHECK(message(2, 64, 1024) == "");
  CHECK(message(0, 64, 1024) == "");
  CHECK(message(2, 64, 1025) == "a launch with 4112 bytes of shared memory, the device has 4096");
  CHECK(message(2, 1025, 1) == "a launch of 1025 threads, the kernel's maximum is 1024");
  CHECK(message(2, 0, 1) == "a launch of 0 threads per block, must be in 1..1024");
  CHECK(message((index_t{1} << 31) + 1, 1, 1) ==
        "a launch of 2147483649 blocks, too many to run here");
}

namespace {

struct square_plus {
  static constexpr int max_threads = 1;
  float a, c;
  float* y;
  template <class Block>
  void operator()(Block& block) const {
    *y = block.multiply_add(a, a, c);
  }
};
struct fast_double_query {
  static constexpr int max_threads = 1;
  bool* y;
  template <class Block>
  void operator()(Block&) const {
    *y = Block::fast_double;
  }
};

ss::sort_tuning shorter_runs(ss::device_info device, std::size_t element_bytes, ss::sort_tuning t) {
  t.run_rows = device.architecture + static_cast<index_t>(element_bytes);
  return t;
}

}  // namespace

TEST_CASE("products are rounded before they are added") {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24; rounded to a float, the last term is lost.
  float y = 1;
  run(square_plus{1 + 0x1p-12f, -(1 + 0x1p-11f), &y}, launch_with_seed(1, false, 1, 1));
  CHECK(y == 0);
}

TEST_CASE("the grid passes on the device and the tuning of its policy") {
  block_exec exec;
  exec.device.architecture = 90;
  CHECK(block_grid<false>(exec).info().architecture == 90);
  auto const defaults = ss::default_sort_tuning(exec.device, 4);
  CHECK(block_grid<false>(exec).tuning(defaults, 4).run_rows == defaults.run_rows);
  exec.tune = shorter_runs;
  CHECK(block_grid<false>(exec).tuning(defaults, 4).run_rows == 94);
  CHECK(block_grid<false>(exec).tuning(17, 4) == 17);
  bool is_fast = false;
  block_grid<true>(exec).run(fast_double_query{&is_fast}, 1, 1);
  CHECK(is_fast);
  block_grid<false>(exec).run(fast_double_query{&is_fast}, 1, 1);
  CHECK(!is_fast);
}
