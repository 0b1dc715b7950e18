// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: each is a hash of a seed, a stream and an index, so that threads
// and the order of calls have no effect.
#pragma once

#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/detail/math/normal.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <string_view>

namespace learning {

namespace ss = slicesort;
using ss::index_t;

/// A sequence of random numbers with random access.
class random_stream {
 public:
  random_stream(std::uint64_t seed, std::uint64_t stream)
      : seed_(seed), stream_(stream), key_(ss::detail::counter_hash64(seed, stream)) {}

  std::uint64_t bits(std::uint64_t index) const { return ss::detail::counter_hash64(key_, index); }
  std::uint32_t bits32(std::uint64_t index) const {
    return static_cast<std::uint32_t>(bits(index) >> 32);
  }
  /// Uniform in [0, 1), with 53 bits.
  double unit(std::uint64_t index) const {
    return static_cast<double>(bits(index) >> 11) * 0x1p-53;
  }
  /// Uniform in `0 .. n - 1`, for n up to 2^31.
  index_t below(std::uint64_t index, index_t n) const {
    return ss::detail::uniform_below(key_, index, n);
  }
  /// Standard normal.
  double normal(std::uint64_t index) const {
    return ss::detail::counter_normal(seed_, stream_, index);
  }

 private:
  std::uint64_t seed_, stream_, key_;
};

/// Returns the stream of a name (FNV-1a), so that a new parameter does not change the others.
constexpr std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char const character : name)
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  return hash;
}

}  // namespace learning
