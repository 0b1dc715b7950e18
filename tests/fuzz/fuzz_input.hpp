// SPDX-License-Identifier: Apache-2.0
// How the fuzz targets turn bytes into arguments, and how they fail.
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

// f(reader, element) with an element of the type that the first byte chooses: what a target does
// with an input. FUZZ_FIRST_TYPE compiles the first type alone (tests/run_fuzz); targets begin with
// different ones.
template <class... T, class F>
int fuzz_element_types(std::uint8_t const* data, std::size_t size, F const& f) {
  byte_reader in(data, size);
#ifdef FUZZ_FIRST_TYPE
  in.take();
  using first = std::tuple_element_t<0, std::tuple<T...>>;
  f(in, first{});
#else
  std::uint64_t const chosen = in.take() % sizeof...(T);
  std::uint64_t number = 0;
  ((number++ == chosen ? f(in, T{}) : void()), ...);
#endif
  return 0;
}

[[noreturn]] inline void fail(std::string const& what, std::string const& problem,
                              std::string const& place) {
  std::fprintf(stderr, "%s: %s%s\n", what.c_str(), problem.c_str(), place.c_str());
  std::abort();
}
inline void require(std::string const& what, std::string const& problem, std::string const& place) {
  if (!what.empty()) fail(what, problem, place);
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

// An extent of attention: mostly small, for speed; now and then more than a tile.
inline index_t read_extent(byte_reader& in, index_t usual, index_t most) {
  std::uint64_t const byte = in.take();
  return static_cast<index_t>(byte < 220 ? byte : in.take(2)) % ((byte < 220 ? usual : most) + 1);
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

// Reads a tensor. By columns: a kind of input for each column. Otherwise the fuzzer's own bits, and
// then a few values over and over, which make ties.
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

// The calls of an operator that moves rows and saves which: forward, backward, and forward in place
// with nothing saved must match the problem's answer and `want` bit for bit, and touch nothing
// else. make_saved(layout) is memory for the state, whose shape is `saved_extents`.
template <class Problem, class Op, class MakeSaved, class Want, class Exec>
void require_moves(Problem const& p, Op const& op, extents3 saved_extents,
                   MakeSaved const& make_saved, Want const& want, byte_reader& in, Exec const& exec,
                   bool in_place, std::string const& where) {
  using T = typename std::decay_t<decltype(p.x.elements())>::value_type;
  extents3 const e = p.x.extents();
  layout const from = read_layout(in, e), to = in_place ? from : read_layout(in, e);
  auto saved = make_saved(read_layout(in, saved_extents));
  auto const problem = p.describe();
  auto const lengths = view_of(p.lengths);

  strided_tensor<T> x(p.x, from.strides, from.shift), other(e, to.strides, to.shift);
  strided_tensor<T>& y = in_place ? x : other;
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e), in.take() % 64);
  op.forward(exec, x.view(), y.view(), {saved.view()}, scratch.get(), {lengths});
  require(difference("y", y.contents(), p.y), problem, where);
  require(difference("saved", saved.contents(), want), problem, where);

  strided_tensor<T> dy(p.dy, from.strides, from.shift), another(e, to.strides, to.shift);
  strided_tensor<T>& dx = in_place ? dy : another;
  op.backward(exec, dy.view(), {saved.view()}, dx.view(), scratch.get(),
              {ss::grad_mode::overwrite, lengths});
  require(difference("dx", dx.contents(), p.dx), problem, where);

  strided_tensor<T> z(p.x, from.strides, from.shift);
  op.forward(exec, z.view(), z.view(), ss::no_saved, scratch.get(), {lengths});
  require(difference("y, no_saved, in place", z.contents(), p.y), problem, where);
  if (!y.gaps_untouched() || !dx.gaps_untouched() || !saved.gaps_untouched() || !z.gaps_untouched())
    fail("wrote beside the elements", problem, where);
  if (!scratch.red_zones_intact()) fail("wrote beside the workspace", problem, where);
}

// The execution policy, with threads and instruction set from the flags that every input begins
// with.
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
