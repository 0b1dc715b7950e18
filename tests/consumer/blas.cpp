// SPDX-License-Identifier: Apache-2.0
// Attention whose products come from a BLAS.
#include <slicesort/policies/blas.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cstdio>

int main() {
  namespace ss = slicesort;
  // One query that looks at two equal keys: the mean of their values.
  float const q[] = {1, 2}, k[] = {3, 4, 3, 4}, v[] = {1, 10, 3, 30};
  float y[2] = {};
  alignas(64) static unsigned char memory[1 << 16];
  ss::softmax_attention<ss::mask::full, ss::materialized<ss::cblas>> const op;
  ss::exec::host const exec;
  ss::extents4 const one{1, 1, 1, 2}, two{1, 1, 2, 2};
  if (op.workspace_bytes<float>(exec, one, two) > sizeof memory) return 2;
  op.forward(exec,
             {ss::tensor4<float const>(q, one), ss::tensor4<float const>(k, two),
              ss::tensor4<float const>(v, two)},
             ss::tensor4<float>(y, one), ss::no_saved, {memory, sizeof memory});
  std::printf("mean %g %g\n", static_cast<double>(y[0]), static_cast<double>(y[1]));
  return 1.999f < y[0] && y[0] < 2.001f && 19.99f < y[1] && y[1] < 20.01f ? 0 : 1;
}
