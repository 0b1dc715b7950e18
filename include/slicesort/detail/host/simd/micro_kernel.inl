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
  static_assert(product_columns % lanes::count == 0);
  static constexpr int rows = register_count == 32 ? 8 : vector_bytes == 32 ? 4 : 2;

  static_assert(product_rows % rows == 0);

  SLICESORT_FLATTEN static void multiply(product_call<A> const& p) {
    bool const along = p.a.step == 1;
    for (int left = p.size.columns / lanes::count, column = 0; left > 0;) {
      int const vectors = left == 3 || left > 4 ? 3 : left > 1 ? 2 : 1;
      if (vectors == 3)
        along ? panel<3, true>(p, column) : panel<3, false>(p, column);
      else if (vectors == 2)
        along ? panel<2, true>(p, column) : panel<2, false>(p, column);
      else
        along ? panel<1, true>(p, column) : panel<1, false>(p, column);
      left -= vectors, column += vectors * lanes::count;
    }
  }

 private:
  // Multiplies all rows of a by `Across` vectors of b. `Along`: neighbors of a row of a are
  // neighbors in memory; else those of a column are.
  template <int Across, bool Along>
  static void panel(product_call<A> const& p, int column) {
    constexpr int width = lanes::count;
    index_t const a_row = Along ? p.a.row : 1;
    bool const deep = p.size.depth > 0;  // else there may be no memory
    for (int row = 0; row < p.size.rows; row += rows) {
      A const* a = deep ? p.a.data + row * a_row : nullptr;
      A const* b = deep ? p.b.data + column : nullptr;
      A* const c = p.c.data + row * p.c.pitch + column;
      V sum[std::size_t{rows}][std::size_t{Across}] = {};
      if (p.end.adds && !p.end.apart)
        unrolled<rows * Across>([&](auto place) {
          int const i = place / Across, j = place % Across;
          sum[i][j] = load_lanes<V>(c + i * p.c.pitch + j * width);
          if (p.end.factors != nullptr)
            sum[i][j] =
                fused_lanes(sum[i][j], load_lanes<V>(p.end.factors + column + j * width), V{});
        });
      for (index_t k = 0; k < p.size.depth; ++k, b += p.b.pitch, a += Along ? 1 : p.a.step) {
        V right[std::size_t{Across}];
        unrolled<Across>([&](auto j) { right[j] = load_lanes<V>(b + j * width); });
        unrolled<rows>([&](auto i) {
          V const left = lanes::every(a[i * a_row]);
          unrolled<Across>([&](auto j) { sum[i][j] = Products::add(left, right[j], sum[i][j]); });
        });
      }
      if (p.end.scale != A(1)) {
        V const scale = lanes::every(p.end.scale);
        unrolled<rows * Across>([&](auto place) {
          int const i = place / Across, j = place % Across;
          sum[i][j] = fused_lanes(sum[i][j], scale, V{});
        });
      }
      if (p.end.apart) {
        V const kept = lanes::every(p.end.kept);
        unrolled<rows * Across>([&](auto place) {
          int const i = place / Across, j = place % Across;
          sum[i][j] = fused_lanes(load_lanes<V>(c + i * p.c.pitch + j * width), kept, sum[i][j]);
        });
      }
      unrolled<rows * Across>([&](auto place) {
        int const i = place / Across, j = place % Across;
        store_lanes(c + i * p.c.pitch + j * width, sum[i][j]);
      });
    }
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
