// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include "errors.hpp"
#include "fat_binary.hpp"
#include "settings.hpp"

#include <list>
#include <unordered_map>
#include <utility>

namespace ptx::runtime {

namespace {

// Never destroyed, since a stream may run a kernel when the program ends.
struct kernel_registry {
  std::mutex mutex;
  std::list<translation_unit> units;
  std::unordered_map<void const*, registered_kernel> by_function;
};
kernel_registry& registry() {
  static kernel_registry& instance = *new kernel_registry;
  return instance;
}
using guard = std::lock_guard<std::mutex>;

}  // namespace

module* translation_unit::load_module() {
  if (searched_) return module_.get();
  searched_ = true;
  ptx_search text = find_ptx(current_settings().device.compute_capability, fat_binary_);
  if (text.error_message.empty())
    module_ = std::make_unique<module>(std::move(text.ptx));
  else
    report(text.error_message);
  return module_.get();
}

translation_unit* add_unit(void const* fat_binary) {
  guard const lock(registry().mutex);
  return &registry().units.emplace_back(fat_binary);
}
void add_kernel(void const* host_function, translation_unit* unit, char const* name) {
  guard const lock(registry().mutex);
  registry().by_function[host_function] = {unit, name};
}
void set_dynamic_shared_bytes(void const* host_function, std::size_t bytes) {
  guard const lock(registry().mutex);
  auto const entry = registry().by_function.find(host_function);
  if (entry != registry().by_function.end()) entry->second.dynamic_shared_bytes = bytes;
}

found_kernel find_kernel(void const* host_function) {
  guard const lock(registry().mutex);
  auto const entry = registry().by_function.find(host_function);
  if (entry == registry().by_function.end()) return {cudaErrorInvalidDeviceFunction};
  auto const& [unit, name, dynamic_shared_bytes] = entry->second;
  try {
    module* const loaded = unit->load_module();
    if (loaded == nullptr || !loaded->contains(name)) return {cudaErrorNoKernelImageForDevice};
    return {cudaSuccess, &loaded->get(name), loaded->target(), dynamic_shared_bytes};
  } catch (fault const& f) {
    report(f.what());
    if (current_settings().abort_at_fault) std::abort();
    return {cudaErrorInvalidPtx};
  }
}

}  // namespace ptx::runtime
