// SPDX-License-Identifier: Apache-2.0
// The block executor runs right kernels right, and catches what is planted in wrong ones. What only
// a sanitizer sees is planted in compile/planted_faults.cpp.
#include "block_executor.hpp"
#include "planted_bodies.hpp"
#include "support/block_backend.hpp"
#include "support/buffers.hpp"
#include "support/refusal.hpp"
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

// Fibers and threads; ThreadSanitizer does not know our fibers.
std::vector<bool> ways() {
  if (SLICESORT_TEST_TSAN) return {true};
  return {false, true};
}

template <class Kernel>
void run(Kernel const& kernel, launch how) {
  how.shared_bytes = slicesort::detail::shared_bytes(kernel);
  run_kernel<false>(how, kernel);
}
launch with_seed(std::uint64_t seed, bool os_threads, int threads = 64, index_t blocks = 3) {
  launch how;
  how.blocks = blocks;
  how.threads = threads;
  how.seed = seed;
  how.os_threads = os_threads;
  return how;
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

TEST_CASE("a right body runs right, whatever the seed") {
  for (bool os_threads : ways())
    for (int threads : {1, 2, 32, 128, 512}) {
      constexpr std::size_t blocks = 5;
      auto const n = static_cast<std::size_t>(threads);
      std::vector<int> x(blocks * n), want(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i % 7);
      x[2 * n] = -1;
      for (std::size_t i = 0; i < x.size(); ++i) want[i] = x[i / n * n + (n - 1 - i % n)];
      for (std::uint64_t seed = 0; seed < (os_threads ? 3u : 50u); ++seed) {
        std::vector<int> reversed(x.size()), sums(blocks), negative(blocks);
        run(reverse_and_sum{x.data(), reversed.data(), sums.data(), negative.data(), threads},
            with_seed(seed, os_threads, threads, blocks));
        CHECK(reversed == want);
        CHECK(negative == std::vector<int>{0, 0, 1, 0, 0});
        for (std::size_t b = 0; b < blocks; ++b) {
          auto const from = x.begin() + static_cast<std::ptrdiff_t>(b * n);
          CHECK(sums[b] == std::accumulate(from, from + threads, 0));
        }
      }
    }
}

namespace {

struct write_down {
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

TEST_CASE("every block and thread runs once, in an order that the seed decides") {
  if (SLICESORT_TEST_TSAN) return;  // the log is one of fibers
  std::set<std::vector<int>> schedules;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> log, again;
    run(write_down{&log}, with_seed(seed, false, 16, 12));
    run(write_down{&again}, with_seed(seed, false, 16, 12));
    CHECK(log == again);
    schedules.insert(log);
    std::vector<int> times(16 * 12);
    for (int who : log) ++times[static_cast<std::size_t>(who)];
    CHECK(times == std::vector<int>(16 * 12, 2));
    // The order of one interval is not that of the next.
    CHECK(!std::equal(log.begin(), log.begin() + 16, log.begin() + 16));
  }
  CHECK(schedules.size() == 20);
  std::vector<int> none;
  run(write_down{&none}, with_seed(1, false, 16, 0));
  CHECK(none.empty());
}

#if !SLICESORT_TEST_TSAN
namespace {

template <class Kernel>
int wrong_seeds() {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> y(3 * 64);
    run(Kernel{y.data()}, with_seed(seed, false));
    bool right = true;
    for (std::size_t i = 0; i < y.size(); ++i)
      right = right && y[i] == static_cast<int>((i % 64 + 1) % 64);
    wrong += !right;
  }
  return wrong;
}

}  // namespace

TEST_CASE("planted: a missing barrier gives wrong results, under every seed") {
  CHECK(wrong_seeds<right>() == 0);
  CHECK(wrong_seeds<missing_barrier>() == 20);
  CHECK(wrong_seeds<missing_second_barrier>() == 20);
}
#endif

TEST_CASE("planted: divergent barriers") {
  for (bool os_threads : ways())
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      auto const message = [&](way_out how) {
        return fault_of([&] { run(divergent{how}, with_seed(seed, os_threads)); });
      };
      CHECK(says(message(way_out::some_end),
                 "divergent barrier: thread 0 ends while thread 32 waits at sync()"));
      CHECK(says(message(way_out::wrong_kind),
                 "divergent barrier: thread 0 waits at sync() while thread 5 waits at any()"));
      CHECK(says(message(way_out::one_more),
                 "divergent barrier: thread 32 ends while thread 63 waits at sync()"));
      CHECK(says(message(way_out::half_of_a_warp),
                 "divergent barrier: thread 32 waits for its warp while thread 48 ends"));
      CHECK(says(message(way_out::one_more),
                 ("of 3 (64 threads, seed " + std::to_string(seed)).c_str()));
    }
}

