// SPDX-License-Identifier: Apache-2.0
// SplitMix64, a random generator with the same sequence on every host. The library has one too, but
// the machine does not depend on the library that it tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ptx {

class random_generator {
 public:
  explicit random_generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  bool next_bool() { return ((*this)() & 1) != 0; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>((*this)() % n); }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace ptx
