// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: bytes become a whole call of linear_attention (element type, features,
// divisor, direction, shape, layout, lengths, gradients, threads, instruction set, data); forward
// and backward must stay within the oracle's bounds, or, of any bits, be free of faults, and touch
// nothing else. Features of a caller's own must give the bits of those that they repeat.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "linear_attention/oracle.hpp"
#include "linear_attention/run_custom.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace support;

namespace {

// What the library's features are followed by: maps of a caller's.
constexpr std::size_t own_relu = feature_kinds, own_by_place = feature_kinds + 1;

linear_size read_size(byte_reader& in, bool causal) {
  auto const up_to = [&](index_t usual, index_t most) { return read_extent(in, usual, most); };
  linear_size s{up_to(2, 3),  up_to(2, 3),  up_to(40, 150), up_to(40, 150),
                up_to(9, 70), up_to(9, 70), up_to(12, 80)};
  if (causal) s.keys = s.queries;
  // The oracle takes its time.
  if (s.queries * s.keys > 1500) s.batch = std::min<index_t>(s.batch, 1);
  if (s.queries * s.keys > 1500) s.heads = std::min<index_t>(s.heads, 2);
  if (s.queries * s.keys > 3000) s.channels %= 10, s.values %= 10, s.rows_of_w %= 10;
  return s;
}

// A weight of random_fourier is at least -1, or -r / 16 with its other scale: a sum of them stays
// above what is added to it, and no divisor is near 0.
double least_eps(linear_size const& size, std::size_t feature) {
  auto const keys = static_cast<double>(size.keys), rows = static_cast<double>(size.rows_of_w);
  return feature == 5 ? 1 + keys * std::max(1.0, rows / 16) : 0.25;
}

template <class T>
void run_type(byte_reader& in) {
  std::uint64_t const flags = in.take(4);
  bool const causal = (flags & 32) != 0, any_bits = (flags & 4096) != 0;
  std::size_t const feature = in.take() % (feature_kinds + 2), divisor = in.take() % divisor_kinds;
  linear_size const size = read_size(in, causal);
  double const eps = least_eps(size, feature) + static_cast<double>(in.take()) / 16;
  auto p = normal_linear<T>(size, feature_number(std::min(feature, own_relu - 1), flags >> 6),
                            divisor_number(divisor, eps), causal, flags >> 16);
  own_feature const own{feature == own_relu ? own_kind::relu : own_kind::by_place,
                        (flags & 128) != 0 ? 0.25 : 0};
  if (feature >= own_relu) {
    p.feature = ss::feature::relu{own.eps};
    p.w.clear(), p.dw.clear(), p.shared_w = false;
  }
  if ((flags & 512) != 0) p.lengths = read_lengths(in, {size.batch, size.keys, 1});
  if ((flags & 1024) != 0) p.query_lengths = read_lengths(in, {size.batch, size.queries, 1});
  p.gradients = static_cast<unsigned>(in.take() % 16);
  p.mode = (flags & 2048) != 0 ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
  memory_layout const layout{static_cast<int>(in.take() % memory_layout::count)};
  // NaN, infinities, denormals.
  if (any_bits)
    for (std::vector<T>* values : {&p.q, &p.k, &p.v, &p.w, &p.dy})
      for (std::size_t i = 0; i < values->size() && in.left() > 0; i += 1 + in.take() % 7)
        (*values)[i] = from_bits<T>(in.take(static_cast<int>(sizeof(T))));
  p.title = "fuzzed";

  fuzzed_exec exec(flags >> 3);
  auto const exec = exec.get();
  auto const run = [&](auto const& how, memory_layout l) {
    return feature >= own_relu ? run_custom(own, p, how, l) : run_linear(p, how, l);
  };
  auto const got = run(exec, layout);
  if (any_bits || feature >= own_relu) {
    // No answer to look up, but no fault either, and the same bits twice.
    require(got.wrong, p.describe(), describe_exec(exec));
    if (!same_results(got, run(exec, layout)))
      fail("two results of one call", p.describe(), describe_exec(exec));
  }
  if (any_bits) return;
  if (!same_results(got, run(ss::exec::host{}, {})))
    fail("other bits than a thread's, of contiguous tensors", p.describe(), describe_exec(exec));
  if (feature == own_by_place) return;
  if (feature == own_relu && !same_results(got, run_linear(p, exec, layout)))
    fail("other bits than the library's relu", p.describe(), describe_exec(exec));
  require(check_linear(p, linear_oracle<T>(p).answer(), got), "", describe_exec(exec));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<bfloat16, float, double, float16>(
      data, size, [](byte_reader& in, auto element) { run_type<decltype(element)>(in); });
}
