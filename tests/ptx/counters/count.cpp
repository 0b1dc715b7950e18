// SPDX-License-Identifier: Apache-2.0
// Counts the work of the first block of every launch. Usage: count KERNELS.ptx [CASE..].
// Prints one line for each case and three lines for each of its launches: the configuration, the
// counters, and the number of warps that executed each line of the kernel's text.
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
  if (memory == MAP_FAILED) throw std::runtime_error("mmap refuses");
  ptx::register_memory(memory, bytes);
  address = new_fake_address(memory);
  return memory;
}

void print(counted_launch const& l, ptx::kernel const& kernel) {
  std::printf("launch\t%s\t%s\t%lld\t%lld\t%d\t%d\t%zu\n", l.kernel.c_str(), l.mangled.c_str(),
              static_cast<long long>(l.blocks), static_cast<long long>(l.counted_blocks), l.threads,
              l.cluster, l.shared_bytes);
  auto const number = [](char const* name, std::uint64_t value) {
    std::printf("\t%s %llu", name, static_cast<unsigned long long>(value));
  };
  ptx::counters const& c = l.counts;
  std::printf("counters");
  number("instructions", c.warp_instructions);
  number("lanes", c.thread_instructions);
  number("divergent", c.divergent_branches);
  number("barriers", c.barriers);
  number("requests", c.shared_requests);
  number("wavefronts", c.shared_wavefronts);
  number("ideal", c.shared_ideal_wavefronts);
  number("accesses", c.global_requests);
  number("sectors", c.global_sectors);
  number("bytes", c.global_bytes);
  number("remote", c.remote_sectors);
  std::printf("\nexecuted");
  for (std::size_t i = 0; i < c.executed.size(); ++i)
    if (c.executed[i] != 0)
      std::printf("\t%d %llu", kernel.code[i].line, static_cast<unsigned long long>(c.executed[i]));
  std::printf("\n");
}

int run(int argc, char** argv) {
  if (argc < 2) throw std::runtime_error("usage: count KERNELS.ptx [CASE..]");
  std::ifstream file(argv[1]);
  if (!file) throw std::runtime_error(std::string("cannot read ") + argv[1]);
  ptx::module kernels(std::string(std::istreambuf_iterator<char>(file), {}));
  recorder record(kernels);
  cases<first_blocks> const all_cases({&record}, {map_zeros});
  std::vector<std::string> names(argv + 2, argv + argc);
  if (names.empty())
    for (auto const& [name, call] : all_cases.by_name()) names.push_back(name);
  for (std::string const& name : names) {
    std::size_t const before = record.launches().size();
    ss::index_t const elements = all_cases.by_name().at(name)();
    std::printf("case\t%s\t%lld\n", name.c_str(), static_cast<long long>(elements));
    for (std::size_t i = before; i < record.launches().size(); ++i)
      print(record.launches()[i], kernels.get(record.launches()[i].mangled));
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
