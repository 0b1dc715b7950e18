// SPDX-License-Identifier: Apache-2.0
// The rate of multiply-adds of this machine on values in registers.
#include "driver/backend.hpp"
#include "mix_baseline.hpp"

#include <slicesort/exec.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

namespace bench {
namespace {

template <class T>
double measured_peak(unsigned threads) {
  constexpr double multiplications = 2e9;
  slicesort::exec::host const on{threads};
  double best = 0.0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    auto const start = std::chrono::steady_clock::now();
    with_mix_baseline<T>(ss::isa::best, [&](auto baseline) {
      on.parallel_for(threads, [&](unsigned) {
        T volatile const left = baseline.multiply_add(multiplications, T(0.5));
        (void)left;
      });
    });
    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * multiplications * threads / seconds.count());
  }
  return best;
}

}  // namespace

// The library computes with 16-bit values as float.
double arithmetic_peak(std::string const& dtype, unsigned threads) {
  static std::map<std::pair<bool, unsigned>, double> known;
  bool const wide = dtype == "f64";
  auto const [at, fresh] = known.try_emplace({wide, threads}, 0.0);
  if (fresh) at->second = wide ? measured_peak<double>(threads) : measured_peak<float>(threads);
  return at->second;
}

}  // namespace bench
