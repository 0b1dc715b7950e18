// SPDX-License-Identifier: Apache-2.0
/// Batched matrix products, for layers around the operators.
#pragma once

#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/matmul/host.hpp>
#include <slicesort/detail/matmul/product.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class Gemm, class = void>
inline constexpr bool is_gemm = std::is_same_v<Gemm, plain_gemm>;
template <class Gemm>
inline constexpr bool is_gemm<Gemm, decltype(void(Gemm::host_memory))> = true;
template <class Gemm>
using is_gemm_policy = std::bool_constant<is_gemm<Gemm>>;

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// Views matrices `[batch, heads, rows, columns]` of any element type, as their transposes, without
/// a copy.
template <class T>
SLICESORT_HD_ABI_TAG constexpr tensor4<T> transposed(tensor4<T> x) {
  extents4 const e = x.extents();
  strides4 const s = x.strides();
  return {
      x.data(), {e.batch, e.heads, e.channels, e.length}, {s.batch, s.heads, s.channels, s.length}};
}

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// `c = scale * a b` for every sample and head. The gradients of a product are products of
/// `transposed` views: `da = scale * dc b^T`, `db = scale * a^T dc`.
///
/// - **Shapes** a: `[batch, heads, rows, depth]`; b: `[batch, heads, depth, columns]`; c: `[batch,
///   heads, rows, columns]`. Any strides (those of c must not overlap). Batch and heads may be 1 in
///   a or b, which all samples or heads then share; in c, they may be 1 for the sum of the products
///   of all samples or heads, as in the gradient of a shared matrix.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Accuracy** sums are fused multiply-adds in the accumulator's type (double for double, else
///   float), over the depth in ascending order, then over heads, then over samples. They are
///   multiplied by the scale and rounded once.
/// - **Aliasing** c shares no element with a or b.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** on the host, the same bits for every thread count, instruction set and split
///   of the batch (except for sums over samples). On a GPU, 16-bit types are multiplied on tensor
///   cores, which round differently. With a `Gemm`, rounding is up to the BLAS, which adds the
///   products of heads and samples in T.
/// - **Cost** `2 * rows * columns * depth` operations per sample and head. Workspace: up to 280 KB
///   per thread (double: 560 KB) on the host; none on a GPU.
///
/// @tparam Gemm `plain_gemm`, the library's own loops; `cblas` (`policies/blas.hpp`) on the host;
///         `cublas` (`policies/cublas.cuh`) on a GPU; or a user-defined type
///         (`attention_algorithm.hpp`). Products that a BLAS declines use the library's loops.
template <class Gemm = plain_gemm>
class matmul {
 public:
  /// Takes a scale and a Gemm, in any order; each is optional. The scale defaults to 1.
  template <class... Policies>
  constexpr explicit matmul(Policies const&... policies)
      : scale_(detail::choose<scale_option>(policies...).value),
        gemm_(detail::choose<Gemm>(policies...)) {
    static_assert(detail::in_any_order<scale_option, Gemm>::template accepts<Policies...>,
                  "slicesort: matmul takes a scale and a Gemm.");
  }

