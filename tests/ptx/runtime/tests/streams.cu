// SPDX-License-Identifier: Apache-2.0
// Order of work in streams and events, and asynchronous copies.
#include "kernels.cuh"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

struct scoped_stream {
  cudaStream_t get = nullptr;
  explicit scoped_stream(unsigned flags) {
    CHECK(cudaStreamCreateWithFlags(&get, flags) == cudaSuccess);
  }
  ~scoped_stream() { CHECK(cudaStreamDestroy(get) == cudaSuccess); }
};

struct scoped_event {
  cudaEvent_t get = nullptr;
  scoped_event() { CHECK(cudaEventCreate(&get) == cudaSuccess); }
  ~scoped_event() { CHECK(cudaEventDestroy(get) == cudaSuccess); }
};

}  // namespace

TEST_CASE("a stream runs in order, and independently of others") {
  scoped_stream const blocked(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  device_int const counter(1);
  gate gate_in_stream;
  CHECK(gate_in_stream.hold(blocked.get) == cudaSuccess);
  add_one<<<1, 1, 0, blocked.get>>>(counter.data());
  CHECK(cudaStreamQuery(blocked.get) == cudaErrorNotReady);
  CHECK(cudaStreamQuery(other.get) == cudaSuccess);
  CHECK(counter.value() == 1);
  gate_in_stream.release();
  CHECK(cudaStreamSynchronize(blocked.get) == cudaSuccess);
  CHECK(cudaStreamQuery(blocked.get) == cudaSuccess);
  CHECK(counter.value() == 2);
}

TEST_CASE("the legacy default stream is ordered with blocking streams only") {
  scoped_stream const blocking(cudaStreamDefault), other(cudaStreamDefault),
      independent(cudaStreamNonBlocking);
  device_int const counter(0), other_counter(0);
  gate gate_in_stream;
  CHECK(gate_in_stream.hold(blocking.get) == cudaSuccess);
  add_one<<<1, 1>>>(counter.data());                // after `blocking`
  add_one<<<1, 1, 0, other.get>>>(counter.data());  // after the default stream
  add_one<<<1, 1, 0, independent.get>>>(other_counter.data());
  CHECK(cudaStreamSynchronize(independent.get) == cudaSuccess);
  CHECK(other_counter.value() == 1);
  CHECK(counter.value() == 0);
  for (cudaStream_t s : {cudaStream_t{}, cudaStreamLegacy, other.get})
    CHECK(cudaStreamQuery(s) == cudaErrorNotReady);
  gate_in_stream.release();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(counter.value() == 2);
  for (cudaStream_t s : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread, other.get})
    CHECK(cudaStreamQuery(s) == cudaSuccess);
}

TEST_CASE("an event orders two streams") {
  scoped_stream const first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
  scoped_event const between, later;
  device_int const counter(0);
  CHECK(cudaEventQuery(between.get) == cudaSuccess);  // never recorded
  gate gate_in_stream;
  CHECK(gate_in_stream.hold(first.get) == cudaSuccess);
  CHECK(cudaEventRecord(between.get, first.get) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(second.get, between.get, 0) == cudaSuccess);
  add_one<<<1, 1, 0, second.get>>>(counter.data());
  CHECK(cudaEventRecord(later.get, second.get) == cudaSuccess);
  CHECK(cudaEventQuery(between.get) == cudaErrorNotReady);
  CHECK(counter.value() == 0);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, between.get, later.get) == cudaErrorNotReady);
  gate_in_stream.release();
  CHECK(cudaEventSynchronize(later.get) == cudaSuccess);
  CHECK(counter.value() == 1);
  CHECK(cudaEventElapsedTime(&milliseconds, between.get, later.get) == cudaSuccess);
  CHECK(milliseconds >= 0);
}

TEST_CASE("a host function may not call the runtime") {
  scoped_stream const stream(cudaStreamNonBlocking);
  cudaError_t code = cudaSuccess;
  auto const call = [](void* result) {
    void* data = nullptr;
    *static_cast<cudaError_t*>(result) = cudaMalloc(&data, 1);
  };
  CHECK(cudaLaunchHostFunc(stream.get, call, &code) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream.get) == cudaSuccess);
  CHECK(code == cudaErrorNotPermitted);
}

TEST_CASE("a copy of pageable memory is complete on return, a copy of pinned memory later") {
  scoped_stream const stream(cudaStreamNonBlocking);
  device_int const counter(0);
  int* pinned = nullptr;
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(int)) == cudaSuccess);
  *pinned = 5;
  gate gate_in_stream;
  CHECK(gate_in_stream.hold(stream.get) == cudaSuccess);
  CHECK(cudaMemcpyAsync(counter.data(), pinned, sizeof(int), cudaMemcpyHostToDevice, stream.get) ==
        cudaSuccess);
  *pinned = 6;  // written before the copy runs, so this value is copied
  gate_in_stream.release();
  int result = 0;
  CHECK(cudaMemcpyAsync(&result, counter.data(), sizeof(int), cudaMemcpyDeviceToHost, stream.get) ==
        cudaSuccess);
  CHECK(result == 6);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("work continues when its stream is destroyed, and memory is freed after it") {
  device_int const counter(0);
  int* freed = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&freed), sizeof(int)) == cudaSuccess);
  {
    scoped_stream const stream(cudaStreamNonBlocking);
    for (int i = 0; i < 20; ++i) add_one<<<1, 1, 0, stream.get>>>(freed);
    for (int i = 0; i < 20; ++i) add_one<<<1, 1, 0, stream.get>>>(counter.data());
  }
  CHECK(cudaFree(freed) == cudaSuccess);
  CHECK(counter.value() == 20);
}

TEST_CASE("streams of many threads") {
  device_int const counter(0);
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      scoped_stream const stream(cudaStreamNonBlocking);
      device_int const thread_counter(0);
      for (int k = 0; k < 10; ++k) add_one<<<1, 1, 0, stream.get>>>(thread_counter.data());
      if (cudaStreamSynchronize(stream.get) != cudaSuccess || thread_counter.value() != 10)
        ++failures;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
}

TEST_CASE("invalid handles of streams") {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamQuery(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamCreateWithFlags(&stream, 77) == cudaErrorInvalidValue);
}
