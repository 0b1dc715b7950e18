// SPDX-License-Identifier: Apache-2.0
#include "device_memory.hpp"

#include <algorithm>
#include <mutex>

namespace ptx {

namespace {

using list = std::vector<allocation>;

// A list is never changed, but replaced, so that launches read theirs without a lock.
std::mutex changing;
std::shared_ptr<list const>& current() {
  static auto& all = *new std::shared_ptr<list const>(std::make_shared<list>());  // outlives all
  return all;
}
list::const_iterator behind(list const& all, std::uint64_t address) {
  return std::upper_bound(all.begin(), all.end(), address,
                          [](std::uint64_t a, allocation const& b) { return a < b.begin; });
}

}  // namespace

void register_memory(void const* data, std::size_t bytes) {
  std::lock_guard<std::mutex> const lock(changing);
  auto all = std::make_shared<list>(*current());
  auto const begin = reinterpret_cast<std::uint64_t>(data);
  all->insert(behind(*all, begin), {begin, bytes});
  current() = std::move(all);
}

bool forget_memory(void const* data) {
  std::lock_guard<std::mutex> const lock(changing);
  auto all = std::make_shared<list>(*current());
  auto const begin = reinterpret_cast<std::uint64_t>(data);
  auto const found = std::find_if(all->begin(), all->end(),
                                  [begin](allocation const& a) { return a.begin == begin; });
  if (found == all->end()) return false;
  all->erase(found);
  current() = std::move(all);
  return true;
}

bool is_device_memory(std::uint64_t address, std::size_t bytes) {
  return memory_map().find(address).holds(address, bytes);
}

memory_map::memory_map() {
  std::lock_guard<std::mutex> const lock(changing);
  all_ = current();
}

allocation memory_map::find(std::uint64_t address) const {
  auto const after = behind(*all_, address);
  if (after == all_->begin()) return {};
  allocation const found = *std::prev(after);
  return address - found.begin < found.bytes ? found : allocation{};
}

}  // namespace ptx
