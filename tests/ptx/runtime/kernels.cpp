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
  std::mutex lock;
  std::list<translation_unit> units;
  std::unordered_map<void const*, registered_kernel> by_function;
};
kernel_registry& registry() {
  static kernel_registry& instance = *new kernel_registry;
  return instance;
}
using guard = std::lock_guard<std::mutex>;

}  // namespace

module* translation_unit::code() {
  if (searched_) return code_.get();
  searched_ = true;
  found_text text = text_for(current_settings().device.compute_capability, fat_binary_);
  if (text.error_message.empty())
    code_ = std::make_unique<module>(std::move(text.ptx));
  else
    report(text.error_message);
  return code_.get();
}

translation_unit* add_unit(void const* fat_binary) {
  guard const hold(registry().lock);
  return &registry().units.emplace_back(fat_binary);
}
void add_kernel(void const* host_function, translation_unit* unit, char const* name) {
  guard const hold(registry().lock);
  registry().by_function[host_function] = {unit, name};
}
void set_dynamic_shared_bytes(void const* host_function, std::size_t bytes) {
  guard const hold(registry().lock);
  auto const entry = registry().by_function.find(host_function);
  if (entry != registry().by_function.end()) entry->second.dynamic_shared_bytes = bytes;
}

found_kernel find_kernel(void const* host_function) {
  guard const hold(registry().lock);
  auto const entry = registry().by_function.find(host_function);
  if (entry == registry().by_function.end()) return {cudaErrorInvalidDeviceFunction};
  auto const& [unit, name, dynamic_shared_bytes] = entry->second;
  try {
    module* const code = unit->code();
    if (code == nullptr || !code->contains(name)) return {cudaErrorNoKernelImageForDevice};
    return {cudaSuccess, &code->get(name), code->target(), dynamic_shared_bytes};
  } catch (fault const& f) {
    report(f.what());
    if (current_settings().abort_at_fault) std::abort();
    return {cudaErrorInvalidPtx};
  }
}

}  // namespace ptx::runtime
