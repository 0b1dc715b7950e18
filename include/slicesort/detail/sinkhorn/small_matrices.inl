// SPDX-License-Identifier: Apache-2.0
// Small matrices, one per lane, for scalars (loops.hpp) and for the vectors of each instruction set
// (host/tile_kernels.inl).
//
// The linear domain needs no exponential per half-step. It is safe for square matrices if the
// logits of every row differ by at most `max_spread`, D. Proof: let the first half-step normalize
// rows, and let x be relative to the maximum of its row, so exp(-D) <= x <= 1. Let u and w be the
// logarithms of the factors of rows and columns. Two elements of u (or of w) differ by at most D.
// An element of T is at most 1, so u[i] + w[j] <= D. A half-step changes u[i] by -log(row sum), and
// the row sums have the mean 1, so the mean of u never decreases; nor does that of w. After their
// first half-steps, both are at least -log(size). So all of u and w are between -D - log(size) and
// 2 D + log(size). For D = 32 and sizes up to 16, no float overflows or is subnormal.

template <class Ops, int Lanes>
struct small_matrices_loops {
  using loops = sinkhorn_loops<Ops, Lanes>;
  using A = typename loops::A;
  using Value = typename loops::Value;
  using Bits = typename Ops::bits;
  using functions = typename loops::functions;
  using tile = detail::matrix_tile<A>;
  static constexpr A max_spread = 32;

  // Implements half_steps.hpp.
  template <class Domain>
  struct matrices {
    Ops ops;
    tile const& t;
    A* x;  // becomes the result
    Domain domain;

    SLICESORT_TILE_FUNCTION void normalize(index_t step, bool rows) const {
      for (index_t number = 0; number < numbers(rows); ++number)
        loops::normalize(
            ops, axis(rows, number, step - 1),
            [&](int l) { return rows ? ops.splat(A(0)) : load(t.log_ratios, l); },
            t.vectors.potentials_of(step) + number * t.lanes);
    }
    SLICESORT_TILE_FUNCTION void sum_output_grads(index_t step, bool rows) const {
      bool const is_last = step == t.steps.count - 1;
      for (index_t number = 0; number < numbers(rows); ++number) {
        A const* const dy = t.dy + number * number_pitch(rows);
        index_t const pitch = term_pitch(rows);
        loops::sum_weighted(
            ops, axis(rows, number, is_last ? step - 1 : step + 1),
            t.vectors.potentials_of(step) + number * t.lanes, exponent_offset_of(t.steps.count - 1),
            [&](index_t k, int l) {
              return functions::product(ops, load(dy + k * pitch, l), load(t.ratios, l));
            },
            t.vectors.grads_of(step) + number * t.lanes);
      }
    }
    SLICESORT_TILE_FUNCTION void subtract_sums(index_t step, bool rows) const {
      for (index_t number = 0; number < numbers(rows); ++number)
        loops::subtract_weighted(
            ops, axis(rows, number, step + 1), t.vectors.potentials_of(step) + number * t.lanes,
            exponent_offset_of(step + 1), numbers_of_lanes(t.vectors.grads_of(step + 1)),
            step == t.steps.count - 2, t.vectors.grads_of(step) + number * t.lanes);
    }

    SLICESORT_TILE_FUNCTION void forward() const {
      fill_initial_potentials();
      detail::compute_potentials(*this, t.steps);
      index_t const last = t.steps.count - 1;
      A const *const current = t.vectors.potentials_of(last), *const previous =
                                                                  t.vectors.potentials_of(last - 1);
      A const *const rows = t.steps.rows_last ? current : previous, *const columns =
                                                                        t.steps.rows_last ? previous
                                                                                          : current;
      for_each_value([&](index_t i, index_t j, index_t offset, int l) {
        Value const column =
            domain.shifted(ops, load(columns + j * t.lanes, l), exponent_offset_of(last)(l));
        Value const element =
            domain.element(ops, ops.load(x + offset), load(rows + i * t.lanes, l), column);
        ops.store(functions::product(ops, element, load(t.ratios, l)), x + offset);
      });
    }
    SLICESORT_TILE_FUNCTION void backward() const {
      fill_initial_potentials();
      detail::compute_potentials(*this, t.steps);
      detail::compute_potential_grads(*this, t.steps);
      for_each_value([&](index_t i, index_t j, index_t offset, int l) {
        Value const dy = functions::product(ops, ops.load(t.dy + offset), load(t.ratios, l));
        ops.store(loops::element_grad(
                      ops, domain, ops.load(x + offset), dy, load(t.log_ratios, l), t.steps,
                      t.vectors, [&](A const* numbers) { return load(numbers + i * t.lanes, l); },
                      [&](A const* numbers) { return load(numbers + j * t.lanes, l); }),
                  x + offset);
      });
    }

