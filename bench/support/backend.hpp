// SPDX-License-Identifier: Apache-2.0
// What the two bench programs do differently: host_backend.cpp times calls on the processor,
// cuda/backend.cpp on a GPU.
#pragma once

#include "case.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace bench {

// Why nothing can be measured on this machine; empty if it can.
std::string obstacle();

// Whether this machine can run the case.
bool possible(fields const& at);

// Whether `time_job` tells Google Benchmark the time of each iteration.
bool keeps_time();

// Runs the job as often as `state` wants and returns the seconds of one call. It may add counters.
double time_job(benchmark::State& state, fields const& at, job& work);

// Bytes read plus bytes written per second by a plain copy, on `threads` threads where that means
// something, in buffers far beyond any cache: the ceiling of any operator that only moves data.
// Measured once per process and number of threads.
double copy_bandwidth(unsigned threads);

// Puts what a measurement depends on into the JSON's context.
void describe_machine();

}  // namespace bench
