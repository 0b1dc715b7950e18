// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of linear_attention (element type, features,
// divisor, direction, shape, layout, lengths, gradients, threads, instruction set, data). Forward
// and backward must stay within the error bounds of the reference and write nothing else; with
// arbitrary bits as data they must run without faults. A custom feature map must give the same bits
// as the built-in one.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "linear_attention/oracle.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace support;

namespace {

// Indices of custom feature maps; they follow the built-in ones.
constexpr std::size_t custom_relu = feature_kinds, custom_positional = feature_kinds + 1;

linear_size read_size(byte_reader& reader, bool causal) {
  auto const extent = [&](index_t typical, index_t max) {
    return read_extent(reader, typical, max);
  };
  linear_size size{extent(2, 3),  extent(2, 3),  extent(40, 150), extent(40, 150),
                   extent(9, 70), extent(9, 70), extent(12, 80)};
  if (causal) size.keys = size.queries;
  // The reference is slow.
  if (size.queries * size.keys > 1500) size.batch = std::min<index_t>(size.batch, 1);
  if (size.queries * size.keys > 1500) size.heads = std::min<index_t>(size.heads, 2);
  if (size.queries * size.keys > 3000) size.channels %= 10, size.values %= 10, size.w_rows %= 10;
  return size;
}

// Index of the built-in feature random_fourier.
constexpr std::size_t random_fourier_feature = 5;

// Returns an eps that keeps all divisors away from 0. A weight of random_fourier is at least -1, or
// at least -w_rows / 16 with an explicit scale.
double min_eps(linear_size const& size, std::size_t feature) {
  auto const keys = static_cast<double>(size.keys), rows = static_cast<double>(size.w_rows);
  return feature == random_fourier_feature ? 1 + keys * std::max(1.0, rows / 16) : 0.25;
}

template <class T>
void run_type(byte_reader& reader) {
  std::uint64_t const flags = reader.take(4);
  bool const causal = (flags & 32) != 0, has_feature_eps = (flags & 128) != 0,
             has_lengths = (flags & 512) != 0, has_query_lengths = (flags & 1024) != 0,
             accumulates = (flags & 2048) != 0, arbitrary_bits = (flags & 4096) != 0;
  std::size_t const feature = reader.take() % (feature_kinds + 2),
                    divisor = reader.take() % divisor_kinds;
  linear_size const size = read_size(reader, causal);
  double const eps = min_eps(size, feature) + static_cast<double>(reader.take()) / 16;
  auto p = normal_linear<T>(size, make_feature(std::min(feature, custom_relu - 1), flags >> 6),
                            make_divisor(divisor, eps), causal, flags >> 16);
  custom_feature const feature_map{
      feature == custom_relu ? custom_feature_kind::relu : custom_feature_kind::positional,
      has_feature_eps ? 0.25 : 0};
  if (feature >= custom_relu) {
    p.feature = ss::feature::relu{feature_map.eps};
    p.w.clear(), p.dw.clear(), p.shared_w = false;
  }
  if (has_lengths) p.lengths = read_lengths(reader, {size.batch, size.keys, 1});
  if (has_query_lengths) p.query_lengths = read_lengths(reader, {size.batch, size.queries, 1});
  p.gradients = static_cast<unsigned>(reader.take() % 16);
  p.mode = accumulates ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
  memory_layout const layout{static_cast<int>(reader.take() % memory_layout::count)};
  // Arbitrary bits: NaN, infinities, subnormal numbers.
  if (arbitrary_bits)
    for (std::vector<T>* values : {&p.q, &p.k, &p.v, &p.w, &p.dy})
      for (std::size_t i = 0; i < values->size() && reader.remaining() > 0;
           i += 1 + reader.take() % 7)
        (*values)[i] = from_bits<T>(reader.take(static_cast<int>(sizeof(T))));
  p.title = "fuzzed";

  fuzzed_exec fuzzed_policy(flags >> 3);
  auto const exec = fuzzed_policy.get();
  auto const run = [&](auto const& policy, memory_layout memory) {
    return feature >= custom_relu ? run_custom(feature_map, p, policy, memory)
                                  : run_linear(p, policy, memory);
  };
  auto const results = run(exec, layout);
  if (arbitrary_bits || feature >= custom_relu) {
    // There is no reference; two runs must give the same bits.
    require_no_error(results.wrong, p.describe(), describe_exec(exec));
    if (!same_results(results, run(exec, layout)))
      fail("a repeated call gives different bits", p.describe(), describe_exec(exec));
  }
  if (arbitrary_bits) return;
  if (!same_results(results, run(ss::exec::host{}, {})))
    fail("different bits than one thread on contiguous tensors", p.describe(), describe_exec(exec));
  if (feature == custom_positional) return;
  if (feature == custom_relu && !same_results(results, run_linear(p, exec, layout)))
    fail("different bits than the built-in relu", p.describe(), describe_exec(exec));
  require_no_error(check_linear(p, linear_oracle<T>(p).answer(), results), "", describe_exec(exec));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<bfloat16, float, double, float16>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
