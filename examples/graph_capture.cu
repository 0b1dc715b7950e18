// SPDX-License-Identifier: Apache-2.0
// Calls only enqueue work, so a CUDA graph can capture a training step and replay it with new
// values in the same memory.
#include "support/device_array.hpp"

#include <slicesort/slicesort.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<float> const& values) {
  std::printf("%-2s", name);
  for (float const v : values) std::printf(" %d", static_cast<int>(v));
}

}  // namespace

int main() {
  skip_without_device();
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  ss::extents3 const shape{1, 6, 1};
  device_array<float> const x(6), y(6), dy(6), dx(6);
  device_array<std::uint16_t> const perm(6);
  dy.upload({1, 2, 3, 4, 5, 6}, stream);

  // [snippet]
  ss::slicing_sort<> const op;
  ss::exec::cuda const exec{stream};
  // A replay uses the memory of the capture, so the workspace is allocated first.
  device_array<unsigned char> const memory(op.workspace_bytes(exec, ss::view(x, shape)));

  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::view(perm, shape), memory);
  op.backward(exec, ss::view(dy, shape), ss::view(perm, shape), ss::view(dx, shape), memory);
  check(cudaStreamEndCapture(stream, &graph));

  cudaGraphExec_t step = nullptr;
  check(cudaGraphInstantiate(&step, graph, 0));
  // [/snippet]

  for (std::vector<float> const& values :
       {std::vector<float>{5, 3, 1, 6, 2, 4}, {1, 1, 1, 0, 0, 0}, {60, 50, 40, 30, 20, 10}}) {
    x.upload(values, stream);
    check(cudaGraphLaunch(step, stream));
    print("x", values);
    print("   y", y.download(stream));
    print("   dx", dx.download(stream));
    std::printf("\n");
  }
  check(cudaGraphExecDestroy(step));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
}

// output:
// x  5 3 1 6 2 4   y 1 2 3 4 5 6   dx 5 3 1 6 2 4
// x  1 1 1 0 0 0   y 0 0 0 1 1 1   dx 4 5 6 1 2 3
// x  60 50 40 30 20 10   y 10 20 30 40 50 60   dx 6 5 4 3 2 1
