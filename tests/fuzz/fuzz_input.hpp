// SPDX-License-Identifier: Apache-2.0
// Decodes a fuzzer's bytes into arguments, and reports errors.
#pragma once

#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/executors.hpp"
#include "support/inputs.hpp"
#include "support/problems.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace support {

// Reads integers from the fuzzer's bytes. Past their end it returns zeros, so every input is valid.
class byte_reader {
 public:
  byte_reader(std::uint8_t const* data, std::size_t size) : data_(data), remaining_(size) {}

  std::uint64_t take(int bytes = 1) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes && remaining_ > 0; ++i, --remaining_)
      value |= std::uint64_t{*data_++} << (8 * i);
    return value;
  }
  std::size_t remaining() const { return remaining_; }

 private:
  std::uint8_t const* data_;
  std::size_t remaining_;
};

// Calls f(reader, element) with an element of the type that the first byte selects. With
// FUZZ_FIRST_TYPE (tests/run_fuzz) only the first type is compiled; the harnesses begin with
// different types.
template <class... T, class F>
int fuzz_element_types(std::uint8_t const* data, std::size_t size, F const& f) {
  byte_reader reader(data, size);
#ifdef FUZZ_FIRST_TYPE
  reader.take();
  using first_type = std::tuple_element_t<0, std::tuple<T...>>;
  f(reader, first_type{});
#else
  std::uint64_t const choice = reader.take() % sizeof...(T);
  std::uint64_t number = 0;
  ((number++ == choice ? f(reader, T{}) : void()), ...);
#endif
  return 0;
}

[[noreturn]] inline void fail(std::string const& error, std::string const& problem,
                              std::string const& place) {
  std::fprintf(stderr, "%s: %s%s\n", error.c_str(), problem.c_str(), place.c_str());
  std::abort();
}
inline void require(std::string const& error, std::string const& problem,
                    std::string const& place) {
  if (!error.empty()) fail(error, problem, place);
}

struct layout {
  strides3 strides;
  index_t shift;
};
inline layout read_layout(byte_reader& reader, extents3 e) {
  constexpr std::array<int, 3> orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                           {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  std::uint64_t const byte = reader.take();
  // Half of all layouts are contiguous.
  auto const& order = orders[byte < 128 ? 0 : byte % 6];
  auto const padding = static_cast<index_t>(byte < 128 ? 0 : byte / 6 % 4);
  return {strides_in_order(e, order, padding), static_cast<index_t>(reader.take() % 20)};
}

// An extent of attention: mostly small for speed, sometimes larger than a tile.
inline index_t read_extent(byte_reader& reader, index_t typical, index_t max) {
  std::uint64_t const byte = reader.take();
  return static_cast<index_t>(byte < 220 ? byte : reader.take(2)) %
         ((byte < 220 ? typical : max) + 1);
}
// Mostly small for speed, sometimes with more columns or rows than one tile or block.
inline extents3 read_extents(byte_reader& reader) {
  extents3 e;
  e.batch = static_cast<index_t>(reader.take() % 5);
  e.channels = static_cast<index_t>(reader.take() % 70);
  auto const rows = static_cast<index_t>(reader.take(2));
  e.length = rows < 0xc000 ? rows % 140 : rows % 3000;
  if (e.size() > 30000) e.batch = 1;
  if (e.size() > 30000) e.channels = 3;
  return e;
}
inline std::vector<index_t> read_lengths(byte_reader& reader, extents3 e) {
  std::vector<index_t> lengths;
  for (index_t b = 0; b < e.batch; ++b)
    lengths.push_back(static_cast<index_t>(reader.take(2)) % (e.length + 1));
  return lengths;
}

// Reads a tensor. With `column_patterned`, a byte selects the kind of input of each column.
// Otherwise the elements are the fuzzer's bits, then random repetitions of these, which makes ties.
template <class T>
tensor<T> read_tensor(byte_reader& reader, extents3 e, std::uint64_t seed, bool column_patterned) {
  tensor<T> x(e);
  if (column_patterned) {
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t c = 0; c < e.channels; ++c) {
        auto const kind = static_cast<input_kind>(reader.take() % all_kinds);
        x.set_column(b, c,
                     make_column<T>(kind, static_cast<std::size_t>(e.length),
                                    seed + static_cast<std::uint64_t>(c)));
      }
    return x;
  }
  random_stream random(seed);
  std::vector<T> values;
  while (reader.remaining() > 40 && values.size() < 4096)
    values.push_back(from_bits<T>(reader.take(static_cast<int>(sizeof(T)))));
  if (values.empty()) values.push_back(from_bits<T>(0));
  std::size_t i = 0;
  for (T& element : x.elements())
    element = i < values.size() ? values[i++] : values[random.below(values.size())];
  return x;
}

