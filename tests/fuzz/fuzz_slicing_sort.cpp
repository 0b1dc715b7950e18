// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: bytes become a whole call of slicing-sort (element type, order, shape,
// strides, lengths, threads, instruction set, saved form, data); forward and backward must match
// the oracle bit for bit and touch nothing else. Build: clang++ -fsanitize=fuzzer,address,undefined
// -Itests -Iinclude.
#include "fuzz_input.hpp"

#include "support/executors.hpp"
#include "support/sort_check.hpp"

using namespace support;

namespace {

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

  extents3 const e = read_extents(in);
  sort_problem<T> p;
  p.order = in.take() < 128 ? in.take(8) : (flags & 128) != 0 ? up : down;
  p.title = "fuzzed";
  if (ragged) p.lengths = read_lengths(in, e);
  std::uint64_t const seed = in.take(4);
  p.x = read_tensor<T>(in, e, seed, wide_data);
  p.dy = tensor<T>(e);
  random_stream random(seed);
  for (T& gradient : p.dy.elements()) gradient = from_bits<T>(random.bits() & format_of<T>().all());
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
