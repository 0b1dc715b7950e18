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
  start_recording();
  {
    device_bytes const bytes(10);
    stream.wait();
    int* const volatile ints = new int[100];  // volatile, so that the compiler keeps it
    delete[] ints;
  }
  CHECK(stop_recording() ==
        "cudaMalloc cudaMemset cudaMemset cudaDeviceSynchronize cudaStreamSynchronize operator new "
        "cudaFree");
}

TEST_CASE_TEMPLATE("operators only launch kernels", T, float, double, bfloat16) {
  for (extents3 e : call_shapes()) {
    call_memory<T> memory(e, 2, true);
    device_stream const stream;
    stream_exec const exec{stream.get()};
    for (auto const& call : memory.calls()) {
      if (!select_next_case()) continue;
      device_bytes const scratch(memory.workspace_bytes(call, exec));
      for (bool first : {true, false}) {  // the first call of a kernel may load it
        memory.reset();
        start_recording();
        memory.run(call, exec, {scratch.data(), scratch.size()});
        std::string const calls = stop_recording();
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
