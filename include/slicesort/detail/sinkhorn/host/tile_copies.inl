// SPDX-License-Identifier: Apache-2.0
// Loads and stores of sinkhorn's tiles. Included once per instruction set, after lane_values.inl.

template <class T>
struct tile_copies {
  using lanes = value_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;
  using bits = typename lane_values<A>::bits;  // vectors are transposed as integers
  static constexpr int count = lanes::count, width = detail::sinkhorn_lanes<A>;
  static constexpr lane_values<A> values{};

  static void load(tile_elements<T const> const& from, A* tile) {
    index_t k = 0;
    if (from.lanes == width && from.lane_stride == 1) {
      for (; k < from.terms; ++k)
        for (int l = 0; l < width; l += count)
          store_lanes(tile + k * width + l, lanes::load(from.first + k * from.term_stride + l));
    } else if (from.lanes == width && from.term_stride == 1) {
      for (; k + count <= from.terms; k += count)
        for (int l = 0; l < width; l += count) {
          bits rows[std::size_t{count}];
          unrolled<count>([&](auto i) {
            rows[i] = values.bits_of(lanes::load(from.first + k + (l + i) * from.lane_stride));
          });
          transpose<count>(rows);
          unrolled<count>([&](auto i) { store_lanes(tile + (k + i) * width + l, rows[i]); });
        }
    }
    for (; k < from.terms; ++k)
      for (index_t l = 0; l < width; ++l)
        tile[k * width + l] =
            l < from.lanes ? static_cast<A>(from.first[k * from.term_stride + l * from.lane_stride])
                           : A(0);
  }

  static void store(A const* tile, tile_elements<T> const& to, grad_mode mode) {
    if (mode == grad_mode::accumulate)
      store_tile<true>(tile, to);
    else
      store_tile<false>(tile, to);
  }

 private:
  template <bool Add>
  static void store_tile(A const* tile, tile_elements<T> const& to) {
    index_t k = 0;
    if (to.lanes == width && to.lane_stride == 1) {
      for (; k < to.terms; ++k)
        for (int l = 0; l < width; l += count)
          store_sums<Add>(to.first + k * to.term_stride + l, load_lanes<V>(tile + k * width + l));
    } else if (to.lanes == width && to.term_stride == 1) {
      for (; k + count <= to.terms; k += count)
        for (int l = 0; l < width; l += count) {
          bits rows[std::size_t{count}];
          unrolled<count>([&](auto i) { rows[i] = load_lanes<bits>(tile + (k + i) * width + l); });
          transpose<count>(rows);
          unrolled<count>([&](auto i) {
            store_sums<Add>(to.first + k + (l + i) * to.lane_stride, values.value_of(rows[i]));
          });
        }
    }
    for (; k < to.terms; ++k)
      for (index_t l = 0; l < to.lanes; ++l)
        detail::element_store<T, Add>{}.sum(to.first[k * to.term_stride + l * to.lane_stride],
                                            tile[k * width + l]);
  }
  template <bool Add>
  static SLICESORT_INLINE void store_sums(T* to, V const& v) {
    lanes::template store<false>(to, Add ? lanes::plus(lanes::load(to), v) : v);
  }
};
