// SPDX-License-Identifier: Apache-2.0
// Times calls on a GPU, by events around every call. Flushes the L2 cache before each.
#include "driver/backend.hpp"

#include "device.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace bench {
namespace {

// Returns the seconds of one call with a cold L2 cache.
template <class F>
double time_once(F const& run) {
  static event const start, stop;
  flush_l2();
  start.record();
  run();
  stop.record();
  return stop.seconds_since(start);
}

// Synchronizes the stream and returns the free bytes of device memory.
std::size_t free_device_bytes() {
  enforce(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  std::size_t free = 0, total = 0;
  enforce(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

// Returns the case itself, or forward and backward of a training case.
std::vector<bench_case const*> passes_of(bench_case const& c) {
  if (c.passes.empty()) return {&c};
  std::vector<bench_case const*> passes;
  for (auto const& pass : c.passes) passes.push_back(pass.get());
  return passes;
}

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Counts the kernels that a call launches, by capturing it in a graph.
int count_kernels(job& work) {
  enforce(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "begin of capture");
  std::optional<std::string> failure;
  try {
    work.run();
  } catch (std::exception const& e) {
    failure = e.what();
  }
  cudaGraph_t graph = nullptr;
  cudaError_t const status = cudaStreamEndCapture(stream(), &graph);
  if (failure) throw std::runtime_error("while capturing: " + *failure);
  enforce(status, "end of capture");
  std::size_t node_count = 0;
  enforce(cudaGraphGetNodes(graph, nullptr, &node_count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(node_count);
  if (node_count != 0)
    enforce(cudaGraphGetNodes(graph, nodes.data(), &node_count), "cudaGraphGetNodes");
  auto const kernels = std::count_if(nodes.begin(), nodes.end(), [](cudaGraphNode_t node) {
    cudaGraphNodeType type{};
    enforce(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    return type == cudaGraphNodeTypeKernel;
  });
  enforce(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return static_cast<int>(kernels);
}

}  // namespace

std::string missing_requirement() {
  int devices = 0;
  cudaError_t const status = cudaGetDeviceCount(&devices);
  (void)cudaGetLastError();
  if (status == cudaSuccess && devices > 0) return {};
  return std::string("no CUDA device (") + cudaGetErrorString(status) + ")";
}

bool supports(case_params const&) { return true; }
bool uses_manual_time() { return true; }

double time_job(benchmark::State& state, case_params const& params, job& work) {
  auto const run = [&] { work.run(); };
  for (int warm_up = 0; warm_up < 3; ++warm_up) time_once(run);
  std::vector<double> times;
  for (auto _ : state) {
    times.push_back(time_once(run));
    state.SetIterationTime(times.back());
  }
  // Some baselines cannot be captured.
  if (params.subject.rfind("baseline", 0) != 0) state.counters["kernels"] = count_kernels(work);
  return median(std::move(times));
}

cold_run measure_cold_run(bench_case const& c) {
  cold_run total;
  for (bench_case const* const pass : passes_of(c)) {
    try {
      // Runs the call once, because the driver allocates memory at a kernel's first launch.
      pass->make(pass->params)->run();
      std::size_t const before = free_device_bytes();
      std::unique_ptr<job> const work = pass->make(pass->params);
      total.seconds += time_once([&] { work->run(); });
      std::size_t const after = free_device_bytes();
      if (after < before) total.peak_bytes = std::max(total.peak_bytes.value_or(0), before - after);
      double const error = work->max_error();
      if (!(error <= work->tolerance))
        total.failure = "differs from the oracle by " + std::to_string(error);
      total.error = std::max(total.error, error);
    } catch (std::bad_alloc const&) {
      total.failure = "out of memory";
    } catch (std::exception const& e) {
      total.failure = e.what();
    }
    if (!total.failure.empty()) break;
  }
  return total;
}

double time_calls(job& work, unsigned calls) {
  std::vector<double> times;
  for (unsigned i = 0; i < calls; ++i) times.push_back(time_once([&] { work.run(); }));
  return median(std::move(times));
}

void limit_memory() {}

double copy_bandwidth(unsigned) {
  static double const bandwidth = [] {
    constexpr std::size_t bytes = std::size_t{1} << 30;
    device_buffer<unsigned char> const from(bytes), to(bytes);
    auto const copy = [&] {
      enforce(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream()),
              "cudaMemcpy");
    };
    std::vector<double> times;
    for (int repeat = 0; repeat < 20; ++repeat) times.push_back(time_once(copy));
    return 2.0 * static_cast<double>(bytes) / median(times);
  }();
  return bandwidth;
}

void prepare_process(char**) {}

void describe_machine() {
  cudaDeviceProp properties{};
  int device = 0, driver_version = 0;
  enforce(cudaGetDevice(&device), "cudaGetDevice");
  enforce(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  enforce(cudaDriverGetVersion(&driver_version), "cudaDriverGetVersion");
  auto const format_version = [](int version) {
    return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
  };
  benchmark::AddCustomContext("gpu", properties.name);
  benchmark::AddCustomContext("architecture",
                              "sm_" + std::to_string(10 * properties.major + properties.minor));
  benchmark::AddCustomContext("processors", std::to_string(properties.multiProcessorCount));
#if SLICESORT_BENCH_CUBLAS
  benchmark::AddCustomContext("blas", "cuBLAS");
#else
  benchmark::AddCustomContext("blas", "plain loops");
#endif
  benchmark::AddCustomContext(
      "cuda", format_version(CUDART_VERSION) + ", driver " + format_version(driver_version));
}

}  // namespace bench
