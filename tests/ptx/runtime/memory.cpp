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

constexpr std::size_t alignment = 512;  // as cudaMalloc's
constexpr unsigned char garbage = 0xdb;
constexpr std::size_t most_freed_bytes = std::size_t{256} << 20;

// Never destroyed: programs free memory when they end.
struct all_memory {
  std::mutex lock;
  std::map<unsigned char const*, allocation> blocks;
  std::deque<unsigned char const*> freed;  // the oldest first
  std::size_t used_bytes = 0, freed_bytes = 0;

  void forget_oldest() {
    auto const oldest = blocks.find(freed.front());
    freed_bytes -= oldest->second.bytes;
    std::free(const_cast<unsigned char*>(oldest->first));
    blocks.erase(oldest);
    freed.pop_front();
  }
};
all_memory& all() {
  static all_memory& there = *new all_memory;
  return there;
}
using guard = std::lock_guard<std::mutex>;

}  // namespace

std::size_t free_device_bytes() {
  guard const hold(all().lock);
  return device_bytes - all().used_bytes;
}

void* allocate(std::size_t bytes, memory_kind kind) {
  guard const hold(all().lock);
  if (bytes > device_bytes - all().used_bytes) return nullptr;
  void* const data = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  if (data == nullptr) return nullptr;
  if (kind == memory_kind::device) {
    std::memset(data, garbage, bytes);
    all().used_bytes += bytes;
  }
  all().blocks[static_cast<unsigned char const*>(data)] = {bytes, kind};
  register_memory(data, bytes);
  return data;
}

bool release(void* data, memory_kind kind) {
  guard const hold(all().lock);
  auto const found = all().blocks.find(static_cast<unsigned char const*>(data));
  if (found == all().blocks.end() || found->second.kind != kind) return false;
  forget_memory(data);
  if (kind == memory_kind::device) all().used_bytes -= found->second.bytes;
  found->second.kind = memory_kind::freed;
  all().freed.push_back(found->first);
  all().freed_bytes += found->second.bytes;
  while (all().freed_bytes > most_freed_bytes) all().forget_oldest();
  return true;
}

memory_kind kind_of(void const* data, std::size_t bytes) {
  guard const hold(all().lock);
  auto const* const first = static_cast<unsigned char const*>(data);
  auto const behind = all().blocks.upper_bound(first);
  if (behind != all().blocks.begin()) {
    auto const& [begin, block] = *std::prev(behind);
    if (first < begin + block.bytes)
      return first + bytes <= begin + block.bytes ? block.kind : memory_kind::broken;
  }
  bool const runs_into = behind != all().blocks.end() && first + bytes > behind->first;
  return runs_into ? memory_kind::broken : memory_kind::pageable;
}

}  // namespace ptx::runtime
