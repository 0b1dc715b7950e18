// SPDX-License-Identifier: Apache-2.0
// An image of the memory that a call touches. Ranges that overlap become one piece, so views that
// alias on one side alias on the other; between pieces lie red zones.
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
    unsigned char* moved;  // where the piece lies in the other memory
  };
  // A GPU has more, but every call moves and compares all of an image. Views that lie far apart are
  // tested on the device alone (tests/cuda/test_large.cpp).
  static constexpr std::size_t most_bytes = std::size_t{4} << 30;
  // Pieces keep their address modulo this, so that both sides see the same alignment.
  static constexpr std::size_t line = 256;

  void add(byte_range range, access use);
  // After the last `add`: places the pieces and copies what they hold. Throws std::length_error if
  // they take more than `most_bytes`, gaps included.
  void take();

  std::vector<piece>& pieces() { return pieces_; }
  std::vector<unsigned char>& bytes() { return bytes_; }

  // Where `host`, the start of a range that was added, lies now.
  void* moved(void const* host) const;
  // Copies what was written back to the host. Returns what went wrong: a write beside the pieces or
  // into one that is only read.
  std::string give_back() const;

 private:
  static constexpr unsigned char zone = 0x5a;

  std::vector<piece> pieces_;
  std::vector<unsigned char> bytes_;
};

}  // namespace support