  /// Bytes of workspace for a call with a and b of these shapes; launches nothing. Rejects the
  /// shapes that `forward` rejects.
  template <class T, class Exec>
  static detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents4 a, extents4 b) {
    return detail::workspace_bytes<op, T>(
        exec, "matmul.workspace_bytes", {common(a, b), common(b, a)}, [&](detail::checker& c) {
          check_operands(c, detail::describe_shape("a", a, a_axes),
                         detail::describe_shape("b", b, b_axes));
        });
  }

  /// Writes the products of `a` and `b` to `c`, or adds them with `grad_mode::accumulate`.
  template <class Exec, class A, class B, class C, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, A const& a, B const& b, C const& c,
                                workspace memory = {}, mode_option mode = {}) const {
    using T = typename detail::view_of_heads_t<C>::value_type;
    static_assert(detail::gemm_runs_on<Gemm>(detail::can_read_memory<Exec>),
                  "slicesort: matmul<Gemm> needs a Gemm for the memory of its execution policy: "
                  "cblas with exec::host, cublas with exec::cuda.");
    detail::matmul_forward<T> params;
    params.scale = scale_;
    params.a = detail::input_heads_of<T>(a);
    params.b = detail::input_heads_of<T>(b);
    params.c = detail::output_heads<T>(c);
    params.mode = mode.mode;
    params.gemm = detail::callback_of(gemm_);
    auto const left = detail::describe("a", params.a, false, a_axes),
               right = detail::describe("b", params.b, false, b_axes),
               out = detail::describe("c", params.c, true, c_axes);
    params.a = shared(params.a, params.b.extents());
    params.b = shared(params.b, params.a.extents());
    return detail::call<op>(exec, params, memory, [&](detail::checker& checks) {
      checks.view(left);
      checks.view(right);
      checks.view(out);
      check_operands(checks, left, right);
      check_shared(checks, out, "batch", out.shape.batch, params.a.extents().batch);
      check_shared(checks, out, "heads", out.shape.heads, params.a.extents().heads);
      detail::check_axis(checks, out, "rows", out.shape.length, left, "rows", left.shape.length);
      detail::check_axis(checks, out, "columns", out.shape.channels, right, "columns",
                         right.shape.channels);
      detail::check_policy_value<detail::accumulator_t<T>>(checks, "scale", scale_);
      checks.no_overlap(out, left);
      checks.no_overlap(out, right);
    });
  }

  SLICESORT_REFUSE_OTHER(forward, "forward(exec, a, b, c, workspace, mode)");
  SLICESORT_REFUSE_ALL(backward,
                       "slicesort: matmul has no backward: da is forward of dc and transposed(b), "
                       "db is forward of transposed(a) and dc.");

 private:
  using op = detail::matmul_op;
  struct scale_option {
    double value;
    constexpr scale_option(double scale = 1) : value(scale) {}
  };
  static constexpr detail::axis_names a_axes{"batch", "heads", "rows", "depth"},
      b_axes{"batch", "heads", "depth", "columns"}, c_axes{"batch", "heads", "rows", "columns"};

  // Shape of an operand for all samples and heads, which may be those of the other operand.
  static constexpr extents4 common(extents4 e, extents4 other) {
    return {e.batch == 1 ? other.batch : e.batch, e.heads == 1 ? other.heads : e.heads, e.length,
            e.channels};
  }
  template <class T>
  static tensor4<T const> shared(tensor4<T const> x, extents4 other) {
    extents4 const e = x.extents();
    strides4 s = x.strides();
    if (e.batch == 1) s.batch = 0;
    if (e.heads == 1) s.heads = 0;
    return {x.data(), common(e, other), s};
  }

  static void check_shared(detail::checker& c, detail::attention_view const& v, char const* axis,
                           index_t actual, index_t products) {
    if (actual != products && actual != 1)
      c.fail(error_kind::argument, "%s.%s is %lld, must be %lld or 1", v.name, axis,
             static_cast<long long>(actual), static_cast<long long>(products));
  }
  static void check_operands(detail::checker& c, detail::attention_view const& a,
                             detail::attention_view const& b) {
    c.shape(a);
    c.shape(b);
    if (a.shape.batch != 1) check_shared(c, b, "batch", b.shape.batch, a.shape.batch);
    if (a.shape.heads != 1) check_shared(c, b, "heads", b.shape.heads, a.shape.heads);
    detail::check_axis(c, b, "depth", b.shape.length, a, "depth", a.shape.channels);
    extents4 product = common(a.shape, b.shape);
    product.channels = b.shape.channels;
    c.shape(detail::describe_shape("a * b", product, c_axes));
  }

  double scale_;
  Gemm gemm_;
};

template <class... Policies>
matmul(Policies...)
    -> matmul<detail::first_matching_t<detail::is_gemm_policy, plain_gemm, Policies...>>;

SLICESORT_OPERATORS_END
