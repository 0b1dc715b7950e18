// SPDX-License-Identifier: Apache-2.0
// Simulates the first block or cluster of every launch and prints its performance counters.
// Usage: count KERNELS.ptx [CASE..]. Prints one line per case and three lines per launch: the
// configuration, the counters, and the number of warps that executed each PTX line.
#include "../machine/device_memory.hpp"
#include "cases.hpp"
#include "first_blocks.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace counting {
namespace {

// Never unmapped: untouched pages cost nothing.
void* map_zeros(std::size_t bytes, void*& address) {
  if (bytes == 0) return nullptr;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
  ptx::register_memory(memory, bytes);
  address = new_fake_address(memory);
  return memory;
}

void print(counted_launch const& launch, ptx::kernel const& kernel) {
  std::printf("launch\t%s\t%s\t%lld\t%lld\t%d\t%d\t%zu\n", launch.kernel.c_str(),
              launch.mangled.c_str(), static_cast<long long>(launch.blocks),
              static_cast<long long>(launch.counted_blocks), launch.threads, launch.cluster,
              launch.shared_bytes);
  auto const print_counter = [](char const* name, std::uint64_t value) {
    std::printf("\t%s %llu", name, static_cast<unsigned long long>(value));
  };
  ptx::counters const& counters = launch.counts;
  std::printf("counters");
  print_counter("instructions", counters.warp_instructions);
  print_counter("lanes", counters.thread_instructions);
  print_counter("divergent", counters.divergent_branches);
  print_counter("barriers", counters.barriers);
  print_counter("requests", counters.shared_requests);
  print_counter("wavefronts", counters.shared_wavefronts);
  print_counter("ideal", counters.shared_ideal_wavefronts);
  print_counter("accesses", counters.global_requests);
  print_counter("sectors", counters.global_sectors);
  print_counter("bytes", counters.global_bytes);
  print_counter("remote", counters.remote_sectors);
  std::printf("\nexecuted");
  for (std::size_t i = 0; i < counters.executed.size(); ++i)
    if (counters.executed[i] != 0)
      std::printf("\t%d %llu", kernel.code[i].line,
                  static_cast<unsigned long long>(counters.executed[i]));
  std::printf("\n");
}

int run(int argc, char** argv) {
  if (argc < 2) throw std::runtime_error("usage: count KERNELS.ptx [CASE..]");
  std::ifstream file(argv[1]);
  if (!file) throw std::runtime_error(std::string("cannot read ") + argv[1]);
  ptx::module kernels(std::string(std::istreambuf_iterator<char>(file), {}));
  launch_recorder recorder(kernels);
  cases<first_blocks_policy> const all_cases({&recorder}, {map_zeros});
  std::vector<std::string> names(argv + 2, argv + argc);
  if (names.empty())
    for (auto const& [name, call] : all_cases.by_name()) names.push_back(name);
  for (std::string const& name : names) {
    std::size_t const first_launch = recorder.launches().size();
    ss::index_t const elements = all_cases.by_name().at(name)();
    std::printf("case\t%s\t%lld\n", name.c_str(), static_cast<long long>(elements));
    for (std::size_t i = first_launch; i < recorder.launches().size(); ++i)
      print(recorder.launches()[i], kernels.get(recorder.launches()[i].mangled));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace counting

int main(int argc, char** argv) {
  try {
    return counting::run(argc, argv);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
