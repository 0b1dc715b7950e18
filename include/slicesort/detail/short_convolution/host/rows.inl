// SPDX-License-Identifier: Apache-2.0
// Vector loops of short_convolution over rows. Included once per instruction set, after
// value_lanes.inl.

template <class T>
struct convolution_loops {
  using lanes = value_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;
  // Sums in registers, enough to hide the latency of a multiply-add.
  static constexpr int rows_at_once = 8, taps_at_once = 4;
  // The number of taps of Mamba, whose loops are unrolled: tests of whether a row meets a tap would
  // take longer than the sums.
  static constexpr int unrolled_taps = 4;

  template <detail::row_output Output>
  SLICESORT_FLATTEN static void convolve(T const* const* rows, A const* weights, index_t taps,
                                         index_t count, index_t width, T* output, index_t pitch) {
    index_t n = 0;
    for (; n + rows_at_once <= count; n += rows_at_once)
      convolve_rows<rows_at_once, Output>(rows + n, weights, taps, width, output + n * pitch,
                                          pitch);
    for (; n < count; ++n)
      convolve_rows<1, Output>(rows + n, weights, taps, width, output + n * pitch, pitch);
    finish_streaming<Output == detail::row_output::stream>();
  }

  SLICESORT_FLATTEN static void correlate(T const* const* dy, T const* const* rows, index_t taps,
                                          index_t count, index_t width, double* sums) {
    index_t k = 0;
    for (; k + taps_at_once <= taps; k += taps_at_once)
      correlate_taps<taps_at_once>(dy, rows + k, count, width, sums + k * width);
    for (; k < taps; ++k) correlate_taps<1>(dy, rows + k, count, width, sums + k * width);
  }

 private:
  // Hardware prefetchers stop at the end of a page, which may be a single row.
  static SLICESORT_INLINE void prefetch(T const* row) {
#if SLICESORT_GNU_VECTORS
    __builtin_prefetch(row);
#else
    (void)row;
#endif
  }
  // The first `count` lanes are loaded; the others are 0.
  template <class Element>
  static V load_part(Element const* row, index_t count) {
    A values[std::size_t{lanes::count}] = {};
    for (index_t c = 0; c < count; ++c) values[c] = static_cast<A>(row[c]);
    return load_lanes<V>(values);
  }

  // Convolves a vector of columns from `c` on. `Taps` is 0 unless it is the number of taps.
  template <int Taps, int Rows, detail::row_output Output>
  static SLICESORT_INLINE void convolve_columns(T const* const* rows, A const* weights,
                                                index_t taps, index_t width, index_t c, T* output,
                                                index_t pitch) {
    V sum[std::size_t{Rows}];
    unrolled<Rows>([&](auto r) {
      sum[r] = V{};
      prefetch(rows[taps - 1 + Rows + r] + c);
    });
    // Input row j meets tap j - r of output row r, and is loaded once for all of them.
    if constexpr (Taps != 0) {
      unrolled<Rows + Taps - 1>([&](auto j) {
        V const x = lanes::load(rows[j] + c);
        unrolled<Rows>([&](auto r) {
          constexpr int tap = decltype(j)::value - decltype(r)::value;
          if constexpr (tap >= 0 && tap < Taps)
            sum[r] = fused_lanes(load_lanes<V>(weights + tap * width + c), x, sum[r]);
        });
      });
    } else {
      auto const add_row = [&](index_t j, auto checked) {
        V const x = lanes::load(rows[j] + c);
        unrolled<Rows>([&](auto r) {
          if (!checked || (j >= r && j - r < taps))
            sum[r] = fused_lanes(load_lanes<V>(weights + (j - r) * width + c), x, sum[r]);
        });
      };
      index_t j = 0;
      for (; j < Rows - 1; ++j) add_row(j, std::true_type{});
      for (; j < taps; ++j) add_row(j, std::false_type{});
      for (; j < taps + Rows - 1; ++j) add_row(j, std::true_type{});
    }
    unrolled<Rows>([&](auto r) {
      T* const target = output + r * pitch + c;
      lanes::template store<Output == detail::row_output::stream>(
          target,
          Output == detail::row_output::add ? lanes::plus(lanes::load(target), sum[r]) : sum[r]);
    });
  }

  template <int Rows, detail::row_output Output>
  static SLICESORT_INLINE void convolve_rows(T const* const* rows, A const* weights, index_t taps,
                                             index_t width, T* output, index_t pitch) {
    constexpr bool adds = Output == detail::row_output::add;
    index_t c = 0;
    if (taps == unrolled_taps)
      for (; c + lanes::count <= width; c += lanes::count)
        convolve_columns<unrolled_taps, Rows, Output>(rows, weights, taps, width, c, output, pitch);
    for (; c + lanes::count <= width; c += lanes::count)
      convolve_columns<0, Rows, Output>(rows, weights, taps, width, c, output, pitch);
    index_t const rest = width - c;
    if (rest == 0) return;
    for (int r = 0; r < Rows; ++r) {
      V last{};
      for (index_t k = 0; k < taps; ++k)
        last = fused_lanes(load_part(weights + k * width + c, rest),
                           load_part(rows[k + r] + c, rest), last);
      A values[std::size_t{lanes::count}];
      store_lanes(values, last);
      T* const target = output + r * pitch + c;
      for (index_t i = 0; i < rest; ++i)
        target[i] = detail::rounded<T>(adds ? static_cast<A>(target[i]) + values[i] : values[i]);
    }
  }

  template <int Taps>
  static SLICESORT_INLINE void correlate_taps(T const* const* dy, T const* const* rows,
                                              index_t count, index_t width, double* sums) {
    V sum[std::size_t{Taps}];
    A values[std::size_t{lanes::count}];
    auto const add = [&](index_t c, index_t columns) {
      for (int k = 0; k < Taps; ++k) {
        store_lanes(values, sum[k]);
        for (index_t i = 0; i < columns; ++i)
          sums[k * width + c + i] += static_cast<double>(values[i]);
      }
    };
    index_t c = 0;
    for (; c + lanes::count <= width; c += lanes::count) {
      unrolled<Taps>([&](auto k) { sum[k] = V{}; });
      for (index_t n = 0; n < count; ++n) {
        V const gradient = lanes::load(dy[n] + c);
        unrolled<Taps>(
            [&](auto k) { sum[k] = fused_lanes(gradient, lanes::load(rows[n + k] + c), sum[k]); });
      }
      add(c, lanes::count);
    }
    if (c == width) return;
    for (int k = 0; k < Taps; ++k) {
      sum[k] = V{};
      for (index_t n = 0; n < count; ++n)
        sum[k] = fused_lanes(load_part(dy[n] + c, width - c), load_part(rows[n + k] + c, width - c),
                             sum[k]);
    }
    add(c, width - c);
  }
};

template <class T>
void choose_convolution_kernels(target, convolution_kernels<T>& table) {
  using loops = convolution_loops<T>;
  table.store = loops::template convolve<detail::row_output::store>;
  table.stream = loops::template convolve<detail::row_output::stream>;
  table.add = loops::template convolve<detail::row_output::add>;
  table.correlate = loops::correlate;
}