// Checks an operator that permutes rows and saves the permutation. Forward, backward, and forward
// in place without saved state must match the oracle's results in `p` and `expected_saved` bit for
// bit, and write nothing else. make_saved(layout) returns memory for a state of `saved_extents`.
template <class Problem, class Op, class MakeSaved, class Saved, class Exec>
void require_moves(Problem const& p, Op const& op, extents3 saved_extents,
                   MakeSaved const& make_saved, Saved const& expected_saved, byte_reader& reader,
                   Exec const& exec, bool in_place, std::string const& exec_text) {
  using T = typename std::decay_t<decltype(p.x.elements())>::value_type;
  extents3 const e = p.x.extents();
  layout const x_layout = read_layout(reader, e),
               y_layout = in_place ? x_layout : read_layout(reader, e);
  auto saved = make_saved(read_layout(reader, saved_extents));
  auto const problem = p.describe();
  auto const lengths = view_of(p.lengths);

  strided_tensor<T> x(p.x, x_layout.strides, x_layout.shift),
      separate_y(e, y_layout.strides, y_layout.shift);
  strided_tensor<T>& y = in_place ? x : separate_y;
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e), reader.take() % 64);
  op.forward(exec, x.view(), y.view(), {saved.view()}, scratch.get(), {lengths});
  require(difference("y", y.contents(), p.y), problem, exec_text);
  require(difference("saved", saved.contents(), expected_saved), problem, exec_text);

  strided_tensor<T> dy(p.dy, x_layout.strides, x_layout.shift),
      separate_dx(e, y_layout.strides, y_layout.shift);
  strided_tensor<T>& dx = in_place ? dy : separate_dx;
  op.backward(exec, dy.view(), {saved.view()}, dx.view(), scratch.get(),
              {ss::grad_mode::overwrite, lengths});
  require(difference("dx", dx.contents(), p.dx), problem, exec_text);

  strided_tensor<T> z(p.x, x_layout.strides, x_layout.shift);
  op.forward(exec, z.view(), z.view(), ss::no_saved, scratch.get(), {lengths});
  require(difference("y, no_saved, in place", z.contents(), p.y), problem, exec_text);
  if (!y.gaps_untouched() || !dx.gaps_untouched() || !saved.gaps_untouched() || !z.gaps_untouched())
    fail("wrote beside the elements", problem, exec_text);
  if (!scratch.red_zones_intact()) fail("wrote beside the workspace", problem, exec_text);
}

// An execution policy whose executor, threads and instruction set are selected by the input's
// flags.
struct fuzzed_exec {
  test_executor executor;
  unsigned threads;
  ss::isa set;

  explicit fuzzed_exec(std::uint64_t flags)
      : executor{static_cast<test_executor::schedule>((flags >> 10) % 3)},
        threads(static_cast<unsigned>(1 + (flags >> 8) % 4)),
        set(available_isas()[flags % available_isas().size()]) {}
  any_exec get() { return any_exec(executor, threads, set); }
};

}  // namespace support
