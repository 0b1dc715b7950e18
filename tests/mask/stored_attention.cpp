// SPDX-License-Identifier: Apache-2.0
// Softmax attention with masks that read tensors, alone and combined, compared with the oracle: on
// the host, and with the kernels on the block executor.
#include "softmax_attention/masks.hpp"
#include "support/inputs.hpp"

#include <slicesort/softmax_attention.hpp>
#if !defined(SLICESORT_TEST_HOST_ONLY)
#  include "operators/block_kernels.hpp"

#  include <slicesort/detail/softmax_attention/device.hpp>
#endif

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace support;

namespace {

namespace mask = ss::mask;

// Checks a problem on the host and on the executor.
template <class Mask, class T>
std::string check_everywhere(Mask const& mask, attention_problem<T> const& p) {
  std::string error = check_with_mask(mask, p, ss::exec::host{2});
#if !defined(SLICESORT_TEST_HOST_ONLY)
  if (!error.empty()) return error;
  solved_attention<T> const solved(with_mask(p, mask));
  block_exec const exec;
  auto const results = run_with_mask(mask, solved.problem, exec, ss::streaming{}, memory_layout{});
  error = check_results(solved, any_exec(exec), ss::streaming{}, results);
#endif
  return error;
}

// A table in which rectangles are true, false or random.
std::unique_ptr<bool[]> random_table(extents4 e, std::uint64_t seed) {
  random_stream random(seed);
  std::unique_ptr<bool[]> table(new bool[static_cast<std::size_t>(e.size())]);
  std::size_t n = 0;
  for (index_t plane = 0; plane < e.batch * e.heads; ++plane) {
    std::vector<std::uint64_t> kinds(64);
    for (std::uint64_t& kind : kinds) kind = random.below(3);
    for (index_t i = 0; i < e.length; ++i)
      for (index_t j = 0; j < e.channels; ++j) {
        std::uint64_t const kind = kinds[static_cast<std::size_t>(i / 40 % 8 * 8 + j / 35 % 8)];
        table[n++] = kind == 2 ? random.below(2) == 0 : kind == 1;
      }
  }
  return table;
}

}  // namespace

// A mask does not see elements, so each kind is compiled for one type.
TEST_CASE("a table of booleans") {
  std::uint64_t seed = 400;
  attention_size const size{2, 2, 130, 150, 8, 9};
  for (extents4 e : {extents4{2, 2, 130, 150}, extents4{1, 2, 130, 150}, extents4{1, 1, 130, 150},
                     extents4{2, 1, 1, 150}}) {
    auto const table = random_table(e, ++seed);
    auto const p = random_attention<float>(size, seed, mask_kind::full);
    mask::tensor const m{{table.get(), e}};
    CHECK(check_everywhere(m, p) == "");
    if (e.batch == 1) continue;
    CHECK(check_with_mask(mask::both{mask::causal{20}, m}, p, ss::exec::host{2}) == "");
    CHECK(check_with_mask(mask::either{mask::window{8, 8}, m}, p, ss::exec::host{}) == "");
  }
}

TEST_CASE("a table with strides") {
  attention_size const size{2, 2, 70, 90, 5, 6};
  auto const table = random_table({90, 2, 70, 2}, 7);  // keys outermost
  mask::tensor const m{{table.get(), {2, 2, 70, 90}, {1, 140, 2, 280}}};
  CHECK(check_everywhere(m, random_attention<float>(size, 8, mask_kind::full)) == "");
}

TEST_CASE("segments") {
  using T = bfloat16;
  std::uint64_t seed = 250;
  std::vector<std::int32_t> const offsets{0, 1, 40, 40, 100, 128, 150},
      keys{0, 9, 12, 70, 99, 99, 160};
  mask::segments<std::int32_t> const m{{offsets.data(), offsets.size()}},
      cross{{offsets.data(), offsets.size()}, {keys.data(), keys.size()}};
  for (attention_size size :
       {attention_size{1, 2, 150, 150, 8, 9}, attention_size{2, 1, 160, 170, 5, 17}}) {
    CHECK(check_everywhere(m, random_attention<T>(size, ++seed, mask_kind::full)) == "");
    CHECK(check_everywhere(mask::both{mask::causal{}, m},
                           random_attention<T>(size, ++seed, mask_kind::full)) == "");
    CHECK(check_everywhere(cross, random_attention<T>(size, ++seed, mask_kind::full)) == "");
    CHECK(check_with_mask(mask::either{mask::globals{2}, m},
                          random_attention<T>(size, ++seed, mask_kind::full),
                          ss::exec::host{}) == "");
  }
}