TEST_CASE("clusters: right, and planted faults") {
  for (bool os_threads : ways())
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      std::vector<int> y(6 * 64), want(y.size());
      for (std::size_t i = 0; i < y.size(); ++i)
        want[i] = static_cast<int>((i / 64 ^ 1) * 64 + i % 64);
      auto const result = [&](exchange_in_cluster kernel, index_t blocks) {
        launch how = with_seed(seed, os_threads, 64, blocks);
        how.cluster = 2;
        return fault_of([&] { run(kernel, how); });
      };
      CHECK(result({y.data()}, 6) == "");
      CHECK(y == want);
      CHECK(says(result({y.data(), true, true}, 6),
                 "divergent barrier: thread 0 waits at sync_cluster() while thread 64 ends"));
      CHECK(result({y.data()}, 5) == "a launch of 5 blocks in clusters of 2");
      // A race among threads: any result. AddressSanitizer ends the program at the first read.
      if (os_threads || SLICESORT_TEST_ASAN) continue;
      CHECK(result({y.data(), false, false}, 6) == "");
      CHECK(y != want);
    }
}

TEST_CASE("planted: a launch that asks for too little, threads that take different slices") {
  for (bool os_threads : ways()) {
    auto const message = [&](auto const& kernel) {
      return fault_of([&] { run(kernel, with_seed(1, os_threads)); });
    };
    CHECK(message(wrong_walk{64, 64, 64}) == "");
    CHECK(message(wrong_walk{64, 61, 61}) == "");
    CHECK(says(message(wrong_walk{64, 65, 65}),
               "slice 0 of shared memory ends at byte 272, the launch asked for 256"));
    CHECK(says(message(wrong_walk{0, 1, 1}), "ends at byte 16, the launch asked for 0"));
    std::string const unlike = message(wrong_walk{64, 64, 63});
    CHECK(says(unlike, "slice 0 of shared memory has "));
    CHECK(says(unlike, " 252"));
    CHECK(says(unlike, " 256"));
    CHECK(says(message(many_slices{}), "slice 32 of shared memory: the executor expects no more"));
  }
}

#if !SLICESORT_TEST_ASAN
TEST_CASE("planted: overruns of the pool, and of a slice into the next") {
  for (bool os_threads : ways()) {
    auto const message = [&](int slice, std::ptrdiff_t at) {
      return fault_of([&] { run(overrun{slice, at}, with_seed(1, os_threads)); });
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

TEST_CASE("planted: a read of shared memory that nobody wrote shows garbage, in every block") {
  for (bool os_threads : ways()) {
    std::set<int> seen;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      std::vector<int> y(3 * 64);
      run(read_leftover{y.data()}, with_seed(seed, os_threads));
      CHECK(std::count(y.begin(), y.end(), 0) == 0);
      seen.insert(y.begin(), y.end());
    }
    CHECK(seen.size() > 5);
  }
}

TEST_CASE("a launch that no device would take") {
  block_exec exec;
  exec.device.shared_bytes = 4096;
  auto const message = [&](index_t blocks, int threads, std::size_t ints) {
    return fault_of([&] {
      block_grid<false>(exec).run(wrong_walk{ints, ints, ints}, blocks, threads);
    });
  };
  CHECK(message(2, 64, 1024) == "");
  CHECK(message(0, 64, 1024) == "");
  CHECK(message(2, 64, 1025) == "a launch with 4112 bytes of shared memory, the device has 4096");
  CHECK(message(2, 1025, 1) == "a launch of 1025 threads, the body's most is 1024");
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
struct answer {
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
  run(square_plus{1 + 0x1p-12f, -(1 + 0x1p-11f), &y}, with_seed(1, false, 1, 1));
  CHECK(y == 0);
}

TEST_CASE("the grid passes on what its policy says") {
  block_exec exec;
  exec.device.architecture = 90;
  CHECK(block_grid<false>(exec).info().architecture == 90);
  auto const defaults = ss::default_sort_tuning(exec.device, 4);
  CHECK(block_grid<false>(exec).tuning(defaults, 4).run_rows == defaults.run_rows);
  exec.tune = shorter_runs;
  CHECK(block_grid<false>(exec).tuning(defaults, 4).run_rows == 94);
  CHECK(block_grid<false>(exec).tuning(17, 4) == 17);
  bool fast = false;
  block_grid<true>(exec).run(answer{&fast}, 1, 1);
  CHECK(fast);
  block_grid<false>(exec).run(answer{&fast}, 1, 1);
  CHECK(!fast);
}
