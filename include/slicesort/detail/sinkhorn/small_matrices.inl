// SPDX-License-Identifier: Apache-2.0
// Small matrices, one per lane, for scalars (loops.hpp) and for the vectors of each instruction set
// (host/tile_kernels.inl). Half-steps multiply factors of rows and columns, so they need no
// exponentials. exp(logit / tau) and the factors are numbers mantissa * 2^exponent. Exponents are
// values of their own, so nothing overflows or underflows, unless the logits of every row are close
// to each other. The bits are the same, because products with powers of two are exact.
//
// Proof that exponents stay small, in units of log 2: let the first half-step normalize rows.
// Logits are relative to the largest of their row, so they are in -D .. 0. Let u and w be the
// logarithms of the factors of rows and columns, and 2^s the longer side, s <= 8. Let no logit be
// minus infinity. Two elements of u (or of w) differ by at most D. No element of T exceeds 2^s, so
// u[i] + w[j] <= D + s. A half-step changes u[i] by -log(row sum), and row sums have the mean 1, so
// the mean of u never decreases; nor does that of w. After their first half-steps, both are at
// least -s. So all of u and w are between -D - s and 2 D + 2 s. Elements of T are at least
// 2^(-2 D - 2 s), because each row or column has one of at least 2^(-2 s). For D = 46, all of this
// fits in the exponent of a float.
//
// With logits of minus infinity, elements of u differ by at most D for each link of the path
// between their rows, at most 32 of them. If no doubly stochastic matrix has the same zeros,
// exponents grow by up to s every half-step, 2^20 in all. Then D = 2^17 keeps sums of
// exponents exact in float.

template <class Ops, int Vectors>
struct small_matrices_loops {
  using A = typename Ops::A;
  using Value = typename Ops::value;
  using functions = elementary<Ops>;
  using math = fused_math<Ops>;
  using sums = sinkhorn_sums<math, Value, Vectors>;
  using values = typename sums::values;
  using split = logit_split<Ops, Vectors>;
  using tile = detail::matrix_tile<A>;

  // Least exponent of elements that need no separate exponents.
  static constexpr A lowest_joint_exponent = -46;

  // A factor of a row or a column. The exponent is unused if exponents are joint.
  struct factor {
    Value mantissa, exponent;
  };

  // Implements half_steps.hpp.
  template <bool SeparateExponents>
  struct matrices {
    Ops ops;
    tile t;

    // Replaces x by y.
    SLICESORT_TILE_FUNCTION void forward() const {
      fill_initial_factors();
      detail::compute_potentials(*this, t.steps);
      index_t const last = t.steps.count - 1;
      for_each_value([&](index_t i, index_t j, index_t offset, int v) {
        ops.store(element(last, i, j, offset, v), t.x + offset);
      });
    }
    // Replaces x by dlogits.
    SLICESORT_TILE_FUNCTION void backward() const {
      fill_initial_factors();
      detail::compute_potentials(*this, t.steps);
      detail::compute_potential_grads(*this, t.steps);
      for_each_value([&](index_t i, index_t j, index_t offset, int v) {
        Value sum = ops.splat(A(0));
        for (index_t step = t.steps.count - 1; step >= 0; --step) {
          bool const rows = t.steps.normalizes_rows(step);
          Value const result = element(step, i, j, offset, v);
          if (step == t.steps.count - 1)
            sum = functions::product(ops, result, ops.load(t.dy + offset));
          Value const grad = load(t.vectors.grads_of(step) + (rows ? i : j) * t.lanes, v);
          sum = ops.fused(result, functions::negated(ops, divided_by_ratio(rows, grad, v)), sum);
        }
        ops.store(functions::product(ops, sum, ops.splat(t.inverse_tau)), t.x + offset);
      });
    }

