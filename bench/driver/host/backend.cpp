// SPDX-License-Identifier: Apache-2.0
// Timing on the processor; and a call in a process of its own, to measure its peak memory: the
// high-water mark of the resident set (VmHWM), reset once the data is there, minus the resident set
// before.
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

// A line such as "VmHWM:   1234 kB".
std::optional<std::size_t> bytes_of(char const* file, std::string const& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(key + ':', 0) == 0) {
      std::istringstream rest(line.substr(key.size() + 1));
      std::size_t kilobytes = 0;
      if (rest >> kilobytes) return kilobytes * 1024;
    }
  return std::nullopt;
}
std::optional<std::size_t> own_bytes(char const* key) { return bytes_of("/proc/self/status", key); }

// Sets the high-water mark to what is resident now.
bool reset_high_water() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

// In the child: one call and its comparison.
trial run_once(bench_case const& c) {
  trial t;
  try {
    auto const before = own_bytes("VmRSS");
    std::unique_ptr<job> const work = c.make(c.at);
    bool const known = reset_high_water();
    stopwatch const watch;
    work->run();
    t.seconds = watch.seconds();
    auto const peak = own_bytes("VmHWM");
    if (known && before && peak && *peak > *before) t.peak_bytes = *peak - *before;
    t.error = work->max_error();
    if (!(t.error <= work->tolerance))
      t.complaint = "differs from the oracle by " + std::to_string(t.error);
  } catch (std::bad_alloc const&) {
    t.complaint = "out of memory";
  } catch (std::exception const& e) {
    t.complaint = e.what();
  }
  return t;
}

void write_all(int file, std::string const& text) {
  for (std::size_t done = 0; done < text.size();) {
    ssize_t const n = write(file, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

std::string read_all(int file) {
  std::string text;
  char part[512];
  for (ssize_t n = 0; (n = read(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  return text;
}

trial in_a_child(bench_case const& c) {
  trial t;
  int ends[2];
  std::fflush(nullptr);
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  pid_t const child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    close(ends[0]);
#if defined(__GLIBC__)
    // Makes large blocks come from the system and return to it.
    mallopt(M_MMAP_THRESHOLD, 1 << 17);
#endif
    trial const mine = run_once(c);
    char numbers[120];
    std::snprintf(numbers, sizeof numbers, "%.17g %.17g %lld ", mine.seconds, mine.error,
                  mine.peak_bytes ? static_cast<long long>(*mine.peak_bytes) : -1LL);
    write_all(ends[1], numbers + mine.complaint + '\n');
    _exit(0);
  }
  close(ends[1]);
  std::string const told = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) || told.empty()) {
    bool const killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    t.complaint = killed ? "out of memory" : "the call ended its process";
    return t;
  }
  std::istringstream in(told);
  std::string seconds, error, peak;  // as words: a stream does not read "inf"
  in >> seconds >> error >> peak;
  t.seconds = std::stod(seconds);
  t.error = std::stod(error);
  if (peak != "-1") t.peak_bytes = std::stoull(peak);
  std::getline(in >> std::ws, t.complaint);
  return t;
}

}  // namespace

std::string obstacle() { return {}; }
bool keeps_time() { return false; }

// A processor may lack the instruction set that the case forces.
bool possible(fields const& at) { return ss::detail::isa_available(at.instructions); }

double time_job(benchmark::State& state, fields const&, job& work) {
  if (state.max_iterations > 1)
    work.run();  // cold caches; a call that fills a run alone is past them

  // Wall time, because the call's threads are part of it.
  stopwatch const watch;
  for (auto _ : state) {
    work.run();
    benchmark::ClobberMemory();
  }
  return watch.seconds() / static_cast<double>(state.iterations());
}

trial try_once(bench_case const& c) {
  if (c.parts.empty()) return in_a_child(c);
  trial all;
  for (auto const& part : c.parts) {
    trial const t = in_a_child(*part);
    all.seconds += t.seconds;
    all.error = std::max(all.error, t.error);
    if (t.peak_bytes) all.peak_bytes = std::max(all.peak_bytes.value_or(0), *t.peak_bytes);
    if (!t.complaint.empty()) {
      all.complaint = t.complaint;
      break;
    }
  }
  return all;
}

double time_calls(job& work, unsigned calls) {
  stopwatch const watch;
  for (unsigned i = 0; i < calls; ++i) {
    work.run();
    benchmark::ClobberMemory();
  }
  return watch.seconds() / calls;
}

void bound_memory() {
  auto const free = bytes_of("/proc/meminfo", "MemAvailable");
  auto const used = own_bytes("VmSize");
  if (!free || !used) return;
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = *used + *free / 20 * 19;
  setrlimit(RLIMIT_AS, &limit);
}

}  // namespace bench
