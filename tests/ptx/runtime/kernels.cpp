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

// Never destroyed: a stream may still run a kernel when the program ends.
struct all_kernels {
  std::mutex lock;
  std::list<translation_unit> units;
  std::unordered_map<void const*, registered_kernel> by_function;
};
all_kernels& all() {
  static all_kernels& there = *new all_kernels;
  return there;
}
using guard = std::lock_guard<std::mutex>;

}  // namespace

module* translation_unit::code() {
  if (looked_) return code_.get();
  looked_ = true;
  found_text text = text_for(asked().device.compute_capability, fat_binary_);
  if (text.refusal.empty())
    code_ = std::make_unique<module>(std::move(text.ptx));
  else
    say(text.refusal);
  return code_.get();
}

translation_unit* add_unit(void const* fat_binary) {
  guard const hold(all().lock);
  return &all().units.emplace_back(fat_binary);
}
void add_kernel(void const* host_function, translation_unit* unit, char const* name) {
  guard const hold(all().lock);
  all().by_function[host_function] = {unit, name};
}
void set_dynamic_shared_bytes(void const* host_function, std::size_t bytes) {
  guard const hold(all().lock);
  auto const found = all().by_function.find(host_function);
  if (found != all().by_function.end()) found->second.dynamic_shared_bytes = bytes;
}

found_kernel find_kernel(void const* host_function) {
  guard const hold(all().lock);
  auto const found = all().by_function.find(host_function);
  if (found == all().by_function.end()) return {cudaErrorInvalidDeviceFunction};
  auto const& [unit, name, dynamic_shared_bytes] = found->second;
  try {
    module* const code = unit->code();
    if (code == nullptr || !code->has(name)) return {cudaErrorNoKernelImageForDevice};
    return {cudaSuccess, &code->get(name), code->target(), dynamic_shared_bytes};
  } catch (fault const& f) {
    say(f.what());
    if (asked().abort_at_fault) std::abort();
    return {cudaErrorInvalidPtx};
  }
}

}  // namespace ptx::runtime
