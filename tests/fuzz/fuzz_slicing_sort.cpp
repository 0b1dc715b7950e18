// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of slicing_sort (element type, order, shape,
// strides, lengths, threads, instruction set, saved index type, data). Forward and backward must
// match the reference bit for bit and write nothing else; so must argsort, top_k, and soft_sort
// with strength 0. With other strengths, soft_sort and soft_rank must write nothing else.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "slicing_sort/check.hpp"

#include <slicesort/soft_sort.hpp>
#include <slicesort/top_k.hpp>

using namespace support;

namespace {

template <class Index, class T, class Exec>
void run(sort_problem<T> const& p, byte_reader& reader, Exec const& exec, bool in_place) {
  extents3 const shape = p.x.extents();
  auto const make_saved = [&](layout memory) {
    return strided_tensor<Index>(shape, memory.strides, memory.offset);
  };
  check_permuting_operator(p, ss::slicing_sort<pattern_order>(pattern_order{p.order}), shape,
                           make_saved, p.perm, reader, exec, in_place,
                           describe_exec(exec) + " perm=" + type_name<Index>());
}

// Checks that top_k returns the first rows of the sort, whether it sorts or selects.
template <class T, class Exec>
void run_top_k(sort_problem<T> const& p, byte_reader& reader, Exec const& exec) {
  extents3 const e = p.x.extents();
  index_t const k = static_cast<index_t>(reader.take(2)) % (e.length + 1);
  extents3 const selected{e.batch, k, e.channels};
  for (auto output : {ss::top_k_output::sorted, ss::top_k_output::by_index}) {
    ss::top_k<pattern_order> const op(k, output, ss::nan_order::total, pattern_order{p.order});
    auto values = garbage_tensor<T>(selected);
    auto rows = garbage_tensor<std::uint32_t>(selected);
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
    op.forward(exec, p.x.view(), values.view(), {rows.view()}, scratch.get(), {p.lengths_view()});
    if (!scratch.red_zones_intact())
      fail("top_k wrote outside of the workspace", p.describe(), describe_exec(exec));
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t c = 0; c < e.channels; ++c) {
        auto expected = p.perm.column(b, c);
        expected.resize(static_cast<std::size_t>(k));
        if (output == ss::top_k_output::by_index) std::sort(expected.begin(), expected.end());
        for (index_t n = 0; n < k; ++n) {
          std::uint32_t const row = expected[static_cast<std::size_t>(n)];
          if (rows(b, n, c) != row || bits_of(values(b, n, c)) != bits_of(p.x(b, row, c)))
            fail("top_k is wrong", p.describe(), describe_exec(exec));
        }
      }
  }
}

template <class Operator, class T, class Exec>
tensor<T> run_soft(Operator const& op, sort_problem<T> const& p, Exec const& exec) {
  extents3 const e = p.x.extents();
  auto y = garbage_tensor<T>(e), dx = garbage_tensor<T>(e);
  auto perm = garbage_tensor<std::uint32_t>(e), pools = garbage_tensor<std::uint32_t>(e);
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
  op.forward(exec, p.x.view(), y.view(), {perm.view(), pools.view()}, scratch.get(),
             {p.lengths_view()});
  op.backward(exec, p.dy.view(), p.x.view(), {perm.view(), pools.view()}, dx.view(), scratch.get(),
              {ss::grad_mode::overwrite, p.lengths_view()});
  if (!scratch.red_zones_intact())
    fail("soft_sort or soft_rank wrote outside of the workspace", p.describe(),
         describe_exec(exec));
  return y;
}

template <class T, class Exec>
void run_soft_sort(sort_problem<T> const& p, byte_reader& reader, Exec const& exec) {
  namespace regularization = ss::regularization;
  double const strength = static_cast<double>(reader.take() + 1) / 16;
  pattern_order const order{p.order};
  auto const hard = run_soft(ss::soft_sort(0.0, regularization::l2{}, order), p, exec);
  extents3 const e = p.x.extents();
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t n = 0; n < e.length; ++n)
      for (index_t c = 0; c < e.channels; ++c)
        if (bits_of(hard(b, n, c)) != bits_of(p.x(b, p.perm(b, n, c), c)))
          fail("soft_sort with strength 0 is not the sort", p.describe(), describe_exec(exec));
  run_soft(ss::soft_sort(strength, regularization::entropic{}, order), p, exec);
  run_soft(ss::soft_rank(strength, regularization::l2{}, order), p, exec);
}

template <class T>
void run_type(byte_reader& reader) {
  std::uint64_t const flags = reader.take(2);
  bool const in_place = (flags & 8) != 0, narrow_index = (flags & 16) != 0,
             has_lengths = (flags & 32) != 0, column_patterned = (flags & 64) != 0;

  extents3 const shape = read_extents(reader);
  sort_problem<T> p;
  p.order = reader.take() < 128 ? reader.take(8) : (flags & 128) != 0 ? up : down;
  p.title = "fuzzed";
  if (has_lengths) p.lengths = read_lengths(reader, shape);
  std::uint64_t const seed = reader.take(4);
  p.x = read_tensor<T>(reader, shape, seed, column_patterned);
  p.dy = tensor<T>(shape);
  random_stream random(seed);
  for (T& gradient : p.dy.elements())
    gradient = from_bits<T>(random.bits() & format_of<T>().mask());
  compute_expected(p);

  fuzzed_exec fuzzed(flags);
  auto const exec = fuzzed.get();
  auto const argsort_error = check_argsort<T, std::uint32_t>(p, exec, pattern_order{p.order});
  if (!argsort_error.empty()) fail(argsort_error, p.describe(), describe_exec(exec));
  if (narrow_index)
    run<std::uint16_t>(p, reader, exec, in_place);
  else
    run<std::uint32_t>(p, reader, exec, in_place);
  run_top_k(p, reader, exec);
  run_soft_sort(p, reader, exec);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<float, double, float16, bfloat16>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
