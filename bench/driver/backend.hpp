// SPDX-License-Identifier: Apache-2.0
// The functions that differ between the two bench programs: driver/host times calls on the
// processor, driver/cuda on a GPU.
#pragma once

#include "case.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <optional>
#include <string>

namespace bench {

// Called first, with main's arguments. May replace the process by one with another environment.
void prepare_process(char** argv);

// Why nothing can be measured on this machine; empty if it can.
std::string obstacle();

// Whether this machine can run the case.
bool possible(fields const& at);

// Whether `time_job` tells Google Benchmark the time of each iteration.
bool keeps_time();

// Runs the job as often as `state` wants and returns the seconds of one call. It may add counters.
double time_job(benchmark::State& state, fields const& at, job& work);

// One call of a case from scratch, before the arena times it.
struct trial {
  double seconds = 0.0;                   // of the one, cold call
  double error = 0.0;                     // against the oracle
  std::optional<std::size_t> peak_bytes;  // data and call together, measured; absent where the
                                          // system does not tell
  std::string complaint;                  // why the case cannot take part; empty if it can
};
trial try_once(bench_case const& c);

// Seconds of one call, from `calls` calls one after the other.
double time_calls(job& work, unsigned calls);

// Called before the arena begins: makes allocations beyond the machine's memory fail, so that they
// do not end the process.
void bound_memory();

// Additions and multiplications per second of values of `dtype` that are in registers already,
// measured once per process: the ceiling of any operator that computes. On a GPU that is what its
// matrix units do where operators can use them.
double arithmetic_peak(std::string const& dtype, unsigned threads);

// Bytes read plus bytes written per second by a plain copy, on `threads` threads where that means
// something, in buffers far beyond any cache: the ceiling of any operator that only moves data.
// Measured once per process and number of threads.
double copy_bandwidth(unsigned threads);

// Puts what a measurement depends on into the JSON's context.
void describe_machine();

}  // namespace bench
