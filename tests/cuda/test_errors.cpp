// SPDX-License-Identifier: Apache-2.0
// A CUDA error becomes a cuda_error with CUDA's code, is reported once, and only by the failing
// call. The last case crashes the device, so this program is separate.
#include "bad_launches.hpp"
#include "calls/calls.hpp"

#include <doctest/doctest.h>
#include <slicesort/error.hpp>
#include <slicesort/slicing_sort.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

using namespace support;

namespace {

namespace ss = slicesort;

template <class F>
int error_code_of(F const& call) {
  try {
    call();
  } catch (ss::cuda_error const& e) {
    CHECK(std::string(e.what()).find("cuda") != std::string::npos);
    return e.code;
  }
  return 0;
}

// Workspace size for all calls.
std::size_t max_workspace_bytes(call_memory<float> const& memory, stream_exec exec) {
  std::size_t bytes = 0;
  for (auto const& call : memory.calls())
    bytes = std::max(bytes, memory.workspace_bytes(call, exec));
  return bytes;
}

}  // namespace

TEST_CASE("a failed launch reports its error, and the next one succeeds") {
  device_stream const stream;
  CHECK(error_code_of([&] { launch_too_many_threads(stream.get()); }) != 0);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(error_code_of([&] { launch_too_much_shared(stream.get()); }) != 0);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(error_code_of([&] { launch_valid(stream.get()); }) == 0);
  stream.wait();
}

TEST_CASE("an error of an earlier call is neither reported nor cleared") {
  call_memory<float> memory({2, 30, 5}, 1, false);
  device_stream const stream;
  stream_exec const exec{stream.get()};
  device_bytes const scratch(max_workspace_bytes(memory, exec));
  CHECK(cudaSetDevice(12345) == cudaErrorInvalidDevice);
  for (auto const& call : memory.calls()) {
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
    CHECK(error_code_of([&] { memory.run(call, exec, {scratch.data(), scratch.size()}); }) == 0);
  }
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  stream.wait();
}

TEST_CASE("after a kernel has crashed, every call reports that") {
  call_memory<float> const memory({2, 30, 5}, 1, false);
  device_stream const stream;
  stream_exec const exec{stream.get()};
  device_bytes const scratch(max_workspace_bytes(memory, exec));
  // The launch may already report the crash.
  (void)error_code_of([&] { launch_trap(stream.get()); });
  int const crash_code = cudaStreamSynchronize(stream.get());
  CHECK(crash_code != cudaSuccess);
  for (auto const& call : memory.calls())
    CHECK(error_code_of([&] {
            memory.run(call, exec, {scratch.data(), scratch.size()});
          }) == crash_code);
}
