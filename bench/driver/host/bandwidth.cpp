// SPDX-License-Identifier: Apache-2.0
// The rate at which memcpy copies on this machine.
#include "driver/backend.hpp"
#include "driver/buffer.hpp"

#include <slicesort/exec.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>

namespace bench {

double copy_bandwidth(unsigned threads) {
  static std::map<unsigned, double> known;
  auto const [at, fresh] = known.try_emplace(threads, 0.0);
  if (!fresh) return at->second;
  constexpr std::size_t bytes = std::size_t{256} << 20;
  buffer<char> const from(bytes), to(bytes);
  slicesort::exec::host const on{threads};
  std::size_t const part = bytes / threads;
  for (int repeat = 0; repeat < 7; ++repeat) {
    auto const start = std::chrono::steady_clock::now();
    on.parallel_for(threads, [&](unsigned slot) {
      std::memcpy(to.data() + slot * part, from.data() + slot * part, part);
    });
    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
    at->second = std::max(at->second, 2.0 * static_cast<double>(part * threads) / seconds.count());
  }
  return at->second;
}

}  // namespace bench
