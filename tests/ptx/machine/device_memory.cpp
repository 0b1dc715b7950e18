// SPDX-License-Identifier: Apache-2.0
#include "device_memory.hpp"

#include <algorithm>
#include <mutex>

namespace ptx {

namespace {

using allocation_list = std::vector<allocation>;

// The list is replaced, never modified, so that launches read their snapshot without a lock.
std::mutex list_mutex;
std::shared_ptr<allocation_list const>& current_list() {
  static auto& allocations = *new std::shared_ptr<allocation_list const>(
      std::make_shared<allocation_list>());  // never destroyed
  return allocations;
}
allocation_list::const_iterator find_first_after(allocation_list const& allocations,
                                                 std::uint64_t address) {
  return std::upper_bound(allocations.begin(), allocations.end(), address,
                          [](std::uint64_t a, allocation const& b) { return a < b.begin; });
}

}  // namespace

void register_memory(void const* data, std::size_t bytes) {
  std::lock_guard<std::mutex> const lock(list_mutex);
  auto allocations = std::make_shared<allocation_list>(*current_list());
  auto const begin = reinterpret_cast<std::uint64_t>(data);
  allocations->insert(find_first_after(*allocations, begin), {begin, bytes});
  current_list() = std::move(allocations);
}

bool unregister_memory(void const* data) {
  std::lock_guard<std::mutex> const lock(list_mutex);
  auto allocations = std::make_shared<allocation_list>(*current_list());
  auto const begin = reinterpret_cast<std::uint64_t>(data);
  auto const found = std::find_if(allocations->begin(), allocations->end(),
                                  [begin](allocation const& a) { return a.begin == begin; });
  if (found == allocations->end()) return false;
  allocations->erase(found);
  current_list() = std::move(allocations);
  return true;
}

bool is_device_memory(std::uint64_t address, std::size_t bytes) {
  return memory_map().find(address).contains(address, bytes);
}

memory_map::memory_map() {
  std::lock_guard<std::mutex> const lock(list_mutex);
  allocations_ = current_list();
}

allocation memory_map::find(std::uint64_t address) const {
  auto const after = find_first_after(*allocations_, address);
  if (after == allocations_->begin()) return {};
  allocation const found = *std::prev(after);
  return address - found.begin < found.bytes ? found : allocation{};
}

}  // namespace ptx
