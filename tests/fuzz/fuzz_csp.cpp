// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: bytes become a whole call of CSP (element type, groups, shifts, alignment, shape,
// strides, lengths, threads, instruction set, data); forward and backward must match the oracle bit for
// bit and touch nothing else. Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude.
#include "fuzz_input.hpp"

#include "support/csp_problem.hpp"
#include "support/executors.hpp"

using namespace support;

namespace {

template <class T, class Op, class Exec>
void run(csp_problem<T> const& p, Op const& op, byte_reader& in, Exec const& on, bool in_place) {
  extents3 const e = p.extents(), s = op.saved_extents(e);
  layout const from = read_layout(in, e), to = in_place ? from : read_layout(in, e),
               saved = read_layout(in, s);
  auto const problem = p.describe(), where = describe_exec(on);
  auto const lengths = view_of(p.lengths);

  strided_tensor<T> x(p.x, from.strides, from.shift), other(e, to.strides, to.shift);
  strided_tensor<T>& y = in_place ? x : other;
  order_memory order(s, op.saved_width(e), saved.strides, saved.shift);
  guarded_workspace scratch(op.template workspace_bytes<T>(on, e), in.take() % 64);
  op.forward(on, x.view(), y.view(), {order.view()}, scratch.get(), {lengths});
  require(difference("y", y.contents(), p.y), problem, where);
  require(difference("order", order.contents(), p.saved), problem, where);

  strided_tensor<T> dy(p.dy, from.strides, from.shift), another(e, to.strides, to.shift);
  strided_tensor<T>& dx = in_place ? dy : another;
  op.backward(on, dy.view(), {order.view()}, dx.view(), scratch.get(),
              {ss::grad_mode::overwrite, lengths});
  require(difference("dx", dx.contents(), p.dx), problem, where);

  strided_tensor<T> z(p.x, from.strides, from.shift);
  op.forward(on, z.view(), z.view(), ss::no_saved, scratch.get(), {lengths});
  require(difference("y, no_saved, in place", z.contents(), p.y), problem, where);
  if (!y.gaps_untouched() || !dx.gaps_untouched() || !order.gaps_untouched() || !z.gaps_untouched())
    fail("wrote beside the elements", problem, where);
  if (!scratch.red_zones_intact()) fail("wrote beside the workspace", problem, where);
}

template <class T>
void run_type(byte_reader& in) {
  std::uint64_t const flags = in.take(2);
  auto const sets = available_isas();
  ss::isa const set = sets[flags % sets.size()];
  bool const in_place = (flags & 8) != 0, aligned = (flags & 16) != 0, ragged = (flags & 32) != 0;
  auto const threads = static_cast<unsigned>(1 + (flags >> 8) % 4);

  csp_problem<T> p;
  p.title = "fuzzed";
  extents3 const e = read_extents(in);
  auto const wanted = static_cast<index_t>(in.take(2));  // mostly small groups
  p.group = 1 + (wanted < 0xc000 ? wanted % 40 : wanted % 3001);
  if (aligned && e.channels > 0) p.reference = static_cast<index_t>(in.take()) % e.channels;
  p.order = in.take() < 128 ? in.take(8) : (flags & 128) != 0 ? up : down;
  for (index_t c = 0; c < e.channels; ++c) {
    // One byte for a small shift, or four for any.
    auto const byte = static_cast<std::int32_t>(in.take());
    p.shifts.table.push_back(byte < 200 ? byte - 100 : static_cast<std::int32_t>(in.take(4)));
  }
  if (ragged) p.lengths = read_lengths(in, e);
  std::uint64_t const seed = in.take(4);
  p.x = read_tensor<T>(in, e, seed, (flags & 64) != 0);
  p.dy = random_bits_tensor<T>(e, seed + 1);
  solve(p);

  test_executor executor{static_cast<test_executor::way>((flags >> 10) % 3)};
  ss::exec::host_on<test_executor> const on(executor, threads, set);
  with_csp(p, [&](auto const& op) { run(p, op, in, on, in_place); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  byte_reader in(data, size);
  switch (in.take() %
          3) {  // bfloat16 differs from float16 in a constant, and costs a minute to build
    case 0:
      run_type<float>(in);
      break;
    case 1:
      run_type<double>(in);
      break;
    default:
      run_type<float16>(in);
  }
  return 0;
}
