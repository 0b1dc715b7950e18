// SPDX-License-Identifier: Apache-2.0
#include "first_blocks.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <regex>
#include <utility>

namespace counting {

namespace {

std::string demangled(char const* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (status != 0) return name;
  std::string const copy = text;
  std::free(text);
  return copy;
}
std::string without_namespaces(std::string const& text) {
  static std::regex const namespaces("\\bslicesort::(\\w+::)*");
  return std::regex_replace(text, namespaces, "");
}

std::vector<void*>& places() {
  static std::vector<void*> memory;
  return memory;
}
constexpr int place_bits = 40;

}  // namespace

std::string short_name(char const* mangled) { return without_namespaces(demangled(mangled)); }

void* new_place(void* memory) {
  places().push_back(memory);
  return reinterpret_cast<void*>(std::uintptr_t{places().size()} << place_bits);
}
void* memory_at(void const* place) {
  return places().at((reinterpret_cast<std::uintptr_t>(place) >> place_bits) - 1);
}

recorder::recorder(ptx::module& kernels) : kernels_(kernels) {
  // void run_kernel<some_kernel<..> >(some_kernel<..>, long)
  for (std::string const& kernel : kernels.kernels()) {
    std::string const text = short_name(kernel.c_str()), before = "void run_kernel<";
    if (text.compare(0, before.size(), before) != 0) continue;
    std::string kernel = text.substr(before.size(), text.rfind(">(") - before.size());
    if (kernel.back() == ' ') kernel.pop_back();
    kernels_.emplace_back(kernel, kernel);
  }
}

void recorder::run(char const* name, void const* kernel, std::size_t bytes, counted_launch launch) {
  launch.kernel = short_name(name);
  for (auto const& [of, kernel] : kernels_)
    if (of == launch.kernel) launch.kernel = kernel;
  if (launch.kernel.empty()) throw std::runtime_error("no kernel runs " + launch.kernel);
  ptx::kernel const& kernel = kernels_.get(launch.kernel);

  ptx::launch how;
  how.grid.x = static_cast<unsigned>(launch.counted);
  how.block.x = static_cast<unsigned>(launch.threads);
  how.cluster = static_cast<unsigned>(launch.cluster);
  how.shared_bytes = launch.shared;
  how.watched.count_memory = true;
  how.parameters.resize(kernel.parameter_bytes);
  // The kernel, and the number of the first block, which is 0.
  if (kernel.parameters.size() != 2 || kernel.parameters[0].bytes != bytes)
    throw std::runtime_error(launch.kernel + " is of other sources than the PTX");
  std::memcpy(how.parameters.data() + kernel.parameters[0].offset, kernel, bytes);
  std::string const refused = refusal(kernel, how, ptx::sm_90, ptx::sm_90.shared_opt_in);
  if (!refused.empty()) throw std::runtime_error(launch.kernel + ": " + refused);
  launch.counts = ptx::run(kernel, how);
  launches_.push_back(std::move(launch));
}

}  // namespace counting
