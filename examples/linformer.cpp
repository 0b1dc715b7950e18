// SPDX-License-Identifier: Apache-2.0
// A recipe: Linformer attention of one head, whose four keys and values are projected to two rows.
#include "recipes/linformer.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdio>
#include <vector>

namespace ss = slicesort;

int main() {
  std::vector<float> const q = {0, 0, 4, 0, 0, 4, 4, 4}, k = {1, 0, 1, 0, 0, 1, 0, 1};
  std::vector<float> const v = {1, 10, 3, 30, 5, 50, 7, 70}, dy(8, 1);
  std::vector<float> const e = {.5F, .5F, 0, 0, 0, 0, .5F, .5F};  // means of two rows
  std::vector<float> y(8), dq(8), dk(8), dv(8), de(8);

  // [snippet]
  ss::extents4 const shape{1, 1, 4, 2};       // [batch, heads, length, channels]
  ss::extents4 const projection{1, 1, 2, 4};  // [batch or 1, heads or 1, rank, columns]
  recipes::linformer_params<float> const params{
      ss::view(q, shape), ss::view(k, shape), ss::view(v, shape), ss::view(e, projection), {}};
  recipes::linformer_grads<float> const grads{
      ss::view(dq, shape), ss::view(dk, shape), ss::view(dv, shape), ss::view(de, projection), {}};
  recipes::linformer<float, ss::exec::host> layer(ss::exec::host{2});
  layer.forward(params, ss::view(y, shape));
  layer.backward(ss::view(dy, shape), params, ss::view(y, shape), grads);
  // [/snippet]
  for (std::vector<float> const& rows : {y, dv}) {
    for (float const element : rows) std::printf(" %.2f", static_cast<double>(element));
    std::printf("\n");
  }
}

// output:
//  4.00 40.00 2.22 22.23 5.78 57.77 4.00 40.00
//  1.00 1.00 1.00 1.00 1.00 1.00 1.00 1.00
