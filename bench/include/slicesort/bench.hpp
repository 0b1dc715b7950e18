// SPDX-License-Identifier: Apache-2.0
/// Puts an operator of your own into the arena, beside the library's. `bench/run --with FILE`
/// compiles FILE in; a program of your own links `slicesort::bench`. docs/arena.md shows both.
///
///     slicesort::bench::contestant<float, slicesort::bfloat16> const here("name", my_operator{});
///
/// registers `my_operator` for those element types (`contestant const here(..)`: float alone). The
/// name is made of letters, digits, '_', '-' and '.', does not begin with "baseline", and no other
/// operator has it.
/// Its members; `x`, `y` and their gradients are `tensor3<T const>` and `tensor3<T>`, row-major,
/// and `on` converts to `exec::host`:
///
///     forward(on, x, y)                         what is timed; y's values are unspecified before
///     backward(on, dy, dx)                      or backward(on, dy, x, y, dx), if it needs those
///     expected(x, y)                            the oracle, on one sample of doubles
///     expected_backward(dy, x, dx)              the oracle of backward
///     tolerance                                 the error that rounding explains, relative to the
///                                               largest value; 0: moved values. Without it, that
///                                               of sums over the length
///     flops(extents), backward_flops(extents)   sums and products of one call, for the roofline
///     has_backward = false                      static constexpr bool: there is no backward
///     has_oracle = false                        likewise: rows are called unchecked
///
/// Attention has `q, k, v` for `x`, `dq, dk, dv` for `dx`, and `on.heads`. What forward keeps for
/// backward, besides its input and output, is whatever `saved(x)` returns: a container, or anything
/// with `bytes()`. That state is the last argument of `forward(on, x, y, state)`, which training
/// calls, and comes before `dx` in backward. Tolerance, flops and saved may be left out.
#pragma once

#include "../../own/contestant.hpp"

namespace slicesort {
namespace bench = ::bench;
}
