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
  scoped_stream const first_stream(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  device_int const number(1);
  gate held;
  CHECK(held.hold(first_stream.get) == cudaSuccess);
  add_one<<<1, 1, 0, first_stream.get>>>(number.data());
  CHECK(cudaStreamQuery(first_stream.get) == cudaErrorNotReady);
  CHECK(cudaStreamQuery(other.get) == cudaSuccess);
  CHECK(number.value() == 1);
  held.release();
  CHECK(cudaStreamSynchronize(first_stream.get) == cudaSuccess);
  CHECK(cudaStreamQuery(first_stream.get) == cudaSuccess);
  CHECK(number.value() == 2);
}

TEST_CASE("the legacy default stream is ordered with blocking streams only") {
  scoped_stream const blocking(cudaStreamDefault), other(cudaStreamDefault),
      independent(cudaStreamNonBlocking);
  device_int const number(0), other_number(0);
  gate held;
  CHECK(held.hold(blocking.get) == cudaSuccess);
  add_one<<<1, 1>>>(number.data());                // after `blocking`
  add_one<<<1, 1, 0, other.get>>>(number.data());  // after the default stream
  add_one<<<1, 1, 0, independent.get>>>(other_number.data());
  CHECK(cudaStreamSynchronize(independent.get) == cudaSuccess);
  CHECK(other_number.value() == 1);
  CHECK(number.value() == 0);
  for (cudaStream_t s : {cudaStream_t{}, cudaStreamLegacy, other.get})
    CHECK(cudaStreamQuery(s) == cudaErrorNotReady);
  held.release();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(number.value() == 2);
  for (cudaStream_t s : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread, other.get})
    CHECK(cudaStreamQuery(s) == cudaSuccess);
}

TEST_CASE("an event orders two streams") {
  scoped_stream const first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
  scoped_event const between, later;
  device_int const number(0);
  CHECK(cudaEventQuery(between.get) == cudaSuccess);  // never recorded
  gate held;
  CHECK(held.hold(first.get) == cudaSuccess);
  CHECK(cudaEventRecord(between.get, first.get) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(second.get, between.get, 0) == cudaSuccess);
  add_one<<<1, 1, 0, second.get>>>(number.data());
  CHECK(cudaEventRecord(later.get, second.get) == cudaSuccess);
  CHECK(cudaEventQuery(between.get) == cudaErrorNotReady);
  CHECK(number.value() == 0);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, between.get, later.get) == cudaErrorNotReady);
  held.release();
  CHECK(cudaEventSynchronize(later.get) == cudaSuccess);
  CHECK(number.value() == 1);
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
  device_int const number(0);
  int* pinned = nullptr;
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(int)) == cudaSuccess);
  *pinned = 5;
  gate held;
  CHECK(held.hold(stream.get) == cudaSuccess);
  CHECK(cudaMemcpyAsync(number.data(), pinned, sizeof(int), cudaMemcpyHostToDevice, stream.get) ==
        cudaSuccess);
  *pinned = 6;  // written before the copy runs, so this value is copied
  held.release();
  int result = 0;
  CHECK(cudaMemcpyAsync(&result, number.data(), sizeof(int), cudaMemcpyDeviceToHost, stream.get) ==
        cudaSuccess);
  CHECK(result == 6);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("work continues when its stream is destroyed, and memory is freed after it") {
  device_int const number(0);
  int* freed = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&freed), sizeof(int)) == cudaSuccess);
  {
    scoped_stream const stream(cudaStreamNonBlocking);
    for (int i = 0; i < 20; ++i) add_one<<<1, 1, 0, stream.get>>>(freed);
    for (int i = 0; i < 20; ++i) add_one<<<1, 1, 0, stream.get>>>(number.data());
  }
  CHECK(cudaFree(freed) == cudaSuccess);
  CHECK(number.value() == 20);
}

TEST_CASE("streams of many threads") {
  device_int const number(0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      scoped_stream const stream(cudaStreamNonBlocking);
      device_int const thread_number(0);
      for (int k = 0; k < 10; ++k) add_one<<<1, 1, 0, stream.get>>>(thread_number.data());
      if (cudaStreamSynchronize(stream.get) != cudaSuccess || thread_number.value() != 10) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
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
