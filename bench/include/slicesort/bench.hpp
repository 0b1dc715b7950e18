// SPDX-License-Identifier: Apache-2.0
/// Adds your own operator to the arena, next to the operators of the library. `bench/run --with
/// FILE` compiles FILE into the bench program; your own program links `slicesort::bench`.
/// docs/arena shows both.
///
///     slicesort::bench::entry<float, slicesort::bfloat16> const registration("name", my_op{});
///
/// registers `my_op` for these element types (`entry const registration(..)`: float only). Names
/// consist of letters, digits, '_', '-' and '.', do not begin with "baseline", and are unique.
/// Members of the operator, where x, y and their gradients are `tensor3<T const>` and `tensor3<T>`,
/// row-major, and `exec` converts to `exec::host`:
///
///     forward(exec, x, y)                       timed; the values of y are unspecified before
///     backward(exec, dy, dx)                    or backward(exec, dy, x, y, dx)
///     expected(x, y)                            the oracle, for one sample of doubles
///     expected_backward(dy, x, dx)              the oracle of backward
///     tolerance, or tolerance(extents)          error relative to the largest value; 0: exact
///                                               results. Default: for sums over the length
///     flops(extents), backward_flops(extents)   operations of one call, for the roofline
///     has_backward = false                      static constexpr bool: no backward
///     has_oracle = false                        static constexpr bool: results are not verified
///
/// Attention has `q, k, v` for `x`, `dq, dk, dv` for `dx`, and `exec.heads`. An operator that saves
/// more for backward than its input and output has `saved(x)`, which returns a container or a type
/// with `bytes()`. That state is the last argument of `forward(exec, x, y, state)`, which training
/// calls, and precedes `dx` in backward. Tolerance, flops and saved are optional.
#pragma once

#include "../../custom/entry.hpp"

namespace slicesort {
namespace bench = ::bench;
}
