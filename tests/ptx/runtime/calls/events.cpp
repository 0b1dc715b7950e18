// SPDX-License-Identifier: Apache-2.0
// Events: recorded in a stream, awaited, queried and timed.
#include "../streams.hpp"

#include <chrono>
#include <memory>

using namespace ptx::runtime;

namespace {

using clock_type = std::chrono::steady_clock;

struct event {
  bool timed;
  task_ptr recorded{};
  std::shared_ptr<clock_type::time_point> time{};
};

event* event_of(cudaEvent_t handle) { return reinterpret_cast<event*>(handle); }

}  // namespace

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return call([&] {
    *handle = reinterpret_cast<cudaEvent_t>(new event{(flags & cudaEventDisableTiming) == 0});
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* handle) {
  return cudaEventCreateWithFlags(handle, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return call([&] {
    delete event_of(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  return call([&] {
    stream_ptr const s = find_stream(stream);
    if (s == nullptr) return cudaErrorInvalidResourceHandle;
    require_no_capture(*s, "an event recorded");
    auto const time = std::make_shared<clock_type::time_point>();
    event_of(handle)->time = time;
    return submit(*s, {cudaGraphNodeTypeEventRecord, [time] { *time = clock_type::now(); }},
                  &event_of(handle)->recorded);
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned) {
  return call([&] {
    stream_ptr const s = find_stream(stream);
    if (s == nullptr) return cudaErrorInvalidResourceHandle;
    require_no_capture(*s, "an event awaited");
    return submit_wait(*s, event_of(handle)->recorded);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return call_outside_capture(
      [&] { return is_done(event_of(handle)->recorded) ? cudaSuccess : cudaErrorNotReady; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return call_outside_capture([&] {
    wait_for(event_of(handle)->recorded);
    return cudaSuccess;
  });
}
// Measures the machine's execution, not a device's.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  return call([&] {
    for (event const* e : {event_of(start), event_of(stop)}) {
      if (!e->timed || e->recorded == nullptr) return cudaErrorInvalidResourceHandle;
      if (!is_done(e->recorded)) return cudaErrorNotReady;
    }
    *milliseconds =
        std::chrono::duration<float, std::milli>(*event_of(stop)->time - *event_of(start)->time)
            .count();
    return cudaSuccess;
  });
}

}  // extern "C"
