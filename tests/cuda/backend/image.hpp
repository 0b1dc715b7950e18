// SPDX-License-Identifier: Apache-2.0
// A copy of the memory that a call accesses. Overlapping ranges are merged into one region, so
// views that alias in the original alias in the copy. Red zones separate the regions.
#pragma once

#include "views.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace support {

class memory_image {
 public:
  struct region {
    byte_range host;
    access use;
    std::size_t offset;     // in the image
    unsigned char* device;  // address in device memory
  };
  // Limits the image, because every call copies and compares all of it. tests/cuda/test_large.cpp
  // tests views that span more memory.
  static constexpr std::size_t max_bytes = std::size_t{4} << 30;
  // A copy has the same address modulo this as the original, and hence the same alignment.
  static constexpr std::size_t alignment = 256;

  void add(byte_range range, access use);
  // Assigns offsets to the regions and copies their contents, after the last add(). Throws
  // std::length_error if they take more than `max_bytes`, including gaps.
  void copy_from_host();

  std::vector<region>& regions() { return regions_; }
  std::vector<unsigned char>& bytes() { return bytes_; }

  // Translates `host`, the start of an added range, to device memory.
  void* device_address(void const* host) const;
  // Copies written regions back to the host. Returns an error if a write went outside of the
  // regions, or into an input.
  std::string copy_back() const;

 private:
  static constexpr unsigned char red_zone_byte = 0x5a;

  std::vector<region> regions_;
  std::vector<unsigned char> bytes_;
};

}  // namespace support