    SLICESORT_TILE_FUNCTION void normalize(index_t step, bool rows) const {
      for (index_t number = 0; number < numbers(rows); ++number) {
        line const terms = line_of(rows, number, step - 1);
        A *const mantissas = t.vectors.potentials_of(step) + number * t.lanes,
                 *const exponents = t.vectors.exponents_of(step) + number * t.lanes;
        auto const numerator = [&](int v) { return rows ? ops.splat(A(1)) : load(t.ratios, v); };
        values sum, unused;
        if constexpr (SeparateExponents) {
          values maximum;
          sums::for_each_lane([&](int v) { maximum[v] = ops.splat(split::empty_exponent); });
          for (index_t k = 0; k < terms.size; ++k)
            sums::for_each_lane(
                [&](int v) { maximum[v] = ops.max(maximum[v], terms.exponent(ops, k, v)); });
          sums::sum_elements(ops, scaled_axis{terms, terms.size, maximum}, sum, unused);
          sums::for_each_lane([&](int v) {
            // A sum without terms is 0.
            Value const quotient = ops.divide(numerator(v), ops.max(sum[v], ops.splat(A(0.25))));
            Value exponent;
            store(functions::split_exponent(ops, quotient, exponent), mantissas, v);
            store(math::difference(ops, exponent, maximum[v]), exponents, v);
          });
        } else {
          sums::sum_elements(ops, joint_axis{terms, terms.size}, sum, unused);
          sums::for_each_lane(
              [&](int v) { store(ops.divide(numerator(v), sum[v]), mantissas, v); });
        }
      }
    }
    SLICESORT_TILE_FUNCTION void sum_output_grads(index_t step, bool rows) const {
      index_t const last = t.steps.count - 1, other = step == last ? step - 1 : step + 1;
      for (index_t number = 0; number < numbers(rows); ++number) {
        A const* const dy = t.dy + number * number_pitch(rows);
        index_t const pitch = term_pitch(rows);
        values const sum = sum_weighted(line_of(rows, number, other), step, number,
                                        [&](index_t k, int v) { return load(dy + k * pitch, v); });
        A* const result = t.vectors.grads_of(step) + number * t.lanes;
        sums::for_each_lane([&](int v) { store(sum[v], result, v); });
      }
    }
    SLICESORT_TILE_FUNCTION void subtract_sums(index_t step, bool rows) const {
      for (index_t number = 0; number < numbers(rows); ++number) {
        A const* const grads = t.vectors.grads_of(step + 1);
        values const sum =
            sum_weighted(line_of(rows, number, step + 1), step, number,
                         [&](index_t k, int v) { return load(grads + k * t.lanes, v); });
        A* const result = t.vectors.grads_of(step) + number * t.lanes;
        sums::for_each_lane([&](int v) {
          Value const minuend = step == t.steps.count - 2 ? load(result, v) : ops.splat(A(0));
          store(math::difference(ops, minuend, divided_by_ratio(!rows, sum[v], v)), result, v);
        });
      }
    }

   private:
    SLICESORT_SUMS_INLINE Value load(A const* numbers, int v) const {
      return ops.load(numbers + v * Ops::count);
    }
    SLICESORT_SUMS_INLINE void store(Value const& value, A* numbers, int v) const {
      ops.store(value, numbers + v * Ops::count);
    }
    // Elements of a row or a column, with the factors that a half-step has computed for them.
    struct line {
      A const *x, *exponents, *factor_mantissas, *factor_exponents;
      index_t size, pitch, factor_pitch;

      SLICESORT_SUMS_INLINE Value mantissa(Ops const& arithmetic, index_t k, int v) const {
        return arithmetic.load(x + k * pitch + v * Ops::count);
      }
      SLICESORT_SUMS_INLINE Value factor_mantissa(Ops const& arithmetic, index_t k, int v) const {
        return arithmetic.load(factor_mantissas + k * factor_pitch + v * Ops::count);
      }
      SLICESORT_SUMS_INLINE Value exponent(Ops const& arithmetic, index_t k, int v) const {
        if constexpr (SeparateExponents)
          return functions::sum(
              arithmetic, arithmetic.load(exponents + k * pitch + v * Ops::count),
              arithmetic.load(factor_exponents + k * factor_pitch + v * Ops::count));
        else
          return arithmetic.splat(A(0));
      }
    };
    // Axes of sinkhorn_sums.inl: elements times their factors, without exponents or relative to
    // 2^maximum, and elements of T.
    struct joint_axis {
      static constexpr bool has_factors = false;
      line const& terms;
      index_t size;

      SLICESORT_SUMS_INLINE Value element(Ops const& arithmetic, index_t k, int v) const {
        return terms.mantissa(arithmetic, k, v);
      }
      SLICESORT_SUMS_INLINE Value value(Ops const& arithmetic, index_t k, int v) const {
        return terms.factor_mantissa(arithmetic, k, v);
      }
    };
    struct scaled_axis {
      static constexpr bool has_factors = false;
      line const& terms;
      index_t size;
      values const& maximum;

      SLICESORT_SUMS_INLINE Value element(Ops const& arithmetic, index_t k, int v) const {
        return functions::times_half_power(
            arithmetic, terms.mantissa(arithmetic, k, v),
            math::difference(arithmetic, terms.exponent(arithmetic, k, v), maximum[v]));
      }
      SLICESORT_SUMS_INLINE Value value(Ops const& arithmetic, index_t k, int v) const {
        return terms.factor_mantissa(arithmetic, k, v);
      }
    };
    template <class Weights>
    struct weighted_axis {
      static constexpr bool has_factors = false;
      line const& terms;
      index_t size;
      lane_array<factor, Vectors> const& other;
      Weights weights;

      SLICESORT_SUMS_INLINE Value element(Ops const& arithmetic, index_t k, int v) const {
        return scaled(arithmetic,
                      functions::product(arithmetic, terms.mantissa(arithmetic, k, v),
                                         terms.factor_mantissa(arithmetic, k, v)),
                      terms.exponent(arithmetic, k, v), other[v]);
      }
      SLICESORT_SUMS_INLINE Value value(Ops const&, index_t k, int v) const {
        return weights(k, v);
      }
    };

