// SPDX-License-Identifier: Apache-2.0
// Permute: applies the permutation that a sort saved to other tensors. This gives the sort's
// forward-mode derivative and its second derivative; finite differences confirm both.
#include <slicesort/permute.hpp>
#include <slicesort/slicing_sort.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

using doubles = std::vector<double>;

ss::extents3 const shape{1, 5, 1};
std::vector<std::uint16_t> perm_data(5);

doubles sort_column(doubles const& x, std::vector<std::uint16_t>& rows) {
  doubles y(x.size());
  ss::scratch memory;
  ss::slicing_sort<>{}.forward(ss::exec::host{}, ss::view(x, shape), ss::view(y, shape),
                               ss::view(rows, shape), memory);
  return y;
}
doubles compute_gradient(doubles const& dy) {
  doubles dx(dy.size());
  ss::scratch memory;
  ss::slicing_sort<>{}.backward(ss::exec::host{}, ss::view(dy, shape), ss::view(perm_data, shape),
                                ss::view(dx, shape), memory);
  return dx;
}
// a + step * b
doubles add_scaled(doubles a, doubles const& b, double step) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += step * b[i];
  return a;
}
double dot(doubles const& a, doubles const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
void print(char const* name, doubles const& values) {
  std::printf("%-26s", name);
  for (double v : values) std::printf(" %5g", v);
  std::printf("\n");
}

}  // namespace

int main() {
  doubles const x = {30, 10, 50, 20, 40}, t = {1, 2, 3, 4, 5}, dy = {6, 7, 8, 9, 10};
  doubles y = sort_column(x, perm_data), tangent(5), back(5);
  print("x", x);
  print("sorted x", y);
  print("tangent t", t);

  auto const perm = ss::view(perm_data, shape);
  // [snippet]
  ss::permute const op;
  ss::exec::host const exec;
  ss::scratch memory;
  // slicing_sort saved perm: row n of sorted x is row perm[n] of x.
  op.forward(exec, ss::view(t, shape), perm, ss::view(tangent, shape), memory);
  op.backward(exec, ss::view(tangent, shape), perm, ss::view(back, shape), memory);  // undoes it
  // [/snippet]
  print("permuted t", tangent);

  double const step = 0x1p-10;
  std::vector<std::uint16_t> unused(5);
  doubles const above = sort_column(add_scaled(x, t, step), unused),
                below = sort_column(add_scaled(x, t, -step), unused);
  doubles finite_difference(5);
  for (std::size_t i = 0; i < 5; ++i) finite_difference[i] = (above[i] - below[i]) / (2 * step);
  print("its difference quotient", finite_difference);
  print("and back", back);

  // The gradient of <t, dx> with respect to dy, where dx = sort.backward(dy), is permuted t.
  for (std::size_t i = 0; i < 5; ++i) {
    doubles unit(5);
    unit[i] = 1;
    finite_difference[i] = (dot(t, compute_gradient(add_scaled(dy, unit, step))) -
                            dot(t, compute_gradient(add_scaled(dy, unit, -step)))) /
                           (2 * step);
  }
  print("d <t, dx> / d dy", finite_difference);
}

// output:
// x                             30    10    50    20    40
// sorted x                      10    20    30    40    50
// tangent t                      1     2     3     4     5
// permuted t                     2     4     1     5     3
// its difference quotient        2     4     1     5     3
// and back                       1     2     3     4     5
// d <t, dx> / d dy               2     4     1     5     3
