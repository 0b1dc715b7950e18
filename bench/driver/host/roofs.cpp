// SPDX-License-Identifier: Apache-2.0
// Roofs of the roofline: measured rates of memcpy, and of multiply-adds on values in registers.
#include "driver/backend.hpp"
#include "driver/tensors.hpp"
#include "mix_baseline.hpp"

#include <slicesort/exec.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace bench {
namespace {

// Measures the best rate of several runs, each of `amount` units of work.
template <class F>
double measure_best_rate(int repeats, double amount, F const& run) {
  double best = 0.0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    auto const start = std::chrono::steady_clock::now();
    run();
    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, amount / seconds.count());
  }
  return best;
}

template <class T>
double measure_peak(unsigned threads) {
  constexpr double multiplications = 2e9;
  slicesort::exec::host const exec{threads};
  return measure_best_rate(5, 2.0 * multiplications * threads, [&] {
    with_mix_baseline<T>(ss::isa::best, [&](auto baseline) {
      exec.parallel_for(threads, [&](unsigned) {
        T volatile const result = baseline.multiply_add(multiplications, T(0.5));
        (void)result;
      });
    });
  });
}

}  // namespace

// 16-bit types have the peak of float, which the library computes in.
double arithmetic_peak(std::string const& dtype, unsigned threads) {
  static std::map<std::pair<bool, unsigned>, double> cache;
  bool const is_double = dtype == "f64";
  auto const [entry, inserted] = cache.try_emplace({is_double, threads}, 0.0);
  if (inserted)
    entry->second = is_double ? measure_peak<double>(threads) : measure_peak<float>(threads);
  return entry->second;
}

double copy_bandwidth(unsigned threads) {
  static std::map<unsigned, double> cache;
  auto const [entry, inserted] = cache.try_emplace(threads, 0.0);
  if (!inserted) return entry->second;
  constexpr std::size_t bytes = std::size_t{256} << 20;
  buffer<char> const from(bytes), to(bytes);
  slicesort::exec::host const exec{threads};
  std::size_t const bytes_per_thread = bytes / threads;
  entry->second = measure_best_rate(7, 2.0 * static_cast<double>(bytes_per_thread * threads), [&] {
    exec.parallel_for(threads, [&](unsigned thread) {
      std::memcpy(to.data() + thread * bytes_per_thread, from.data() + thread * bytes_per_thread,
                  bytes_per_thread);
    });
  });
  return entry->second;
}

}  // namespace bench