   private:
    SLICESORT_SUMS_INLINE Value load(A const* numbers, int l) const {
      return ops.load(numbers + l * Ops::count);
    }
    SLICESORT_SUMS_INLINE auto numbers_of_lanes(A const* vector) const {
      return [this, vector](index_t k, int l) { return load(vector + k * t.lanes, l); };
    }
    SLICESORT_SUMS_INLINE auto exponent_offset_of(index_t step) const {
      bool const rows = t.steps.normalizes_rows(step);
      return
          [this, rows](int l) { return loops::exponent_offset(ops, rows, load(t.log_ratios, l)); };
    }
    SLICESORT_SUMS_INLINE index_t numbers(bool rows) const { return rows ? t.rows : t.columns; }
    SLICESORT_SUMS_INLINE index_t number_pitch(bool rows) const {
      return rows ? t.columns * t.lanes : t.lanes;
    }
    SLICESORT_SUMS_INLINE index_t term_pitch(bool rows) const { return number_pitch(!rows); }
    // Terms of a row or column, with the potentials of a half-step.
    SLICESORT_SUMS_INLINE auto axis(bool rows, index_t number, index_t step) const {
      A const* const first = x + number * number_pitch(rows);
      index_t const pitch = term_pitch(rows);
      auto const elements = [this, first, pitch](index_t k, int l) {
        return load(first + k * pitch, l);
      };
      auto const potentials = numbers_of_lanes(t.vectors.potentials_of(step));
      return typename loops::template term_axis<Domain, decltype(elements), decltype(potentials)>{
          domain, numbers(!rows), elements, potentials};
    }
    template <class F>
    SLICESORT_SUMS_INLINE void for_each_value(F const& f) const {
      for (index_t i = 0; i < t.rows; ++i)
        for (index_t j = 0; j < t.columns; ++j)
          for (int l = 0; l < Lanes; ++l)
            f(i, j, (i * t.columns + j) * t.lanes + l * Ops::count, l);
    }
    SLICESORT_SUMS_INLINE void fill_initial_potentials() const {
      A* const potentials = t.vectors.potentials_of(-1);
      index_t const size = t.rows < t.columns ? t.columns : t.rows;
      for (index_t k = 0; k < size; ++k)
        for (int l = 0; l < Lanes; ++l)
          ops.store(ops.splat(Domain::initial_potential()),
                    potentials + k * t.lanes + l * Ops::count);
    }
  };

  // Computes exp(logit - maximum of its row) into t.scaled; of its column, if the first half-step
  // normalizes columns. Sets t.is_linear to all ones for lanes where this is safe, else to 0.
  static SLICESORT_SUMS_INLINE void scale(Ops const& ops, tile const& t) {
    bool const rows = t.steps.normalizes_rows(0);
    index_t const numbers = rows ? t.rows : t.columns, terms = rows ? t.columns : t.rows,
                  number_pitch = (rows ? t.columns : 1) * t.lanes,
                  term_pitch = (rows ? 1 : t.columns) * t.lanes;
    Value const factor = ops.splat(t.inverse_tau), lowest = ops.splat(-detail::max_finite<A>());
    for (int l = 0; l < Lanes; ++l) {
      Bits is_linear = ~ops.splat_bits(0);
      for (index_t number = 0; number < numbers; ++number) {
        index_t const first = number * number_pitch + l * Ops::count;
        Value maximum = lowest, negated_minimum = lowest;
        for (index_t k = 0; k < terms; ++k) {
          Value const logit =
              functions::product(ops, ops.load(t.x + first + k * term_pitch), factor);
          maximum = ops.max(maximum, logit);
          negated_minimum = ops.max(negated_minimum, functions::negated(ops, logit));
        }
        Value const spread = functions::sum(ops, maximum, negated_minimum);
        is_linear = is_linear & ops.positive(functions::sum(ops, ops.splat(max_spread),
                                                            functions::negated(ops, spread)));
        for (index_t k = 0; k < terms; ++k) {
          index_t const offset = first + k * term_pitch;
          Value const logit = functions::product(ops, ops.load(t.x + offset), factor),
                      exponent = functions::sum(ops, logit, functions::negated(ops, maximum));
          ops.store(functions::exponential(ops, exponent), t.scaled + offset);
        }
      }
      ops.store(ops.value_of(is_linear), t.is_linear + l * Ops::count);
    }
  }

  // Replaces x by y (or by dlogits, if Backward), in the linear domain where it is safe.
  template <bool Backward>
  static SLICESORT_SUMS_INLINE void run(Ops const& ops, tile const& t) {
    bool has_linear = false, has_log = true;
    if (t.rows == t.columns) {
      scale(ops, t);
      has_log = false;
      for (int l = 0; l < Lanes * Ops::count; ++l) {
        bool const is_linear = detail::bit_cast<typename Ops::integer>(t.is_linear[l]) != 0;
        has_linear = has_linear || is_linear;
        has_log = has_log || !is_linear;
      }
    }
    Value const factor = ops.splat(t.inverse_tau);
    if (has_log) run_in<Backward>(matrices<typename loops::log_domain>{ops, t, t.x, {factor}});
    if (!has_linear) return;
    run_in<Backward>(matrices<typename loops::linear_domain>{ops, t, t.scaled, {factor}});
    for (int l = 0; l < Lanes; ++l) {
      Bits const is_linear = ops.bits_of(ops.load(t.is_linear + l * Ops::count));
      for (index_t k = 0; k < t.rows * t.columns; ++k) {
        index_t const offset = k * t.lanes + l * Ops::count;
        Bits const linear = ops.bits_of(ops.load(t.scaled + offset)) & is_linear,
                   other = ops.bits_of(ops.load(t.x + offset)) & ~is_linear;
        ops.store(ops.value_of(linear | other), t.x + offset);
      }
    }
  }

 private:
  template <bool Backward, class Matrices>
  static SLICESORT_SUMS_INLINE void run_in(Matrices const& matrices) {
    if constexpr (Backward)
      matrices.backward();
    else
      matrices.forward();
  }
};
