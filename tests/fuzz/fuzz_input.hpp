// SPDX-License-Identifier: Apache-2.0
// Decodes a fuzzer's bytes into arguments, and reports errors.
#pragma once

#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/executors.hpp"
#include "support/inputs.hpp"
#include "support/problems.hpp"

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
// FUZZ_FIRST_TYPE (see tests/run_fuzz) only the first type is compiled; it differs by harness.
template <class... T, class F>
int fuzz_element_types(std::uint8_t const* data, std::size_t size, F const& f) {
  byte_reader reader(data, size);
#ifdef FUZZ_FIRST_TYPE
  reader.take();
  using first_type = std::tuple_element_t<0, std::tuple<T...>>;
  f(reader, first_type{});
#else
  std::uint64_t const choice = reader.take() % sizeof...(T);
  std::uint64_t index = 0;
  ((index++ == choice ? f(reader, T{}) : void()), ...);
#endif
  return 0;
}

[[noreturn]] inline void fail(std::string const& error, std::string const& case_text,
                              std::string const& exec_text) {
  std::fprintf(stderr, "%s: %s%s\n", error.c_str(), case_text.c_str(), exec_text.c_str());
  std::abort();
}
inline void require_no_error(std::string const& error, std::string const& case_text,
                             std::string const& exec_text) {
  if (!error.empty()) fail(error, case_text, exec_text);
}

struct layout {
  strides3 strides;
  index_t offset;
};
inline layout read_layout(byte_reader& reader, extents3 shape) {
  std::uint64_t const byte = reader.take();
  // Half of all layouts are contiguous.
  auto const& axis_order = axis_orders[byte < 128 ? 0 : byte % 6];
  auto const padding = static_cast<index_t>(byte < 128 ? 0 : byte / 6 % 4);
  return {strides_in_order(shape, axis_order, padding), static_cast<index_t>(reader.take() % 20)};
}

// Reads an extent of attention: mostly small for speed, sometimes larger than a tile.
inline index_t read_extent(byte_reader& reader, index_t typical, index_t max) {
  std::uint64_t const byte = reader.take();
  return static_cast<index_t>(byte < 220 ? byte : reader.take(2)) %
         ((byte < 220 ? typical : max) + 1);
}
// Reads a shape: mostly small for speed, sometimes with more columns or rows than a tile or block.
inline extents3 read_extents(byte_reader& reader) {
  extents3 shape;
  shape.batch = static_cast<index_t>(reader.take() % 5);
  shape.channels = static_cast<index_t>(reader.take() % 70);
  auto const rows = static_cast<index_t>(reader.take(2));
  shape.length = rows < 0xc000 ? rows % 140 : rows % 3000;
  if (shape.size() > 30000) shape.batch = 1;
  if (shape.size() > 30000) shape.channels = 3;
  return shape;
}
inline std::vector<index_t> read_lengths(byte_reader& reader, extents3 shape) {
  std::vector<index_t> lengths;
  for (index_t b = 0; b < shape.batch; ++b)
    lengths.push_back(static_cast<index_t>(reader.take(2)) % (shape.length + 1));
  return lengths;
}

// Reads a tensor. With `column_patterned`, a byte per column selects its kind of input. Otherwise
// the elements are the fuzzer's bits, followed by random repetitions of them, which makes ties.
template <class T>
tensor<T> read_tensor(byte_reader& reader, extents3 shape, std::uint64_t seed,
                      bool column_patterned) {
  tensor<T> x(shape);
  if (column_patterned) {
    for (index_t b = 0; b < shape.batch; ++b)
      for (index_t c = 0; c < shape.channels; ++c) {
        auto const kind = static_cast<input_kind>(reader.take() % all_kinds);
        x.set_column(b, c,
                     make_column<T>(kind, static_cast<std::size_t>(shape.length),
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
// in place without saved state must match the reference results in `p` and `expected_saved` bit for
// bit, and write nothing else. make_saved(layout) returns memory for a state of `saved_extents`.
template <class Problem, class Op, class MakeSaved, class Saved, class Exec>
void check_permuting_operator(Problem const& p, Op const& op, extents3 saved_extents,
                              MakeSaved const& make_saved, Saved const& expected_saved,
                              byte_reader& reader, Exec const& exec, bool in_place,
                              std::string const& exec_text) {
  using T = typename std::decay_t<decltype(p.x.elements())>::value_type;
  extents3 const shape = p.x.extents();
  layout const x_layout = read_layout(reader, shape),
               y_layout = in_place ? x_layout : read_layout(reader, shape);
  auto saved = make_saved(read_layout(reader, saved_extents));
  auto const case_text = p.describe();
  auto const lengths = view_of(p.lengths);

  strided_tensor<T> x(p.x, x_layout.strides, x_layout.offset),
      separate_y(shape, y_layout.strides, y_layout.offset);
  strided_tensor<T>& y = in_place ? x : separate_y;
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, shape), reader.take() % 64);
  op.forward(exec, x.view(), y.view(), {saved.view()}, scratch.get(), {lengths});
  require_no_error(difference("y", y.contents(), p.y), case_text, exec_text);
  require_no_error(difference("saved", saved.contents(), expected_saved), case_text, exec_text);

  strided_tensor<T> dy(p.dy, x_layout.strides, x_layout.offset),
      separate_dx(shape, y_layout.strides, y_layout.offset);
  strided_tensor<T>& dx = in_place ? dy : separate_dx;
  op.backward(exec, dy.view(), {saved.view()}, dx.view(), scratch.get(),
              {ss::grad_mode::overwrite, lengths});
  require_no_error(difference("dx", dx.contents(), p.dx), case_text, exec_text);

  strided_tensor<T> z(p.x, x_layout.strides, x_layout.offset);
  op.forward(exec, z.view(), z.view(), ss::no_saved, scratch.get(), {lengths});
  require_no_error(difference("y, no_saved, in place", z.contents(), p.y), case_text, exec_text);
  if (!y.padding_intact() || !dx.padding_intact() || !saved.padding_intact() || !z.padding_intact())
    fail("wrote outside of the elements", case_text, exec_text);
  if (!scratch.red_zones_intact()) fail("wrote outside of the workspace", case_text, exec_text);
}

// An execution policy. The flags of the input select its executor, threads and instruction set.
struct fuzzed_exec {
  test_executor executor;
  unsigned threads;
  ss::isa isa;

  explicit fuzzed_exec(std::uint64_t flags)
      : executor{static_cast<test_executor::schedule>((flags >> 10) % 3)},
        threads(static_cast<unsigned>(1 + (flags >> 8) % 4)),
        isa(available_isas()[flags % available_isas().size()]) {}
  any_exec get() { return any_exec(executor, threads, isa); }
};

}  // namespace support
