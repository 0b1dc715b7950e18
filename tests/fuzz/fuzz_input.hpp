// SPDX-License-Identifier: Apache-2.0
// How the fuzz targets turn bytes into arguments, and how they fail.
#pragma once

#include "support/buffers.hpp"
#include "support/inputs.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace support {

// Reads past the end give zero: every input is a call.
class byte_reader {
 public:
  byte_reader(std::uint8_t const* data, std::size_t size) : data_(data), left_(size) {}

  std::uint64_t take(int bytes = 1) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes && left_ > 0; ++i, --left_)
      value |= std::uint64_t{*data_++} << (8 * i);
    return value;
  }
  std::size_t left() const { return left_; }

 private:
  std::uint8_t const* data_;
  std::size_t left_;
};

[[noreturn]] inline void fail(std::string const& what, std::string const& problem,
                              std::string const& on) {
  std::fprintf(stderr, "%s: %s%s\n", what.c_str(), problem.c_str(), on.c_str());
  std::abort();
}
inline void require(std::string const& what, std::string const& problem, std::string const& on) {
  if (!what.empty()) fail(what, problem, on);
}

struct layout {
  strides3 strides;
  index_t shift;
};
inline layout read_layout(byte_reader& in, extents3 e) {
  constexpr std::array<int, 3> orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                           {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  std::uint64_t const byte = in.take();
  // Half of all layouts are the ordinary one.
  auto const& order = orders[byte < 128 ? 0 : byte % 6];
  auto const padding = static_cast<index_t>(byte < 128 ? 0 : byte / 6 % 4);
  return {strides_in_order(e, order, padding), static_cast<index_t>(in.take() % 20)};
}

// Mostly small; now and then more columns or rows than one tile or one block.
inline extents3 read_extents(byte_reader& in) {
  extents3 e;
  e.batch = static_cast<index_t>(in.take() % 5);
  e.channels = static_cast<index_t>(in.take() % 70);
  auto const rows = static_cast<index_t>(in.take(2));
  e.length = rows < 0xc000 ? rows % 140 : rows % 3000;
  if (e.size() > 30000) e.batch = 1;
  if (e.size() > 30000) e.channels = 3;
  return e;
}
inline std::vector<index_t> read_lengths(byte_reader& in, extents3 e) {
  std::vector<index_t> lengths;
  for (index_t b = 0; b < e.batch; ++b)
    lengths.push_back(static_cast<index_t>(in.take(2)) % (e.length + 1));
  return lengths;
}

// By columns: a kind of input for each. Else the fuzzer's own bits, then few values over and over: ties.
template <class T>
tensor<T> read_tensor(byte_reader& in, extents3 e, std::uint64_t seed, bool by_columns) {
  tensor<T> x(e);
  if (by_columns) {
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t c = 0; c < e.channels; ++c) {
        auto const kind = static_cast<input_kind>(in.take() % all_kinds);
        x.set_column(b, c,
                     make_column<T>(kind, static_cast<std::size_t>(e.length),
                                    seed + static_cast<std::uint64_t>(c)));
      }
    return x;
  }
  random_stream random(seed);
  std::vector<T> drawn;
  while (in.left() > 40 && drawn.size() < 4096)
    drawn.push_back(from_bits<T>(in.take(static_cast<int>(sizeof(T)))));
  if (drawn.empty()) drawn.push_back(from_bits<T>(0));
  std::size_t i = 0;
  for (T& element : x.elements())
    element = i < drawn.size() ? drawn[i++] : drawn[random.below(drawn.size())];
  return x;
}

}  // namespace support
