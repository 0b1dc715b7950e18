// SPDX-License-Identifier: Apache-2.0
// Lays out the regions of an image, and copies them from and to the host.
#include "image.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace support {

void memory_image::add(byte_range range, access use) {
  if (range.bytes == 0) return;
  region added{range, use, 0, nullptr};
  for (std::size_t i = 0; i < regions_.size();) {
    region const& existing = regions_[i];
    unsigned char* const end = existing.host.begin + existing.host.bytes;
    unsigned char* const added_end = added.host.begin + added.host.bytes;
    if (end <= added.host.begin || added_end <= existing.host.begin) {
      ++i;
      continue;
    }
    if (existing.use == access::written) added.use = access::written;
    unsigned char* const begin = std::min(existing.host.begin, added.host.begin);
    added.host = {begin, static_cast<std::size_t>(std::max(end, added_end) - begin)};
    regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;  // the union may overlap an earlier region
  }
  regions_.push_back(added);
}

void memory_image::copy_from_host() {
  std::size_t used = 0;
  for (region& r : regions_) {
    auto const address = reinterpret_cast<std::uintptr_t>(r.host.begin);
    r.offset = (used / alignment + 2) * alignment + address % alignment;
    used = r.offset + r.host.bytes;
  }
  if (used > max_bytes)
    throw std::length_error("an image of " + std::to_string(used) + " bytes, at most " +
                            std::to_string(max_bytes));
  bytes_.assign((used / alignment + 2) * alignment, red_zone_byte);
  for (region const& r : regions_)
    std::memcpy(bytes_.data() + r.offset, r.host.begin, r.host.bytes);
}

void* memory_image::device_address(void const* host) const {
  auto const* const address = static_cast<unsigned char const*>(host);
  for (region const& r : regions_)
    if (r.host.begin <= address && address < r.host.begin + r.host.bytes)
      return r.device + (address - r.host.begin);
  return const_cast<void*>(host);  // an empty view, which is never read
}

std::string memory_image::copy_back() const {
  std::string error;
  std::vector<bool> is_in_region(bytes_.size());
  for (region const& r : regions_) {
    auto const first = is_in_region.begin() + static_cast<std::ptrdiff_t>(r.offset);
    std::fill(first, first + static_cast<std::ptrdiff_t>(r.host.bytes), true);
    unsigned char const* const copy = bytes_.data() + r.offset;
    if (r.use == access::written)
      std::memcpy(r.host.begin, copy, r.host.bytes);
    else if (r.use == access::read && std::memcmp(r.host.begin, copy, r.host.bytes) != 0)
      error = "an input was written";
  }
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    if (!is_in_region[i] && bytes_[i] != red_zone_byte) error = "a write outside of every view";
  return error;
}

}  // namespace support
