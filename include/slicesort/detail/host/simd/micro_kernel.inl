// SPDX-License-Identifier: Apache-2.0
// Micro kernel: each element accumulates fused multiply-adds in ascending order of the depth, so
// its bits do not depend on tile or vector sizes. Keeps a block of sums in registers and multiplies
// each element of a by several vectors of b. Included for each instruction set, after rows.inl.

template <class A>
struct fused_products {
  using V = typename value_lanes<A>::V;
  static SLICESORT_INLINE V add(V const& a, V const& b, V const& sum) {
    return fused_lanes(a, b, sum);
  }
};

// `Products` defines one step along the depth: fused_products, or products of pairs of elements
// that are packed in an A.
template <class A, class Products = fused_products<A>>
struct micro_kernel {
  using lanes = value_lanes<A>;
  using V = typename lanes::V;
  static_assert(product_columns % lanes::count == 0);
  static constexpr int rows = register_count == 32 ? 8 : vector_bytes == 32 ? 4 : 2;

  static_assert(product_rows % rows == 0);

  SLICESORT_FLATTEN static void multiply(product_params<A> const& params) {
    bool const row_major = params.a.depth_stride == 1;
    for (int remaining = params.size.columns / lanes::count, column = 0; remaining > 0;) {
      int const vectors = remaining == 3 || remaining > 4 ? 3 : remaining > 1 ? 2 : 1;
      if (vectors == 3)
        row_major ? multiply_panel<3, true>(params, column)
                  : multiply_panel<3, false>(params, column);
      else if (vectors == 2)
        row_major ? multiply_panel<2, true>(params, column)
                  : multiply_panel<2, false>(params, column);
      else
        row_major ? multiply_panel<1, true>(params, column)
                  : multiply_panel<1, false>(params, column);
      remaining -= vectors, column += vectors * lanes::count;
    }
  }

 private:
  // Multiplies all rows of a by `Across` vectors of b. `RowMajor` is true if the rows of a are
  // contiguous, false if its columns are.
  template <int Across, bool RowMajor>
  static void multiply_panel(product_params<A> const& params, int column) {
    constexpr int width = lanes::count;
    index_t const a_row = RowMajor ? params.a.row_stride : 1;
    bool const has_depth = params.size.depth > 0;  // otherwise a and b may be null
    for (int row = 0; row < params.size.rows; row += rows) {
      A const* a = has_depth ? params.a.data + row * a_row : nullptr;
      A const* b = has_depth ? params.b.data + column : nullptr;
      A* const c = params.c.data + row * params.c.pitch + column;
      V sum[std::size_t{rows}][std::size_t{Across}] = {};
      if (params.epilogue.accumulate)
        unrolled<rows * Across>([&](auto n) {
          int const i = n / Across, j = n % Across;
          sum[i][j] = load_lanes<V>(c + i * params.c.pitch + j * width);
          if (params.epilogue.factors != nullptr)
            sum[i][j] = fused_lanes(
                sum[i][j], load_lanes<V>(params.epilogue.factors + column + j * width), V{});
        });
      for (index_t k = 0; k < params.size.depth;
           ++k, b += params.b.pitch, a += RowMajor ? 1 : params.a.depth_stride) {
        V b_row[std::size_t{Across}];
        unrolled<Across>([&](auto j) { b_row[j] = load_lanes<V>(b + j * width); });
        unrolled<rows>([&](auto i) {
          V const a_i = lanes::splat(a[i * a_row]);
          unrolled<Across>([&](auto j) { sum[i][j] = Products::add(a_i, b_row[j], sum[i][j]); });
        });
      }
      if (params.epilogue.scale != A(1)) {
        V const scale = lanes::splat(params.epilogue.scale);
        unrolled<rows * Across>([&](auto n) {
          int const i = n / Across, j = n % Across;
          sum[i][j] = fused_lanes(sum[i][j], scale, V{});
        });
      }
      if (params.epilogue.separate_sum) {
        V const c_scale = lanes::splat(params.epilogue.c_scale);
        unrolled<rows * Across>([&](auto n) {
          int const i = n / Across, j = n % Across;
          sum[i][j] =
              fused_lanes(load_lanes<V>(c + i * params.c.pitch + j * width), c_scale, sum[i][j]);
        });
      }
      if (params.epilogue.is_output)
        unrolled<rows * Across>([&](auto n) {
          int const i = n / Across, j = n % Across;
          lanes::template store<false>(c + i * params.c.pitch + j * width, sum[i][j]);
        });
      else
        unrolled<rows * Across>([&](auto n) {
          int const i = n / Across, j = n % Across;
          store_lanes(c + i * params.c.pitch + j * width, sum[i][j]);
        });
    }
  }
};

template <class T>
void choose_gemm_kernels(target, gemm_kernels<T>& kernels) {
  using rows = simd_rows<T, 0>;
  kernels.multiply = micro_kernel<detail::accumulator_t<T>>::multiply;
  kernels.load = rows::load;
  kernels.store = rows::template store<false>;
  kernels.add = rows::add;
}