    // Returns the sums of T * weights over a row or column, with its factor of half-step `step`.
    template <class Weights>
    SLICESORT_SUMS_INLINE values sum_weighted(line const& terms, index_t step, index_t number,
                                              Weights const& weights) const {
      lane_array<factor, Vectors> other;
      sums::for_each_lane([&](int v) { other[v] = factor_of(step, number, v); });
      values sum, unused;
      sums::sum_elements(ops, weighted_axis<Weights>{terms, terms.size, other, weights}, sum,
                         unused);
      return sum;
    }
    static SLICESORT_SUMS_INLINE Value scaled(Ops const& arithmetic, Value const& mantissa,
                                              Value const& exponent, factor const& f) {
      Value const product = functions::product(arithmetic, mantissa, f.mantissa);
      if constexpr (SeparateExponents)
        return functions::times_half_power(arithmetic, product,
                                           functions::sum(arithmetic, exponent, f.exponent));
      else
        return product;
    }
    // Returns T[i][j] after a half-step.
    SLICESORT_SUMS_INLINE Value element(index_t step, index_t i, index_t j, index_t offset,
                                        int v) const {
      bool const rows = t.steps.normalizes_rows(step);
      factor const row = factor_of(rows ? step : step - 1, i, v),
                   column = factor_of(rows ? step - 1 : step, j, v);
      Value const mantissa = functions::product(ops, ops.load(t.x + offset), row.mantissa);
      Value exponent = row.exponent;
      if constexpr (SeparateExponents)
        exponent = functions::sum(ops, ops.load(t.exponents + offset), exponent);
      return scaled(ops, mantissa, exponent, column);
    }
    // T is `ratio` times the matrix of a half-step of columns.
    SLICESORT_SUMS_INLINE Value divided_by_ratio(bool rows, Value const& value, int v) const {
      return rows ? value : functions::product(ops, value, load(t.inverse_ratios, v));
    }

    SLICESORT_SUMS_INLINE factor factor_of(index_t step, index_t number, int v) const {
      index_t const offset = number * t.lanes + v * Ops::count;
      Value const mantissa = ops.load(t.vectors.potentials_of(step) + offset);
      if constexpr (SeparateExponents)
        return {mantissa, ops.load(t.vectors.exponents_of(step) + offset)};
      else
        return {mantissa, ops.splat(A(0))};
    }
    SLICESORT_SUMS_INLINE line line_of(bool rows, index_t number, index_t step) const {
      index_t const first = number * number_pitch(rows);
      line elements{};
      elements.x = t.x + first;
      elements.exponents = t.exponents + first;
      elements.factor_mantissas = t.vectors.potentials_of(step);
      elements.factor_exponents = t.vectors.exponents_of(step);
      elements.size = numbers(!rows);
      elements.pitch = term_pitch(rows);
      elements.factor_pitch = t.lanes;
      return elements;
    }
    SLICESORT_SUMS_INLINE index_t numbers(bool rows) const { return rows ? t.rows : t.columns; }
    SLICESORT_SUMS_INLINE index_t number_pitch(bool rows) const {
      return rows ? t.columns * t.lanes : t.lanes;
    }
    SLICESORT_SUMS_INLINE index_t term_pitch(bool rows) const { return number_pitch(!rows); }
    template <class F>
    SLICESORT_SUMS_INLINE void for_each_value(F const& f) const {
      for (index_t i = 0; i < t.rows; ++i)
        split::for_each_vector(t.columns, [&](index_t j, int v) {
          f(i, j, (i * t.columns + j) * t.lanes + v * Ops::count, v);
        });
    }
    SLICESORT_SUMS_INLINE void fill_initial_factors() const {
      split::for_each_vector(t.rows < t.columns ? t.columns : t.rows, [&](index_t k, int v) {
        store(ops.splat(A(1)), t.vectors.potentials_of(-1) + k * t.lanes, v);
        store(ops.splat(A(0)), t.vectors.exponents_of(-1) + k * t.lanes, v);
      });
    }
  };

  // Replaces x by y (or by dlogits, if Backward).
  template <bool Backward>
  static SLICESORT_SUMS_INLINE void run(Ops const& ops, tile const& t) {
    if (split::split_logits(ops, t) < lowest_joint_exponent) {
      run_on<Backward>(matrices<true>{ops, t});
    } else {
      split::join_exponents(ops, t);
      run_on<Backward>(matrices<false>{ops, t});
    }
  }

 private:
  template <bool Backward, class Matrices>
  static SLICESORT_SUMS_INLINE void run_on(Matrices const& matrices) {
    if constexpr (Backward)
      matrices.backward();
    else
      matrices.forward();
  }
};
