// SPDX-License-Identifier: Apache-2.0
// Products of small matrices in the accumulator's type: every element is one chain of fused
// multiply-adds in the order of the depth, so its bits depend on no tile and no vector. A block of
// sums stays in registers, where an element of a serves a row of vectors of b. Included once per
// instruction set, after rows.inl.

template <class A>
struct fused_products {
  using V = typename number_lanes<A>::V;
  static SLICESORT_INLINE V add(V const& a, V const& b, V const& sum) {
    return fused_lanes(a, b, sum);
  }
};

// `Products` says what a step of the depth adds: fused_products, or pairs of elements that lie in
// an A.
template <class A, class Products = fused_products<A>>
struct micro_kernel {
  using lanes = number_lanes<A>;
  using V = typename lanes::V;
  static constexpr int across = 3;  // vectors of a block, at most
  static_assert(product_columns % lanes::count == 0);
  static constexpr int rows = register_count == 32 ? 8 : vector_bytes == 32 ? 4 : 2;

  static_assert(product_rows % rows == 0);

  static void multiply(product_call<A> const& p) {
    for (int left = p.size.columns / lanes::count, column = 0; left > 0;) {
      int const vectors = left == 3 || left > 4 ? 3 : left > 1 ? 2 : 1;
      if (vectors == 3)
        panel<3>(p, column);
      else if (vectors == 2)
        panel<2>(p, column);
      else
        panel<1>(p, column);
      left -= vectors, column += vectors * lanes::count;
    }
  }

 private:
  template <int Across>
  static void panel(product_call<A> const& p, int column) {
    using places = std::make_index_sequence<std::size_t{rows * Across}>;
    for (int row = 0; row < p.size.rows; row += rows)
      if (p.a.step == 1)
        block<Across, true>(p, row, column, places{});
      else
        block<Across, false>(p, row, column, places{});
  }

  // Sum `At` is of row At / Across and vector At % Across. `Along`: neighbors of a row of a are
  // neighbors in memory; else those of a column are.
  template <int Across, bool Along, std::size_t... At>
  static SLICESORT_INLINE void block(product_call<A> const& p, int row, int column,
                                     std::index_sequence<At...>) {
    constexpr std::size_t wide = Across;
    index_t const a_row = Along ? p.a.row : 1;
    bool const any = p.size.depth > 0;  // else there may be no memory
    A const* a = any ? p.a.data + row * a_row : nullptr;
    A const* b = any ? p.b.data + column : nullptr;
    A* const c = p.c.data + row * p.c.pitch + column;
    V sum[] = {start<At % wide>(p, c + static_cast<index_t>(At / wide) * p.c.pitch, column)...};
    for (index_t k = 0; k < p.size.depth; ++k, b += p.b.pitch, a += Along ? 1 : p.a.step) {
      V const right[] = {load_lanes<V>(b + first_lane<At % wide, At / wide>)...};
      V every{};
      ((every = At % wide == 0 ? lanes::every(a[static_cast<index_t>(At / wide) * a_row]) : every,
        sum[At] = Products::add(every, right[At % wide], sum[At])),
       ...);
    }
    if (p.end.scale != A(1)) {
      V const scale = lanes::every(p.end.scale);
      ((sum[At] = fused_lanes(sum[At], scale, V{})), ...);
    }
    if (p.end.apart) {
      V const kept = lanes::every(p.end.kept);
      ((sum[At] = fused_lanes(load_lanes<V>(c + static_cast<index_t>(At / wide) * p.c.pitch +
                                            first_lane<At % wide, 0>),
                              kept, sum[At])),
       ...);
    }
    (store_lanes(c + static_cast<index_t>(At / wide) * p.c.pitch + first_lane<At % wide, 0>,
                 sum[At]),
     ...);
  }
  // The row's number keeps it a pack of all sums; the compiler sees that loads are the same.
  template <std::size_t Vector, std::size_t Row>
  static constexpr index_t first_lane = static_cast<index_t>(Vector) * lanes::count;
  template <std::size_t Vector>
  static SLICESORT_INLINE V start(product_call<A> const& p, A const* c, int column) {
    if (!p.end.adds || p.end.apart) return V{};
    V const there = load_lanes<V>(c + first_lane<Vector, 0>);
    if (p.end.factors == nullptr) return there;
    return fused_lanes(there, load_lanes<V>(p.end.factors + column + first_lane<Vector, 0>), V{});
  }
};

template <class T>
void choose_gemm_kernels(target, gemm_kernels<T>& use) {
  using rows = simd_rows<T, 0>;
  use.multiply = micro_kernel<detail::accumulator_t<T>>::multiply;
  use.load = rows::load;
  use.store = rows::template store<false>;
  use.add = rows::add;
}
