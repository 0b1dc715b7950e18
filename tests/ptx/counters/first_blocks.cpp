// SPDX-License-Identifier: Apache-2.0
#include "first_blocks.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <regex>
#include <utility>

namespace counting {

namespace {

std::string demangle(char const* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (status != 0) return name;
  std::string const copy = text;
  std::free(text);
  return copy;
}
std::string remove_namespaces(std::string const& text) {
  static std::regex const namespaces("\\bslicesort::(\\w+::)*");
  return std::regex_replace(text, namespaces, "");
}

std::vector<void*>& allocations() {
  static std::vector<void*> memory;
  return memory;
}
constexpr int allocation_bits = 40;

}  // namespace

std::string short_name(char const* mangled) { return remove_namespaces(demangle(mangled)); }

void* new_fake_address(void* memory) {
  allocations().push_back(memory);
  return reinterpret_cast<void*>(std::uintptr_t{allocations().size()} << allocation_bits);
}
void* memory_at(void const* fake_address) {
  return allocations().at((reinterpret_cast<std::uintptr_t>(fake_address) >> allocation_bits) - 1);
}

launch_recorder::launch_recorder(ptx::module& module) : module_(module) {
  // Demangled names are like `void run_kernel<some_kernel<..> >(some_kernel<..>, long)`.
  for (std::string const& mangled : module.kernels()) {
    std::string const text = short_name(mangled.c_str()), prefix = "void run_kernel<";
    if (text.compare(0, prefix.size(), prefix) != 0) continue;
    std::string kernel = text.substr(prefix.size(), text.rfind(">(") - prefix.size());
    if (kernel.back() == ' ') kernel.pop_back();
    names_.emplace_back(kernel, mangled);
  }
}

void launch_recorder::run(char const* type, void const* kernel, std::size_t bytes,
                          counted_launch launch) {
  launch.kernel = short_name(type);
  for (auto const& [name, mangled] : names_)
    if (name == launch.kernel) launch.mangled = mangled;
  if (launch.mangled.empty()) throw std::runtime_error("no kernel runs " + launch.kernel);
  ptx::kernel const& code = module_.get(launch.mangled);

  ptx::launch config;
  config.grid.x = static_cast<unsigned>(launch.counted_blocks);
  config.block.x = static_cast<unsigned>(launch.threads);
  config.cluster = static_cast<unsigned>(launch.cluster);
  config.shared_bytes = launch.shared_bytes;
  config.options.count_memory = true;
  config.parameters.resize(code.parameter_bytes);
  // The parameters are the kernel struct and the index of the first block, 0.
  if (code.parameters.size() != 2 || code.parameters[0].bytes != bytes)
    throw std::runtime_error(launch.kernel + " was not compiled from the same sources as the PTX");
  std::memcpy(config.parameters.data() + code.parameters[0].offset, kernel, bytes);
  std::string const error = error_message(code, config, ptx::sm_90, ptx::sm_90.shared_opt_in);
  if (!error.empty()) throw std::runtime_error(launch.kernel + ": " + error);
  launch.counts = ptx::run(code, config);
  launches_.push_back(std::move(launch));
}

}  // namespace counting
