// SPDX-License-Identifier: Apache-2.0
// Every call of every operator on a stream computes the bits of the host backend, in a workspace of
// exactly the required size, with any address and any contents.
#include "backend/share.hpp"
#include "calls/calls.hpp"

#include "support/tunings.hpp"

#include <doctest/doctest.h>

using namespace support;

namespace {

template <class T>
void check_calls(extents3 e, tuner tune, bool with_lengths) {
  call_memory<T> memory(e, 11, with_lengths);
  device_stream const stream;
  stream_exec const exec{stream.get(), tune};
  std::size_t misalignment = 0;
  for (auto const& call : memory.calls())
    for (bool const ones : {false, true}) {
      if (!select_next_case()) continue;
      unsigned char const fill = ones ? 0xff : 0x00;
      device_bytes const scratch(memory.workspace_bytes(call, exec), fill,
                                 misalignment = (misalignment + 1) % 64);
      memory.reset();
      memory.run(call, exec, {scratch.data(), scratch.size()});
      stream.wait();
      CAPTURE(call.label);
      CAPTURE(e.length);
      CHECK(memory.outputs().download() == memory.expected(call));
      CHECK(memory.outputs().red_zones_intact());
      CHECK(memory.inputs().download() == memory.host_inputs());
      CHECK(scratch.red_zones_intact());
    }
}

}  // namespace

TEST_CASE_TEMPLATE("every algorithm", T, float, double, bfloat16) {
  for (extents3 e : call_shapes())
    for (bool with_lengths : {false, true}) check_calls<T>(e, {}, with_lengths);
}

TEST_CASE_TEMPLATE("tuning never changes a result", T, float, double, bfloat16) {
  for (extents3 e : {extents3{2, 130, 9}, extents3{2, 3000, 3}})
    for (named_tuning const& t : tunings::list) check_calls<T>(e, t.tune, true);
}

// Cases for compute-sanitizer: every kernel once. The tuning selects the kernels of long columns
// for short ones.
TEST_CASE_TEMPLATE("small", T, float, double, bfloat16) {
  check_calls<T>({2, 20, 5}, {}, true);
  check_calls<T>({2, 150, 5}, {}, false);
  check_calls<T>({2, 150, 3}, tunings::list[0].tune, true);
}

TEST_CASE("a workspace that is one byte too small is rejected before any write") {
  call_memory<float> memory({2, 70001, 3}, 3, false);
  device_stream const stream;
  stream_exec const exec{stream.get()};
  int checked_calls = 0;
  for (auto const& call : memory.calls()) {
    std::size_t const bytes = memory.workspace_bytes(call, exec);
    if (bytes == 0) continue;
    ++checked_calls;
    device_bytes const scratch(bytes, 0x77);
    memory.reset();
    auto const initial_outputs = memory.outputs().download();
    CAPTURE(call.label);
    CHECK_THROWS_AS(memory.run(call, exec, {scratch.data(), bytes - 1}),
                    slicesort::workspace_error);
    stream.wait();
    CHECK(memory.outputs().download() == initial_outputs);
    CHECK(scratch.download() == std::vector<unsigned char>(bytes, 0x77));
  }
  CHECK(checked_calls > 0);
}
