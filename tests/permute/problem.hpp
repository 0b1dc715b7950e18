// SPDX-License-Identifier: Apache-2.0
// Cases of permute: a random permutation of every column, and the results of two nested loops.
#pragma once

#include "support/variants.hpp"

#include <slicesort/permute.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace support {

template <class T>
struct permute_problem : variant_problem<T> {
  tensor<std::uint32_t> perm;  // invalid indices in padding rows, which must not be read

  // Computes the expected y and dx.
  void compute_expected() {
    extents3 const e = this->x.extents();
    this->y = this->x;
    this->dx = this->dy;
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      if (n >= this->rows(b)) return;
      auto const row = static_cast<index_t>(perm(b, n, c));
      this->y(b, n, c) = this->x(b, row, c);
      this->dx(b, row, c) = this->dy(b, n, c);
    });
  }
  permute_problem sample(index_t b) const {
    permute_problem result;
    result.x = sample_of(this->x, b), result.dy = sample_of(this->dy, b);
    result.y = sample_of(this->y, b), result.dx = sample_of(this->dx, b);
    result.perm = sample_of(perm, b);
    if (!this->lengths.empty()) result.lengths = {this->rows(b)};
    return result;
  }
};

// Returns a random permutation for every column; padding rows hold an invalid index.
inline tensor<std::uint32_t> random_permutations(extents3 e, std::uint64_t seed,
                                                 std::vector<index_t> const& lengths) {
  tensor<std::uint32_t> perm(e);
  for (std::uint32_t& row : perm.elements()) row = 0xdeadbeefu;
  random_stream random(seed);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      auto const rows = lengths.empty() ? e.length : lengths[static_cast<std::size_t>(b)];
      std::vector<std::uint32_t> p(static_cast<std::size_t>(rows));
      std::iota(p.begin(), p.end(), 0u);
      for (std::size_t i = p.size(); i > 1; --i) std::swap(p[i - 1], p[random.below(i)]);
      perm.set_column(b, c, p);
    }
  return perm;
}
template <class T>
permute_problem<T> make_random_problem(extents3 e, std::uint64_t seed,
                                       std::vector<index_t> lengths = {}) {
  permute_problem<T> p;
  p.lengths = std::move(lengths);
  p.x = mixed_tensor<T>(e, all_kinds, seed);
  p.dy = mixed_tensor<T>(e, all_kinds, seed + 1);
  p.perm = random_permutations(e, seed + 2, p.lengths);
  p.compute_expected();
  return p;
}

// Returns the permutations as saved indices of type Index, in one of three memory layouts.
template <class Index>
strided_tensor<Index> make_saved(tensor<std::uint32_t> const& perm, std::uint64_t layout = 0) {
  extents3 const e = perm.extents();
  tensor<Index> indices(e);
  for (std::size_t i = 0; i < indices.elements().size(); ++i)
    indices.elements()[i] = static_cast<Index>(perm.elements()[i]);
  strides3 const layouts[] = {row_major(e), strides_in_order(e, {2, 0, 1}),
                              strides_in_order(e, {1, 0, 2}, 3)};
  return {indices, layouts[layout % 3]};
}

// Returns the function that check_policies and check_layouts call, with these permutations.
template <class Index>
auto make_runner(tensor<std::uint32_t> const& perm, std::uint64_t layout = 0) {
  return [saved = make_saved<Index>(perm, layout)](any_exec const& exec, auto x, auto y, auto dy,
                                                   auto dx, auto lengths) {
    using T = typename decltype(y)::element_type;
    std::size_t const bytes = ss::permute::workspace_bytes<T>(exec, x.extents());
    guarded_workspace scratch(bytes), backward_scratch(bytes, 37, 0);
    ss::permute const op;
    op.forward(exec, x, {saved.view()}, y, scratch.get(), {lengths});
    op.backward(exec, dy, {saved.view()}, dx, backward_scratch.get(),
                {ss::grad_mode::overwrite, lengths});
    CHECK((scratch.red_zones_intact() && backward_scratch.red_zones_intact()));
    CHECK(saved.padding_intact());
  };
}

}  // namespace support
