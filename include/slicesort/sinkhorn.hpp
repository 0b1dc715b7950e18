// SPDX-License-Identifier: Apache-2.0
/// Sinkhorn's algorithm: turns matrices of logits into doubly stochastic matrices, as in Sinkformer
/// and hyper-connections.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/sinkhorn/host.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/error.hpp>

#include <limits>

SLICESORT_TYPES_BEGIN

/// Rows or columns of a matrix.
enum class side { rows, columns };

/// Number of half-steps of `sinkhorn`, and the side that the last one normalizes. Half-steps
/// alternate, so `{3, side::rows}` normalizes rows, columns, rows.
struct half_steps {
  index_t count;
  side last = side::columns;
};

/// Number of valid leading rows (`lengths[b]`) and columns (`column_lengths[b]`) of each sample. An
/// omitted list means all of them. Lengths are views or `lengths(container)`.
struct row_and_column_lengths : row_lengths {
  tensor1<index_t const> column_lengths{};

  SLICESORT_ABI_TAG row_and_column_lengths() = default;
  SLICESORT_ABI_TAG constexpr row_and_column_lengths(row_lengths rows, row_lengths columns = {})
      : row_lengths(rows), column_lengths(columns.lengths) {}
};

/// Options of `sinkhorn`'s forward.
using sinkhorn_options = options_of<row_and_column_lengths>;
/// Options of `sinkhorn`'s backward; lengths must be the same as in forward.
using sinkhorn_backward_options = options_of<mode_option, row_and_column_lengths>;

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// `T[i, j] = exp(logits[i, j] / tau + u[i] + w[j])` for every matrix of a batch. u and w start at
/// 0. A half-step replaces u, so that each row sums to 1, or w, so that each column sums to
/// `rows / columns`. After the last half-step, its side has these sums exactly; the other side
/// converges to them (Sinkhorn and Knopp, 1967; Cuturi, *Sinkhorn Distances*, NeurIPS 2013).
/// Sinkformer (Sander et al., AISTATS 2022) applies it to scores with an odd number of half-steps,
/// rows last; one half-step, rows last, is softmax.
///
/// - **Shapes** logits, y, dy, dlogits: `[batch, rows, columns]`, any strides (output strides must
///   not overlap).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Arithmetic** in the accumulator's type (double for double, float for all others), rounded
///   once. Matrices of up to 256 elements multiply factors of rows and columns, whose exponents are
///   separate numbers; larger ones add logarithms. Nothing overflows if `logits / tau` does not.
///   exp and log are implemented by the library. Each sum adds 64 terms at a time, in order. The
///   error of T is proportional to `|logits / tau|` times the unit roundoff.
/// - **Masks** a logit of minus infinity gives an element of 0; rows and columns without any other
///   logit are zeros, and the other sums are as if they were absent, but `rows / columns` counts
///   them.
/// - **Lengths** elements past a valid row or column are zeros, and do not count in the sums;
///   `rows / columns` counts valid ones. dlogits is zero there (unchanged if gradients accumulate).
/// - **Saved** nothing; backward takes the logits, and repeats the half-steps.
/// - **Gradient** exact for the finite number of half-steps.
/// - **Aliasing** outputs may be an input itself (the same view), and overlap no input otherwise.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **NaN** and plus infinity spread to what they reach through the sums. Every NaN result is the
///   same canonical NaN.
/// - **Determinism** bit-identical for any backend, thread count, instruction set and split of the
///   batch.
/// - **Cost** one exponential per element, and some multiply-adds per half-step, for matrices of up
///   to 256 elements; `half_steps + 1` exponentials per element for larger ones, backward
///   `3 * half_steps + 3`. Workspace: `2 * half_steps` vectors of rows or columns for the matrices
///   that are processed at a time (3 per half-step if they are small), and a tile per thread.
class sinkhorn {
 public:
  /// Normalizes the rows and then the columns, `iterations` times (1..65536). `tau`, the
  /// temperature, is above 0. Passed to `sinkhorn_csp`, it defines its matrices.
  constexpr sinkhorn(double tau, index_t iterations)
      : sinkhorn(tau, slicesort::half_steps{twice(iterations)}) {}
  /// 10 iterations.
  explicit constexpr sinkhorn(double tau) : sinkhorn(tau, index_t{10}) {}
  /// Normalizes alternate sides, 1..131072 half-steps.
  constexpr sinkhorn(double tau, slicesort::half_steps half_steps)
      : tau_(tau), steps_{half_steps.count, half_steps.last == side::rows} {}

