// SPDX-License-Identifier: Apache-2.0
#include "image.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace support {

void memory_image::add(byte_range range, access use) {
  if (range.bytes == 0) return;
  piece added{range, use, 0, nullptr};
  for (std::size_t i = 0; i < pieces_.size();) {
    piece const& p = pieces_[i];
    unsigned char* const end = p.host.begin + p.host.bytes;
    unsigned char* const added_end = added.host.begin + added.host.bytes;
    if (end <= added.host.begin || added_end <= p.host.begin) {
      ++i;
      continue;
    }
    if (p.use == access::written) added.use = access::written;
    unsigned char* const begin = std::min(p.host.begin, added.host.begin);
    added.host = {begin, static_cast<std::size_t>(std::max(end, added_end) - begin)};
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;  // the union may overlap an earlier piece
  }
  pieces_.push_back(added);
}

void memory_image::take() {
  std::size_t used = 0;
  for (piece& p : pieces_) {
    auto const address = reinterpret_cast<std::uintptr_t>(p.host.begin);
    p.offset = (used / line + 2) * line + address % line;
    used = p.offset + p.host.bytes;
  }
  if (used > max_bytes)
    throw std::length_error("an image of " + std::to_string(used) + " bytes, at most " +
                            std::to_string(max_bytes));
  bytes_.assign((used / line + 2) * line, zone);
  for (piece const& p : pieces_) std::memcpy(bytes_.data() + p.offset, p.host.begin, p.host.bytes);
}

void* memory_image::moved(void const* host) const {
  auto const* const address = static_cast<unsigned char const*>(host);
  for (piece const& p : pieces_)
    if (p.host.begin <= address && address < p.host.begin + p.host.bytes)
      return p.moved + (address - p.host.begin);
  return const_cast<void*>(host);  // an empty view, which is never read
}

std::string memory_image::copy_back() const {
  std::string error;
  std::vector<bool> owned(bytes_.size());
  for (piece const& p : pieces_) {
    auto const first = owned.begin() + static_cast<std::ptrdiff_t>(p.offset);
    std::fill(first, first + static_cast<std::ptrdiff_t>(p.host.bytes), true);
    unsigned char const* const copy = bytes_.data() + p.offset;
    if (p.use == access::written)
      std::memcpy(p.host.begin, copy, p.host.bytes);
    else if (p.use == access::read && std::memcmp(p.host.begin, copy, p.host.bytes) != 0)
      error = "an input was written";
  }
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    if (!owned[i] && bytes_[i] != zone) error = "a write outside of every view";
  return error;
}

}  // namespace support
