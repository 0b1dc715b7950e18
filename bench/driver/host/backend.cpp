// SPDX-License-Identifier: Apache-2.0
// Times calls on the CPU. Makes cold calls in a child process, which measures peak memory: the
// high-water mark of the resident set (VmHWM), reset before the call, minus the resident set before
// the data was made.
#include "driver/backend.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <slicesort/detail/host/isa.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#if defined(__GLIBC__)
#  include <malloc.h>
#endif

namespace bench {
namespace {

class stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point const start_ = std::chrono::steady_clock::now();
};

// Reads the bytes of a line such as "VmHWM:   1234 kB".
std::optional<std::size_t> read_bytes(char const* file, std::string const& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(key + ':', 0) == 0) {
      std::istringstream value(line.substr(key.size() + 1));
      std::size_t kilobytes = 0;
      if (value >> kilobytes) return kilobytes * 1024;
    }
  return std::nullopt;
}
std::optional<std::size_t> read_process_bytes(char const* key) {
  return read_bytes("/proc/self/status", key);
}

// Resets the high-water mark to the resident set.
bool reset_high_water() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

// Runs a case once and compares its result with the oracle. Called in the child.
cold_run run_once(bench_case const& c) {
  cold_run result;
  try {
    auto const before = read_process_bytes("VmRSS");
    std::unique_ptr<job> const work = c.make(c.params);
    bool const has_reset = reset_high_water();
    stopwatch const watch;
    work->run();
    result.seconds = watch.seconds();
    auto const peak = read_process_bytes("VmHWM");
    if (has_reset && before && peak && *peak > *before) result.peak_bytes = *peak - *before;
    result.error = work->max_error();
    if (!(result.error <= work->tolerance))
      result.failure = "differs from the oracle by " + std::to_string(result.error);
  } catch (std::bad_alloc const&) {
    result.failure = "out of memory";
  } catch (std::exception const& e) {
    result.failure = e.what();
  }
  return result;
}

void write_all(int file, std::string const& text) {
  for (std::size_t written = 0; written < text.size();) {
    ssize_t const n = write(file, text.data() + written, text.size() - written);
    if (n <= 0) return;
    written += static_cast<std::size_t>(n);
  }
}

std::string read_all(int file) {
  std::string text;
  char chunk[512];
  for (ssize_t n = 0; (n = read(file, chunk, sizeof chunk)) > 0;)
    text.append(chunk, static_cast<std::size_t>(n));
  return text;
}

cold_run run_in_child(bench_case const& c) {
  cold_run result;
  int pipe_ends[2];
  std::fflush(nullptr);
  if (pipe(pipe_ends) != 0) throw std::runtime_error("no pipe");
  pid_t const child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    close(pipe_ends[0]);
#if defined(__GLIBC__)
    // Allocates large blocks by mmap, so that the resident set shrinks when they are freed.
    mallopt(M_MMAP_THRESHOLD, 1 << 17);
#endif
    cold_run const run = run_once(c);
    char figures[120];
    std::snprintf(figures, sizeof figures, "%.17g %.17g %lld ", run.seconds, run.error,
                  run.peak_bytes ? static_cast<long long>(*run.peak_bytes) : -1LL);
    write_all(pipe_ends[1], figures + run.failure + '\n');
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string const message = read_all(pipe_ends[0]);
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) || message.empty()) {
    bool const is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    result.failure = is_killed ? "out of memory" : "the call ended its process";
    return result;
  }
  std::istringstream stream(message);
  std::string seconds, error, peak;  // strings, because a stream does not parse "inf"
  stream >> seconds >> error >> peak;
  result.seconds = std::stod(seconds);
  result.error = std::stod(error);
  if (peak != "-1") result.peak_bytes = std::stoull(peak);
  std::getline(stream >> std::ws, result.failure);
  return result;
}

}  // namespace

std::string missing_requirement() { return {}; }
bool uses_manual_time() { return false; }

// False if the CPU lacks the instruction set that the case forces.
bool supports(case_params const& params) { return ss::detail::is_isa_available(params.isa); }

double time_job(benchmark::State& state, case_params const&, job& work) {
  if (state.max_iterations > 1) work.run();  // warm-up; a long call needs none

  stopwatch const watch;  // wall time includes the threads of the call
  for (auto _ : state) {
    work.run();
    benchmark::ClobberMemory();
  }
  return watch.seconds() / static_cast<double>(state.iterations());
}

cold_run measure_cold_run(bench_case const& c) {
  if (c.passes.empty()) return run_in_child(c);
  cold_run total;
  for (auto const& pass : c.passes) {
    cold_run const run = run_in_child(*pass);
    total.seconds += run.seconds;
    total.error = std::max(total.error, run.error);
    if (run.peak_bytes) total.peak_bytes = std::max(total.peak_bytes.value_or(0), *run.peak_bytes);
    if (!run.failure.empty()) {
      total.failure = run.failure;
      break;
    }
  }
  return total;
}

double time_calls(job& work, unsigned calls) {
  stopwatch const watch;
  for (unsigned i = 0; i < calls; ++i) {
    work.run();
    benchmark::ClobberMemory();
  }
  return watch.seconds() / calls;
}

void limit_memory() {
  auto const free_bytes = read_bytes("/proc/meminfo", "MemAvailable");
  auto const used_bytes = read_process_bytes("VmSize");
  if (!free_bytes || !used_bytes) return;
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = *used_bytes + *free_bytes / 20 * 19;
  setrlimit(RLIMIT_AS, &limit);
}

}  // namespace bench