  constexpr double tau() const { return tau_; }
  constexpr slicesort::half_steps half_steps() const {
    return {steps_.count, steps_.rows_last ? side::rows : side::columns};
  }

  /// Bytes of workspace for a forward or backward call with logits of this shape; arithmetic only.
  /// Rejects shapes and parameters that `forward` rejects.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 logits) const {
    return detail::workspace_bytes<op, T>(
        exec, "sinkhorn.workspace_bytes", {logits, steps_.count},
        [&](detail::checker& c) { check_extents(c, detail::describe_shape("logits", logits)); });
  }
  /// Overload that takes element type and shape from a view.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& logits) const {
    return workspace_bytes<detail::element_of_rank3<X>>(exec, detail::extents_of(logits));
  }

  /// Writes the normalized matrices of `logits` to `y`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& logits, Y const& y,
                                workspace memory = {}, sinkhorn_options options = {}) const {
    auto const view = detail::input(logits);
    using T = typename decltype(view)::value_type;
    detail::sinkhorn_forward<T> params{};
    params.logits = view;
    params.y = detail::output<T>(y);
    set_config(params, options);
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const source = detail::describe("logits", params.logits, false);
      c.view(source);
      check_output(c, params, detail::describe("y", params.y, true), source);
    });
  }

  /// Writes the gradient of `logits`, or adds it with `grad_mode::accumulate`.
  template <class Exec, class DY, class X, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, X const& logits, DX const& dlogits,
                                 workspace memory = {},
                                 sinkhorn_backward_options options = {}) const {
    auto const view = detail::input(dy);
    using T = typename decltype(view)::value_type;
    detail::sinkhorn_backward<T> params{};
    params.dy = view;
    params.logits = detail::input_of<T>(logits);
    params.dlogits = detail::output<T>(dlogits);
    params.mode = options.mode;
    set_config(params, options);
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const source = detail::describe("logits", params.logits, false),
                 gradient = detail::describe("dy", params.dy, false),
                 target = detail::describe("dlogits", params.dlogits, true);
      c.view(source);
      c.view(gradient);
      c.same_extents(gradient, "logits", params.logits.extents());
      check_output(c, params, target, source);
      c.no_overlap(target, gradient, true);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, logits, y, workspace, options)",
                               "(exec, dy, logits, dlogits, workspace, options)");

 private:
  using op = detail::sinkhorn_op;
  using steps = detail::sinkhorn_steps;

  // Twice a number, or a number that is refused as well.
  static constexpr index_t twice(index_t n) { return n > steps::max_count || n < 0 ? n : 2 * n; }

  template <class Params>
  void set_config(Params& params, row_and_column_lengths const& lengths) const {
    params.tau = tau_;
    params.steps = steps_;
    params.row_lengths = lengths.lengths;
    params.column_lengths = lengths.column_lengths;
  }
  template <class Params>
  void check_output(detail::checker& c, Params const& params, detail::view_info const& target,
                    detail::view_info const& logits) const {
    extents3 const e = params.logits.extents();
    c.view(target);
    c.same_extents(target, "logits", e);
    c.no_overlap(target, logits, true);
    c.lengths(params.row_lengths, e);
    c.lengths("column_lengths", params.column_lengths, e.batch, e.channels);
    check_config(c, logits);
  }
  void check_extents(detail::checker& c, detail::view_info const& logits) const {
    c.shape(logits);
    check_config(c, logits);
  }
  void check_config(detail::checker& c, detail::view_info const& logits) const {
    c.rows_countable(logits);
    if (logits.extents.channels > index_t{1} << 31)
      c.fail(error_kind::argument, "%s.channels is %lld, must be at most %lld", logits.name,
             static_cast<long long>(logits.extents.channels), 1LL << 31);
    if (!(tau_ > 0) || tau_ > std::numeric_limits<double>::max())
      c.fail(error_kind::argument, "tau is %g, must be positive and finite", tau_);
    if (steps_.count < 1 || steps_.count > steps::max_count)
      c.fail(error_kind::argument, "half_steps is %lld, must be in 1..%lld",
             static_cast<long long>(steps_.count), static_cast<long long>(steps::max_count));
  }

  double tau_;
  detail::sinkhorn_steps steps_;
};

SLICESORT_OPERATORS_END
