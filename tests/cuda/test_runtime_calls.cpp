// SPDX-License-Identifier: Apache-2.0
// An operator does not allocate host or device memory, does not wait, and does not copy.
#include "backend/share.hpp"
#include "calls/calls.hpp"
#include "interpose.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace support;

TEST_CASE("the counter counts") {
  device_stream const stream;
  start_counting();
  {
    device_bytes const bytes(10);
    stream.wait();
    int* const volatile ints = new int[100];  // volatile, so that the compiler keeps it
    delete[] ints;
  }
  CHECK(counted() ==
        "cudaMalloc cudaMemset cudaMemset cudaDeviceSynchronize cudaStreamSynchronize operator new "
        "cudaFree");
}

TEST_CASE_TEMPLATE("operators only launch kernels", T, float, double, bfloat16) {
  for (extents3 e : call_shapes()) {
    call_memory<T> memory(e, 2, true);
    device_stream const stream;
    on_stream const exec{stream.get()};
    for (auto const& call : memory.calls()) {
      if (!in_share()) continue;
      device_bytes const scratch(memory.workspace_bytes(call, exec));
      for (bool first : {true, false}) {  // the first call of a kernel may load it
        memory.reset();
        start_counting();
        memory.run(call, exec, {scratch.data(), scratch.size()});
        std::string const calls = counted();
        stream.wait();
        CAPTURE(call.label);
        CAPTURE(e.length);
        CAPTURE(first);
        CHECK(calls == "");
      }
      CHECK(memory.outputs().download() == memory.expected(call));
    }
  }
}
