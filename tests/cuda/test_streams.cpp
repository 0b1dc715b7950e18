// SPDX-License-Identifier: Apache-2.0
// Calls in several streams and threads at once, and calls confined to their stream.
#include "backend/share.hpp"
#include "calls/calls.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace support;

TEST_CASE_TEMPLATE("one stream and thread per set of inputs", T, float, bfloat16) {
  constexpr int streams = 6, rounds = 20;
  struct worker {
    call_memory<T> memory;
    device_stream stream;
    std::vector<std::unique_ptr<device_bytes>> scratch;
    std::vector<std::vector<unsigned char>> copied;
  };
  std::vector<std::unique_ptr<worker>> workers;
  // Shapes that select different algorithms and amounts of shared memory.
  for (int i = 0; i < streams; ++i) {
    extents3 const e{2, 100 + 1700 * (i % 4), 7 + i};
    workers.push_back(std::unique_ptr<worker>(
        new worker{{e, 100u * static_cast<unsigned>(i), i % 2 == 0}, {}, {}, {}}));
    for (auto const& call : call_memory<T>::calls())
      workers.back()->scratch.push_back(std::make_unique<device_bytes>(
          workers.back()->memory.workspace_bytes(call, stream_exec{workers.back()->stream.get()})));
  }
  std::atomic<int> failures{0};
  auto const& calls = call_memory<T>::calls();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!select_next_case()) continue;
    named_call<T> const& call = calls[i];
    for (auto const& w : workers) w->memory.reset();
    std::vector<std::thread> threads;
    for (auto const& w : workers)
      threads.emplace_back([&failures, &call, i, w = w.get()] {
        auto const& scratch = *w->scratch[i];
        try {
          for (int round = 0; round < share_of(rounds); ++round)
            if (!call.accumulates || round == 0)
              w->memory.run(call, stream_exec{w->stream.get()}, {scratch.data(), scratch.size()});
        } catch (...) {
          ++failures;
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (auto const& w : workers) {
      w->stream.wait();
      CAPTURE(call.label);
      CHECK(w->memory.outputs().download() == w->memory.expected(call));
    }
  }
  CHECK(failures == 0);
}

namespace {

// Blocks a stream from hold() until release(), or until the destructor.
class gate {
 public:
  void hold(cudaStream_t stream) {
    is_open_ = false;
    SLICESORT_TEST_CUDA_CALL(cudaLaunchHostFunc(stream, &wait, nullptr));
  }
  void release() { is_open_ = true; }
  ~gate() { release(); }

 private:
  static void CUDART_CB wait(void*) {
    while (!is_open_) std::this_thread::yield();
  }
  static inline std::atomic<bool> is_open_{true};
};

// Pinned memory, which a copy can reach while another stream is blocked.
struct pinned_bytes {
  void* data = nullptr;
  std::size_t size;
  explicit pinned_bytes(std::size_t bytes) : size(bytes) {
    SLICESORT_TEST_CUDA_CALL(cudaMallocHost(&data, bytes));
  }
  ~pinned_bytes() { (void)cudaFreeHost(data); }
  std::vector<unsigned char> contents() const {
    auto const* const first = static_cast<unsigned char const*>(data);
    return {first, first + size};
  }
};

}  // namespace

TEST_CASE("a call returns while its stream is blocked, and only works in that stream") {
  call_memory<float> memory({2, 3000, 9}, 7, true);
  device_stream const stream, copy_stream;
  stream_exec const exec{stream.get()};
  pinned_bytes const copied(memory.outputs().size());
  std::vector<unsigned char> const untouched(copied.size, memory.untouched_byte);
  for (auto const& call : memory.calls()) {
    device_bytes const scratch(memory.workspace_bytes(call, exec));
    memory.run(call, exec, {scratch.data(), scratch.size()});  // loads the kernels
    stream.wait();
    memory.reset();
    gate blocked;
    blocked.hold(stream.get());
    memory.run(call, exec, {scratch.data(), scratch.size()});
    cudaError_t const status = cudaStreamQuery(stream.get());
    SLICESORT_TEST_CUDA_CALL(cudaMemcpyAsync(copied.data, memory.outputs().data(), copied.size,
                                             cudaMemcpyDeviceToHost, copy_stream.get()));
    copy_stream.wait();
    blocked.release();
    stream.wait();
    CAPTURE(call.label);
    CHECK(status == cudaErrorNotReady);
    CHECK(copied.contents() == untouched);
    CHECK(memory.outputs().download() == memory.expected(call));
  }
}

TEST_CASE("the default streams") {
  call_memory<float> memory({2, 300, 9}, 8, false);
  for (cudaStream_t stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread})
    for (auto const& call : memory.calls()) {
      device_bytes const scratch(memory.workspace_bytes(call, stream_exec{stream}));
      memory.reset();
      memory.run(call, stream_exec{stream}, {scratch.data(), scratch.size()});
      SLICESORT_TEST_CUDA_CALL(cudaStreamSynchronize(stream));
      CAPTURE(call.label);
      CHECK(memory.outputs().download() == memory.expected(call));
    }
}
