// SPDX-License-Identifier: Apache-2.0
// Vector loops of decaying_sum over the rows of a tile. Included once per instruction set, after
// value_lanes.inl. The order of the arithmetic is in params.hpp.

template <class T, bool Complex, bool PerRow>
class decay_loops {
  using lanes = value_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;
  static constexpr int rows_at_once = 8, parts = Complex ? 2 : 1;
  static constexpr std::size_t tile_rows{detail::decay_tile_rows};

  // A number of every lane. im is used if complex.
  struct number {
    V re, im;
  };

 public:
  SLICESORT_FLATTEN static void forward(detail::decay_forward_tile<T> const& t) {
    index_t n = 0;
    for (; n + rows_at_once <= t.rows; n += rows_at_once) forward_rows<rows_at_once>(t, n);
    for (; n < t.rows; ++n) forward_rows<1>(t, n);
    if (t.output == detail::decay_output::stream) finish_streaming<true>();
  }
  SLICESORT_FLATTEN static void backward(detail::decay_backward_tile<T> const& t) {
    index_t c = 0;
    for (; c + lanes::count <= t.width; c += lanes::count) backward_columns<true>(t, c);
    if (c < t.width) backward_columns<false>(t, c);
  }

 private:
  template <int Rows>
  static SLICESORT_INLINE void forward_rows(detail::decay_forward_tile<T> const& t, index_t n) {
    index_t c = 0;
    for (; c + lanes::count <= t.width; c += lanes::count) forward_columns<Rows, true>(t, n, c);
    if (c < t.width) forward_columns<Rows, false>(t, n, c);
  }

  template <int Rows, bool Whole>
  static SLICESORT_INLINE void forward_columns(detail::decay_forward_tile<T> const& t, index_t n,
                                               index_t c) {
    index_t const rest = t.width - c;
    V x[std::size_t{Rows}], y[std::size_t{Rows}];
    unrolled<Rows>([&](auto r) {
      x[r] = load<Whole>(t.x.at(n + r) + c, rest);
      y[r] = V{};
      prefetch(t.x.at(n + r) + c, Rows * t.x.pitch);
    });
    for (index_t j = 0; j < t.states; ++j) {
      index_t const offset = j * parts * t.pitch + c;
      number s = load_number(t.state + offset, t.pitch), a = constant_a(t, offset);
      number const w = load_number(t.w + offset, t.pitch);
      unrolled<Rows>([&](auto r) {
        if constexpr (PerRow) a = row_of_a<Whole>(t, n + r, j, c, rest);
        s = next_state(a, s, x[r]);
        y[r] = fused_lanes(w.re, s.re, y[r]);
        if constexpr (Complex) y[r] = fused_lanes(-w.im, s.im, y[r]);
      });
      store_number(t.state + offset, t.pitch, s);
    }
    if (t.output == detail::decay_output::none) return;
    unrolled<Rows>([&](auto r) {
      T* const to = t.y.at(n + r) + c;
      if (Whole && t.output == detail::decay_output::stream)
        lanes::template store<true>(to, y[r]);
      else
        store<Whole>(to, y[r], rest, t.output == detail::decay_output::add);
    });
  }

  template <bool Whole>
  static SLICESORT_INLINE void backward_columns(detail::decay_backward_tile<T> const& t,
                                                index_t c) {
    index_t const rest = t.width - c;
    V dx[tile_rows];
    number states[tile_rows + 1];  // before every row, and behind the last one
    for (index_t r = 0; r < t.rows; ++r) dx[r] = V{};
    for (index_t j = 0; j < t.states; ++j) {
      index_t const offset = j * parts * t.pitch + c;
      number a = constant_a(t, offset);
      number const w = load_number(t.w + offset, t.pitch);
      states[0] = load_number(t.state + offset, t.pitch);
      for (index_t r = 0; r < t.rows; ++r) {
        if constexpr (PerRow) a = row_of_a<Whole>(t, r, j, c, rest);
        states[r + 1] = next_state(a, states[r], load<Whole>(t.x.at(r) + c, rest));
      }
      number g = load_number(t.gradient + offset, t.pitch), da{}, dw{};
      for (index_t r = t.rows - 1; r >= 0; --r) {
        V const dy = load<Whole>(t.dy.at(r) + c, rest);
        number lam{fused_lanes(w.re, dy, g.re), V{}};
        dw.re = fused_lanes(dy, states[r + 1].re, dw.re);
        if constexpr (Complex) {
          lam.im = fused_lanes(-w.im, dy, g.im);
          dw.im = fused_lanes(-dy, states[r + 1].im, dw.im);
        }
        dx[r] = lanes::plus(dx[r], lam.re);
        if constexpr (PerRow) {
          a = row_of_a<Whole>(t, r, j, c, rest);
          if (t.da.data != nullptr) {
            da = add_conjugate_product(lam, states[r], number{});
            store<Whole>(t.da.at(r, j * parts) + c, da.re, rest, t.adds_to_da);
            if constexpr (Complex)
              store<Whole>(t.da.at(r, j * parts + 1) + c, da.im, rest, t.adds_to_da);
          }
        } else {
          da = add_conjugate_product(lam, states[r], da);
        }
        if constexpr (Complex)
          g = {fused_lanes(a.re, lam.re, a.im * lam.im), fused_lanes(a.re, lam.im, -a.im * lam.re)};
        else
          g.re = a.re * lam.re;
      }
      store_number(t.gradient + offset, t.pitch, g);
      add_sums(t.w_sums + offset, t.pitch, dw);
      if constexpr (!PerRow) add_sums(t.a_sums + offset, t.pitch, da);
    }
    if (t.dx.data != nullptr)
      for (index_t r = 0; r < t.rows; ++r) store<Whole>(t.dx.at(r) + c, dx[r], rest, t.adds_to_dx);
  }

