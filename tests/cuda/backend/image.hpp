// SPDX-License-Identifier: Apache-2.0
// A copy of the memory that a call accesses. Overlapping ranges are merged into one piece, so views
// that alias in the original alias in the copy. Red zones separate the pieces.
#pragma once

#include "views.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace support {

class memory_image {
 public:
  struct piece {
    byte_range host;
    access use;
    std::size_t offset;    // in the image
    unsigned char* moved;  // address in the other memory
  };
  // A limit, since every call copies and compares the whole image. tests/cuda/test_large.cpp tests
  // views that are far apart on the device only.
  static constexpr std::size_t max_bytes = std::size_t{4} << 30;
  // A copy has the same address modulo this as the original, and hence the same alignment.
  static constexpr std::size_t line = 256;

  void add(byte_range range, access use);
  // Assigns offsets to the pieces and copies their contents, after the last add(). Throws
  // std::length_error if they take more than `max_bytes`, including gaps.
  void take();

  std::vector<piece>& pieces() { return pieces_; }
  std::vector<unsigned char>& bytes() { return bytes_; }

  // Translates `host`, the start of an added range, to the other memory.
  void* moved(void const* host) const;
  // Copies written pieces back to the host. Returns an error if a write went outside of the pieces,
  // or into an input.
  std::string copy_back() const;

 private:
  static constexpr unsigned char zone = 0x5a;

  std::vector<piece> pieces_;
  std::vector<unsigned char> bytes_;
};

}  // namespace support
