// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include "../machine/device_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>

namespace ptx::runtime {

namespace {

struct allocation {
  std::size_t bytes;
  memory_kind kind;
};

constexpr std::size_t alignment = 512;  // alignment of cudaMalloc
constexpr unsigned char garbage_tensor = 0xdb;
constexpr std::size_t max_freed_bytes = std::size_t{256} << 20;

// Never destroyed, since programs may free memory when they end.
struct allocations {
  std::mutex mutex;
  std::map<unsigned char const*, allocation> blocks;
  std::deque<unsigned char const*> freed;  // oldest first
  std::size_t used_bytes = 0, freed_bytes = 0;

  void release_oldest() {
    auto const oldest = blocks.find(freed.front());
    freed_bytes -= oldest->second.bytes;
    std::free(const_cast<unsigned char*>(oldest->first));
    blocks.erase(oldest);
    freed.pop_front();
  }
};
allocations& registry() {
  static allocations& instance = *new allocations;
  return instance;
}
using guard = std::lock_guard<std::mutex>;

}  // namespace

std::size_t free_device_bytes() {
  guard const lock(registry().mutex);
  return device_bytes - registry().used_bytes;
}

void* allocate(std::size_t bytes, memory_kind kind) {
  guard const lock(registry().mutex);
  if (bytes > device_bytes - registry().used_bytes) return nullptr;
  void* const data = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  if (data == nullptr) return nullptr;
  if (kind == memory_kind::device) {
    std::memset(data, garbage_tensor, bytes);
    registry().used_bytes += bytes;
  }
  registry().blocks[static_cast<unsigned char const*>(data)] = {bytes, kind};
  register_memory(data, bytes);
  return data;
}

bool release(void* data, memory_kind kind) {
  guard const lock(registry().mutex);
  auto const found = registry().blocks.find(static_cast<unsigned char const*>(data));
  if (found == registry().blocks.end() || found->second.kind != kind) return false;
  unregister_memory(data);
  if (kind == memory_kind::device) registry().used_bytes -= found->second.bytes;
  found->second.kind = memory_kind::freed;
  registry().freed.push_back(found->first);
  registry().freed_bytes += found->second.bytes;
  while (registry().freed_bytes > max_freed_bytes) registry().release_oldest();
  return true;
}

memory_kind kind_of(void const* data, std::size_t bytes) {
  guard const lock(registry().mutex);
  auto const* const first = static_cast<unsigned char const*>(data);
  auto const next = registry().blocks.upper_bound(first);
  if (next != registry().blocks.begin()) {
    auto const& [begin, block] = *std::prev(next);
    if (first < begin + block.bytes)
      return first + bytes <= begin + block.bytes ? block.kind : memory_kind::straddling;
  }
  bool const overlaps_next = next != registry().blocks.end() && first + bytes > next->first;
  return overlaps_next ? memory_kind::straddling : memory_kind::pageable;
}

}  // namespace ptx::runtime
