// SPDX-License-Identifier: Apache-2.0
// An operator allocates nothing, on neither side, waits for nothing, and copies nothing.
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
    device_bytes const some(10);
    stream.wait();
    int* const volatile more = new int[100];  // volatile: or the compiler leaves it out
    delete[] more;
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
        std::string const seen = counted();
        stream.wait();
        CAPTURE(call.label);
        CAPTURE(e.length);
        CAPTURE(first);
        CHECK(seen == "");
      }
      CHECK(memory.outputs().download() == memory.expected(call));
    }
  }
}