  static SLICESORT_INLINE number next_state(number const& a, number const& s, V const& x) {
    if constexpr (Complex)
      return {fused_lanes(a.re, s.re, fused_lanes(-a.im, s.im, x)),
              fused_lanes(a.re, s.im, a.im * s.re)};
    else
      return {fused_lanes(a.re, s.re, x), V{}};
  }
  // Returns sum + lam * conj(s).
  static SLICESORT_INLINE number add_conjugate_product(number const& lam, number const& s,
                                                       number const& sum) {
    if constexpr (Complex)
      return {fused_lanes(lam.re, s.re, fused_lanes(lam.im, s.im, sum.re)),
              fused_lanes(lam.im, s.re, fused_lanes(-lam.re, s.im, sum.im))};
    else
      return {fused_lanes(lam.re, s.re, sum.re), V{}};
  }

  static SLICESORT_INLINE number load_number(A const* from, index_t pitch) {
    number v{load_lanes<V>(from), V{}};
    if constexpr (Complex) v.im = load_lanes<V>(from + pitch);
    return v;
  }
  static SLICESORT_INLINE void store_number(A* to, index_t pitch, number const& v) {
    store_lanes(to, v.re);
    if constexpr (Complex) store_lanes(to + pitch, v.im);
  }
  static SLICESORT_INLINE number constant_a(detail::decay_tile<T> const& t, index_t offset) {
    if constexpr (PerRow)
      return (void)t, (void)offset, number{};
    else
      return load_number(t.a + offset, t.pitch);
  }
  template <bool Whole>
  static SLICESORT_INLINE number row_of_a(detail::decay_tile<T> const& t, index_t row,
                                          index_t state, index_t c, index_t rest) {
    number v{load<Whole>(t.a_rows.at(row, state * parts) + c, rest), V{}};
    if constexpr (Complex) v.im = load<Whole>(t.a_rows.at(row, state * parts + 1) + c, rest);
    return v;
  }

  // Without `Whole`, accesses the first `rest` lanes only; the others are loaded as 0.
  template <bool Whole>
  static SLICESORT_INLINE V load(T const* from, index_t rest) {
    if constexpr (Whole) return (void)rest, lanes::load(from);
    A values[std::size_t{lanes::count}] = {};
    for (index_t c = 0; c < rest; ++c) values[c] = static_cast<A>(from[c]);
    return load_lanes<V>(values);
  }
  template <bool Whole>
  static SLICESORT_INLINE void store(T* to, V const& v, index_t rest, bool adds) {
    V const sum = adds ? lanes::plus(load<Whole>(to, rest), v) : v;
    if constexpr (Whole) return lanes::template store<false>(to, sum);
    A values[std::size_t{lanes::count}];
    store_lanes(values, sum);
    for (index_t c = 0; c < rest; ++c) to[c] = detail::rounded<T>(values[c]);
  }
  static SLICESORT_INLINE void add_sums(double* to, index_t pitch, number const& v) {
    A values[std::size_t{lanes::count}];
    store_lanes(values, v.re);
    for (int c = 0; c < lanes::count; ++c) to[c] += static_cast<double>(values[c]);
    if constexpr (Complex) {
      store_lanes(values, v.im);
      for (int c = 0; c < lanes::count; ++c) to[pitch + c] += static_cast<double>(values[c]);
    }
  }
  // Prefetches `distance` elements ahead, because hardware prefetchers stop at the end of a page.
  // Computes the address as an integer, because it may lie outside the tensor.
  static SLICESORT_INLINE void prefetch(T const* row, index_t distance) {
#if SLICESORT_GNU_VECTORS
    __builtin_prefetch(reinterpret_cast<void const*>(
        reinterpret_cast<std::uintptr_t>(row) + static_cast<std::uintptr_t>(distance) * sizeof(T)));
#else
    (void)row, (void)distance;
#endif
  }
};

template <bool Complex, bool PerRow, class T>
void choose_decay_kernels(target, std::bool_constant<Complex>, std::bool_constant<PerRow>,
                          decay_kernels<T>& table) {
  using loops = decay_loops<T, Complex, PerRow>;
  table = {loops::forward, loops::backward};
}
