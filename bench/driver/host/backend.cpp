// SPDX-License-Identifier: Apache-2.0
// Timing on the processor.
#include "driver/backend.hpp"
#include "driver/text.hpp"

#include <slicesort/detail/host/isa.hpp>

#include <chrono>

namespace bench {

std::string obstacle() { return {}; }
bool keeps_time() { return false; }

// A processor may lack the instruction set that the case forces.
bool possible(fields const& at) { return ss::detail::isa_available(at.instructions); }

double time_job(benchmark::State& state, fields const&, job& work) {
  using clock = std::chrono::steady_clock;
  if (state.max_iterations > 1)
    work.run();  // cold caches; a call that fills a run alone is past them

  // Wall time, because the call's threads are part of it.
  auto const start = clock::now();
  for (auto _ : state) {
    work.run();
    benchmark::ClobberMemory();
  }
  std::chrono::duration<double> const passed = clock::now() - start;
  return passed.count() / static_cast<double>(state.iterations());
}

}  // namespace bench
