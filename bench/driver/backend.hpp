// SPDX-License-Identifier: Apache-2.0
// Functions that the two bench programs implement differently: driver/host times calls on the CPU,
// driver/cuda on a GPU.
#pragma once

#include "case.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <optional>
#include <string>

namespace bench {

// Called first, with main's arguments. May restart the process with another environment.
void prepare_process(char** argv);

// The reason why this machine cannot measure anything; empty if it can.
std::string missing_requirement();

// True if this machine can run the case.
bool supports(case_params const& params);

// True if `time_job` reports the time of each iteration to Google Benchmark.
bool uses_manual_time();

// Runs the job for `state` and returns the seconds of one call. May add counters.
double time_job(benchmark::State& state, case_params const& params, job& work);

// Result of one call of a case with cold caches, before the warm measurement.
struct cold_run {
  double seconds = 0.0;
  double error = 0.0;                     // against the oracle
  std::optional<std::size_t> peak_bytes;  // data and call together; absent if not measurable
  std::string failure;                    // empty if the case can be timed
};
cold_run measure_cold_run(bench_case const& c);

// Seconds per call, from `calls` consecutive calls.
double time_calls(job& work, unsigned calls);

// Limits the address space, so that allocations larger than the machine's memory throw
// std::bad_alloc.
void limit_memory();

// Measured peak in additions and multiplications per second of `dtype`, on values in registers. On
// a GPU, 16-bit types use the tensor cores. Cached.
double arithmetic_peak(std::string const& dtype, unsigned threads);

// Measured bandwidth of a plain copy beyond the caches, in bytes read plus bytes written per
// second. Cached per number of threads.
double copy_bandwidth(unsigned threads);

// Adds processor, compiler and BLAS to the context of the JSON.
void describe_machine();

}  // namespace bench
