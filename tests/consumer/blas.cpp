// SPDX-License-Identifier: Apache-2.0
// Attention whose matrix products come from a BLAS.
#include <slicesort/policies/blas.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cstdio>

int main() {
  namespace ss = slicesort;
  // One query and two equal keys, so that y is the mean of the values.
  float const q[] = {1, 2}, k[] = {3, 4, 3, 4}, v[] = {1, 10, 3, 30};
  float y[2] = {};
  alignas(64) static unsigned char memory[1 << 16];
  ss::softmax_attention<ss::mask::full, ss::materialized<ss::cblas>> const op;
  ss::exec::host const exec;
  ss::extents4 const queries{1, 1, 1, 2}, keys{1, 1, 2, 2};
  if (op.workspace_bytes<float>(exec, queries, keys) > sizeof memory) return 2;
  op.forward(exec,
             {ss::tensor4<float const>(q, queries), ss::tensor4<float const>(k, keys),
              ss::tensor4<float const>(v, keys)},
             ss::tensor4<float>(y, queries), ss::no_saved, {memory, sizeof memory});
  std::printf("mean %g %g\n", static_cast<double>(y[0]), static_cast<double>(y[1]));
  return 1.999f < y[0] && y[0] < 2.001f && 19.99f < y[1] && y[1] < 20.01f ? 0 : 1;
}
