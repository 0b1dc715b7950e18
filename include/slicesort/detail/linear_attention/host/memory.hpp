// SPDX-License-Identifier: Apache-2.0
// The memory of a thread of linear_attention on the host: matrices of a tile, which the heads of a
// group take turns in, and what each of these heads keeps from tile to tile.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/linear_attention/host/features.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

SLICESORT_DETAIL_BEGIN

inline constexpr int most_heads_together = 4;

// Whether the heads of a group take turns tile by tile, or come one after the other. They take
// turns if they lie side by side in the rows of a tensor: these are then read in long pieces, in
// order, as prefetching, pages and the sets of a cache want it.
template <class T>
bool gain_by_interleaving(linear_attention_inputs<T> const& in, linear_attention_shape const& s) {
  auto const side_by_side = [](tensor4<T const> t) {
    strides4 const by = t.strides();
    return std::abs(by.heads) < std::abs(by.length);
  };
  return std::max(s.queries, s.keys) > tile_rows_of_linear &&
         (side_by_side(in.q) || side_by_side(in.k) || side_by_side(in.v));
}

// How many heads of a sample a task has: what they keep from tile to tile has to stay in the
// second-level cache, and no thread may have more to do than it had with tasks of one head.
template <class A>
int heads_together(linear_attention_shape const& s, unsigned threads) {
  constexpr std::size_t of_cache = std::size_t{320} << 10;
  linear_widths const width(s);
  amount const bytes = (amount(width.features) * (amount(4) * width.values + amount(2)) +
                        amount(2) * width.w * width.channels) *
                       sizeof(A);
  auto const rounds = [&](index_t tasks_of_sample) {
    std::size_t const tasks = (amount(s.batch) * tasks_of_sample).number();
    return (tasks - 1) / std::max(threads, 1U) + 1;
  };
  index_t together = std::min<index_t>(most_heads_together, s.heads);
  for (; together > 1; --together)
    if ((bytes * together).number() <= of_cache &&
        (amount(rounds((s.heads + together - 1) / together)) * together).number() <=
            rounds(s.heads))
      break;
  return static_cast<int>(together);
}

// Sums over rows: S and Z, or their gradients U and u.
template <class A>
struct linear_sums {
  A* matrix = nullptr;      // [feature][value]
  A* transposed = nullptr;  // [value][feature]; backward
  A* row = nullptr;         // [feature]

  linear_sums() = default;
  linear_sums(arena& a, linear_attention_shape const& s, bool backward) {
    linear_widths const width(s);
    amount const all = amount(width.features) * width.values;
    matrix = a.take<A>(all);
    transposed = a.take<A>(backward ? all : amount(0));
    row = a.take<A>(width.features);
  }
  void clear(linear_widths const& width) const {
    std::fill(matrix, matrix + width.features * width.values, A(0));
    if (transposed != nullptr)
      std::fill(transposed, transposed + width.features * width.values, A(0));
    std::fill(row, row + width.features, A(0));
  }
};

// What a head keeps from tile to tile.
template <class A>
struct memory_of_head {
  linear_sums<A> sums, gradients;
  w_memory<A> w;
  A* maxima = nullptr;                   // of random_exp: of all keys together; causal: of each
  A *inverses = nullptr, *cs = nullptr;  // where causal, backward: of all queries

  memory_of_head() = default;
  memory_of_head(arena& a, linear_attention_shape const& s, bool backward)
      : sums(a, s, backward), w(a, s) {
    if (backward) gradients = linear_sums<A>(a, s, true);
    bool const twice = s.causal && backward;
    maxima = a.take<A>(!s.feature.has_maximum() ? 0 : twice ? s.keys : 1);
    inverses = a.take<A>(twice ? s.queries : 0);
    cs = a.take<A>(twice ? s.queries : 0);
  }
};

// Matrices of a tile.
template <class A>
struct memory_of_tile {
  feature_memory<A> queries, keys;
  A *values, *results;         // [row][value]: of keys, or of queries; y, or dv
  A* of_queries;               // [row][value]: g
  A *d, *inverse, *c;          // of a tile's queries
  A* factors;                  // of a tile's rows
  A *weights, *products;       // where causal [query][key]: P, G
  A *lanes, *lanes_of_values;  // where causal phi(k) and v with a key in each lane
  A* running;                  // where causal [row][feature]: Z of every query
  A* weighted;                 // where causal [row][feature]: features times row factors
  A* weighted_values;          // likewise [row][value]

  memory_of_tile(arena& a, linear_attention_shape const& s, bool backward)
      : queries(a, s, backward), keys(a, s, backward) {
    constexpr int rows = tile_rows_of_linear;
    linear_widths const width(s);
    auto const matrix = [&](index_t columns, bool needed = true) {
      return a.take<A>(needed ? amount(rows) * columns : amount(0));
    };
    bool const causal = s.causal, twice = causal && backward;
    values = matrix(width.values);
    results = matrix(width.values);
    of_queries = matrix(width.values, backward);
    d = a.take<A>(rows), inverse = a.take<A>(rows), c = a.take<A>(rows);
    factors = a.take<A>(rows);
    weights = matrix(rows, causal);
    products = matrix(rows, twice);
    lanes = matrix(width.features, causal);
    lanes_of_values = matrix(width.values, twice);
    running = matrix(width.features, twice);
    weighted = matrix(width.features, causal && s.feature.has_maximum());
    weighted_values = matrix(width.values, twice && s.feature.has_maximum());
  }
};

// What a thread needs, and what one head uses of it.
template <class A>
struct linear_slot : memory_of_tile<A>, memory_of_head<A> {
  linear_slot(memory_of_tile<A> const& tile, memory_of_head<A> const& head)
      : memory_of_tile<A>(tile), memory_of_head<A>(head) {}
};
template <class A>
struct linear_memory {
  memory_of_tile<A> tile;
  memory_of_head<A> heads[most_heads_together];

  linear_memory(arena& a, linear_attention_shape const& s, bool backward, int together)
      : tile(a, s, backward) {
    for (int h = 0; h < together; ++h) heads[h] = memory_of_head<A>(a, s, backward);
  }
  linear_slot<A> of_head(int h) const { return {tile, heads[h]}; }
};

SLICESORT_DETAIL_END
