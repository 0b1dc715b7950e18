// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: bytes become a whole call of slicing-sort (element type, order, shape,
// strides, lengths, threads, instruction set, saved form, data); forward and backward must match
// the oracle bit for bit and touch nothing else. Build: clang++ -fsanitize=fuzzer,address,undefined
// -Itests -Iinclude.
#include "support/executors.hpp"
#include "support/sort_check.hpp"

#include <cstdio>
#include <cstdlib>

using namespace support;

namespace {

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

[[noreturn]] void fail(std::string const& what, std::string const& problem, std::string const& on) {
  std::fprintf(stderr, "%s: %s%s\n", what.c_str(), problem.c_str(), on.c_str());
  std::abort();
}

void require(std::string const& what, std::string const& problem, std::string const& on) {
  if (!what.empty()) fail(what, problem, on);
}

struct layout {
  strides3 strides;
  index_t shift;
};
layout read_layout(byte_reader& in, extents3 e) {
  constexpr std::array<int, 3> orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                           {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  std::uint64_t const byte = in.take();
  // Half of all layouts are the ordinary one.
  auto const& order = orders[byte < 128 ? 0 : byte % 6];
  auto const padding = static_cast<index_t>(byte < 128 ? 0 : byte / 6 % 4);
  return {strides_in_order(e, order, padding), static_cast<index_t>(in.take() % 20)};
}

template <class T, class Index, class Exec>
void run(sort_problem<T> const& p, byte_reader& in, Exec const& on, bool in_place) {
  extents3 const e = p.x.extents();
  layout const from = read_layout(in, e), to = in_place ? from : read_layout(in, e),
               saved = read_layout(in, e);
  ss::slicing_sort<pattern_order> const op(pattern_order{p.order});
  auto const problem = p.describe();
  auto const where = describe_exec(on) + " perm=" + type_name<Index>();

  strided_tensor<T> x(p.x, from.strides, from.shift), other(e, to.strides, to.shift);
  strided_tensor<T>& y = in_place ? x : other;
  strided_tensor<Index> perm(e, saved.strides, saved.shift);
  guarded_workspace scratch(op.template workspace_bytes<T>(on, e), in.take() % 64);
  op.forward(on, x.view(), y.view(), {perm.view()}, scratch.get(), {p.lengths_view()});
  require(difference("y", y.contents(), p.y), problem, where);
  require(difference("perm", perm.contents(), p.perm), problem, where);

  strided_tensor<T> dy(p.dy, from.strides, from.shift), another(e, to.strides, to.shift);
  strided_tensor<T>& dx = in_place ? dy : another;
  op.backward(on, dy.view(), {perm.view()}, dx.view(), scratch.get(),
              {ss::grad_mode::overwrite, p.lengths_view()});
  require(difference("dx", dx.contents(), p.dx), problem, where);

  strided_tensor<T> z(p.x, from.strides, from.shift);
  op.forward(on, z.view(), z.view(), ss::no_saved, scratch.get(), {p.lengths_view()});
  require(difference("y, no_saved, in place", z.contents(), p.y), problem, where);
  if (!y.gaps_untouched() || !dx.gaps_untouched() || !perm.gaps_untouched() || !z.gaps_untouched())
    fail("wrote beside the elements", problem, where);
  if (!scratch.red_zones_intact()) fail("wrote beside the workspace", problem, where);
}

template <class T>
void run_type(byte_reader& in) {
  std::uint64_t const flags = in.take(2);
  auto const sets = available_isas();
  ss::isa const set = sets[flags % sets.size()];
  bool const in_place = (flags & 8) != 0, narrow = (flags & 16) != 0, ragged = (flags & 32) != 0,
             wide_data = (flags & 64) != 0;
  auto const threads = static_cast<unsigned>(1 + (flags >> 8) % 4);

  // Mostly small; now and then more columns or rows than one tile or one block.
  extents3 e;
  e.batch = static_cast<index_t>(in.take() % 5);
  e.channels = static_cast<index_t>(in.take() % 70);
  auto const rows = static_cast<index_t>(in.take(2));
  e.length = rows < 0xc000 ? rows % 140 : rows % 3000;
  if (e.size() > 30000) e.batch = 1;
  if (e.size() > 30000) e.channels = 3;

  sort_problem<T> p;
  p.order = in.take() < 128 ? in.take(8) : (flags & 128) != 0 ? up : down;
  p.title = "fuzzed";
  if (ragged)
    for (index_t b = 0; b < e.batch; ++b)
      p.lengths.push_back(static_cast<index_t>(in.take(2)) % (e.length + 1));
  std::uint64_t const seed = in.take(4);
  random_stream random(seed);
  p.x = p.dy = tensor<T>(e);
  for (T& gradient : p.dy.elements()) gradient = from_bits<T>(random.bits() & format_of<T>().all());
  if (wide_data) {  // a kind of input for each column
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t c = 0; c < e.channels; ++c) {
        auto const kind = static_cast<input_kind>(in.take() % all_kinds);
        p.x.set_column(b, c,
                       make_column<T>(kind, static_cast<std::size_t>(e.length),
                                      seed + static_cast<std::uint64_t>(c)));
      }
  } else {  // the fuzzer's own bits, then few values over and over: ties
    std::vector<T> drawn;
    while (in.left() > 40 && drawn.size() < 4096)
      drawn.push_back(from_bits<T>(in.take(static_cast<int>(sizeof(T)))));
    if (drawn.empty()) drawn.push_back(from_bits<T>(0));
    std::size_t i = 0;
    for (T& element : p.x.elements())
      element = i < drawn.size() ? drawn[i++] : drawn[random.below(drawn.size())];
  }
  solve(p);

  test_executor executor{static_cast<test_executor::way>((flags >> 10) % 3)};
  ss::exec::host_on<test_executor> const on(executor, threads, set);
  if (narrow)
    run<T, std::uint16_t>(p, in, on, in_place);
  else
    run<T, std::uint32_t>(p, in, on, in_place);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  byte_reader in(data, size);
  switch (in.take() % 4) {
    case 0:
      run_type<float>(in);
      break;
    case 1:
      run_type<double>(in);
      break;
    case 2:
      run_type<float16>(in);
      break;
    default:
      run_type<bfloat16>(in);
  }
  return 0;
}
