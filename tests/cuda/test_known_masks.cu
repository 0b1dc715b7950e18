// SPDX-License-Identifier: Apache-2.0
// Attention under a mask that is known when compiled, as users have it: other kernels than the
// operator suite's, whose mask is decided at run time. It agrees with the host's.
#include "backend/device.hpp"

#include "support/inputs.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

using namespace support;

namespace {

namespace ss = slicesort;

// What a call reads, and what it writes, in one block each.
template <class T, class State>
struct attention_memory {
  ss::extents4 q, k;
  T *inputs, *outputs;
  State* state;
  ss::extents4 state_shape;

  ss::tensor4<T const> from(std::size_t i, ss::extents4 e) const {
    return {inputs + i * elements(), e};
  }
  ss::tensor4<T> to(std::size_t i, ss::extents4 e) const { return {outputs + i * elements(), e}; }
  // Of the largest tensor.
  std::size_t elements() const { return static_cast<std::size_t>(std::max(q.size(), k.size())); }
};

template <class Op, class Exec, class T, class State>
void forward_and_backward(Op const& op, Exec const& on, attention_memory<T, State> const& m,
                          ss::workspace scratch) {
  ss::tensor4<State> const saved(m.state, m.state_shape);
  ss::attention_inputs<T> const in{m.from(0, m.q), m.from(1, m.k), m.from(2, m.k)};
  op.forward(on, in, m.to(0, m.q), {saved}, scratch);
  op.backward(on, m.from(3, m.q), in, m.to(0, m.q), {ss::tensor4<State const>(saved)},
              {m.to(1, m.q), m.to(2, m.k), m.to(3, m.k)}, scratch);
}

// The largest difference of four results, in units of the largest number.
template <class T>
double difference(std::vector<T> const& a, std::vector<T> const& b) {
  using number = ss::detail::accumulator_t<T>;
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const x = static_cast<number>(a[i]), y = static_cast<number>(b[i]);
    worst = std::max(worst, std::abs(x - y));
    size = std::max(size, std::abs(y));
  }
  return worst / size;
}

struct usual_tuning {
  ss::attention_tuning operator()(ss::device_info, std::size_t, ss::attention_tuning t) const {
    return t;
  }
};
// The next tile is not copied while this one is worked on.
struct one_buffer {
  ss::attention_tuning operator()(ss::device_info, std::size_t, ss::attention_tuning t) const {
    t.backward_buffers = 1;
    return t;
  }
};

template <class Algorithm, class T, class Tuning = usual_tuning>
void check(index_t channels, Tuning tuning = {}) {
  using state_type = typename ss::detail::attention_traits<Algorithm>::template state<T>;
  ss::softmax_attention<ss::mask::causal, Algorithm> const op;
  ss::extents4 const q{1, 2, 70, channels}, k{1, 2, 90, channels};
  attention_memory<T, state_type> m{q, k, nullptr, nullptr, nullptr, op.saved_extents(q, k)};
  std::vector<T> inputs(4 * m.elements()), outputs(4 * m.elements(), T(0));
  std::vector<state_type> state(static_cast<std::size_t>(m.state_shape.size()));
  random_stream random(3);
  for (T& one : inputs) one = static_cast<T>(static_cast<float>(random.normal()));
  m.inputs = inputs.data();
  m.outputs = outputs.data();
  m.state = state.data();
  ss::exec::host const host{};
  std::vector<unsigned char> host_scratch(op.template workspace_bytes<T>(host, q, k));
  forward_and_backward(op, host, m, host_scratch);

  device_stream const stream;
  auto const on = ss::exec::cuda{stream.get()}.tune(tuning);
  device_bytes there(inputs.size() * sizeof(T)), results(outputs.size() * sizeof(T), 0);
  device_bytes const saved(state.size() * sizeof(state_type));
  device_bytes const scratch(op.template workspace_bytes<T>(on, q, k), 0x11);
  there.upload(inputs.data());
  m.inputs = static_cast<T*>(there.data());
  m.outputs = static_cast<T*>(results.data());
  m.state = static_cast<state_type*>(saved.data());
  forward_and_backward(op, on, m, {scratch.data(), scratch.size()});
  stream.wait();
  std::vector<T> on_device(outputs.size(), T(0));
  auto const bytes = results.download();
  std::memcpy(static_cast<void*>(on_device.data()), bytes.data(), bytes.size());
  CHECK(results.red_zones_intact());
  CHECK(saved.red_zones_intact());
  CHECK(scratch.red_zones_intact());
  // Sums are taken in another order; those of 16-bit types, weights and slopes are rounded to the
  // type in between.
  double const rounding = sizeof(T) == 8 ? 0x1p-52 : sizeof(T) == 4 ? 0x1p-23 : 0x1p-8;
  CAPTURE(channels);
  CHECK(difference(on_device, outputs) <= 32 * rounding);
}

}  // namespace

TEST_CASE_TEMPLATE("causal, streaming", T, float, double, float16, bfloat16) {
  check<ss::streaming, T>(64);
  check<ss::streaming, T>(64, one_buffer{});
  if (sizeof(T) == 2) check<ss::streaming, T>(128);
  check<ss::streaming, T>(200);  // more channels than a tile has
}
TEST_CASE_TEMPLATE("causal, materialized", T, float, double, float16, bfloat16) {
  check<ss::materialized<>, T>(64);
}
