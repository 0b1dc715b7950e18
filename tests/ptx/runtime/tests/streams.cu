// SPDX-License-Identifier: Apache-2.0
#include "kernels.cuh"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

struct own_stream {
  cudaStream_t get = nullptr;
  explicit own_stream(unsigned flags) {
    CHECK(cudaStreamCreateWithFlags(&get, flags) == cudaSuccess);
  }
  ~own_stream() { CHECK(cudaStreamDestroy(get) == cudaSuccess); }
};

struct own_event {
  cudaEvent_t get = nullptr;
  own_event() { CHECK(cudaEventCreate(&get) == cudaSuccess); }
  ~own_event() { CHECK(cudaEventDestroy(get) == cudaSuccess); }
};

}  // namespace

TEST_CASE("a stream works in order, and by itself") {
  own_stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  device_int const there(1);
  gate held;
  CHECK(held.hold(one.get) == cudaSuccess);
  add_one<<<1, 1, 0, one.get>>>(there.data());
  CHECK(cudaStreamQuery(one.get) == cudaErrorNotReady);
  CHECK(cudaStreamQuery(other.get) == cudaSuccess);
  CHECK(there.value() == 1);
  held.release();
  CHECK(cudaStreamSynchronize(one.get) == cudaSuccess);
  CHECK(cudaStreamQuery(one.get) == cudaSuccess);
  CHECK(there.value() == 2);
}

TEST_CASE("the legacy default stream comes between blocking streams, and no others") {
  own_stream const blocking(cudaStreamDefault), other(cudaStreamDefault),
      independent(cudaStreamNonBlocking);
  device_int const there(0), elsewhere(0);
  gate held;
  CHECK(held.hold(blocking.get) == cudaSuccess);
  add_one<<<1, 1>>>(there.data());                // after `blocking`
  add_one<<<1, 1, 0, other.get>>>(there.data());  // after the default stream
  add_one<<<1, 1, 0, independent.get>>>(elsewhere.data());
  CHECK(cudaStreamSynchronize(independent.get) == cudaSuccess);
  CHECK(elsewhere.value() == 1);
  CHECK(there.value() == 0);
  for (cudaStream_t s : {cudaStream_t{}, cudaStreamLegacy, other.get})
    CHECK(cudaStreamQuery(s) == cudaErrorNotReady);
  held.release();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(there.value() == 2);
  for (cudaStream_t s : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread, other.get})
    CHECK(cudaStreamQuery(s) == cudaSuccess);
}

TEST_CASE("an event orders two streams") {
  own_stream const first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
  own_event const between, later;
  device_int const there(0);
  CHECK(cudaEventQuery(between.get) == cudaSuccess);  // never recorded
  gate held;
  CHECK(held.hold(first.get) == cudaSuccess);
  CHECK(cudaEventRecord(between.get, first.get) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(second.get, between.get, 0) == cudaSuccess);
  add_one<<<1, 1, 0, second.get>>>(there.data());
  CHECK(cudaEventRecord(later.get, second.get) == cudaSuccess);
  CHECK(cudaEventQuery(between.get) == cudaErrorNotReady);
  CHECK(there.value() == 0);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, between.get, later.get) == cudaErrorNotReady);
  held.release();
  CHECK(cudaEventSynchronize(later.get) == cudaSuccess);
  CHECK(there.value() == 1);
  CHECK(cudaEventElapsedTime(&milliseconds, between.get, later.get) == cudaSuccess);
  CHECK(milliseconds >= 0);
}

TEST_CASE("a host function may not call the runtime") {
  own_stream const stream(cudaStreamNonBlocking);
  cudaError_t code = cudaSuccess;
  auto const call = [](void* result) {
    void* data = nullptr;
    *static_cast<cudaError_t*>(result) = cudaMalloc(&data, 1);
  };
  CHECK(cudaLaunchHostFunc(stream.get, call, &code) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream.get) == cudaSuccess);
  CHECK(code == cudaErrorNotPermitted);
}

TEST_CASE("the host's own memory is free when a copy returns, pinned memory later") {
  own_stream const stream(cudaStreamNonBlocking);
  device_int const there(0);
  int* pinned = nullptr;
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(int)) == cudaSuccess);
  *pinned = 5;
  gate held;
  CHECK(held.hold(stream.get) == cudaSuccess);
  CHECK(cudaMemcpyAsync(there.data(), pinned, sizeof(int), cudaMemcpyHostToDevice, stream.get) ==
        cudaSuccess);
  *pinned = 6;  // too early: this is what arrives
  held.release();
  int result = 0;
  CHECK(cudaMemcpyAsync(&result, there.data(), sizeof(int), cudaMemcpyDeviceToHost, stream.get) ==
        cudaSuccess);
  CHECK(result == 6);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("work goes on when its stream is destroyed, and memory is freed behind it") {
  device_int const there(0);
  int* freed = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&freed), sizeof(int)) == cudaSuccess);
  {
    own_stream const stream(cudaStreamNonBlocking);
    for (int i = 0; i < 20; ++i) add_one<<<1, 1, 0, stream.get>>>(freed);
    for (int i = 0; i < 20; ++i) add_one<<<1, 1, 0, stream.get>>>(there.data());
  }
  CHECK(cudaFree(freed) == cudaSuccess);
  CHECK(there.value() == 20);
}

TEST_CASE("streams of many threads") {
  device_int const there(0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      own_stream const stream(cudaStreamNonBlocking);
      device_int const mine(0);
      for (int k = 0; k < 10; ++k) add_one<<<1, 1, 0, stream.get>>>(mine.data());
      if (cudaStreamSynchronize(stream.get) != cudaSuccess || mine.value() != 10) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("handles of no stream") {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamQuery(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamCreateWithFlags(&stream, 77) == cudaErrorInvalidValue);
}
