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

// The gradient of a bias that is formed, too.
enum class dbias { none, of_pairs, relative, shared };

struct shape {
  index_t batch, queries, keys, channels;
  dbias of_bias;
  ss::dropout dropout{};

  ss::extents4 q() const { return {batch, 2, queries, channels}; }
  ss::extents4 k() const { return {batch, 2, keys, channels}; }
  ss::extents4 map() const { return {batch, 2, queries, keys}; }
  ss::extents4 of_dbias() const {
    if (of_bias == dbias::none) return {};
    if (of_bias == dbias::relative) return {1, 2, 1, queries + keys - 1};
    return {batch, of_bias == dbias::shared ? 1 : 2, queries, keys};
  }
  // Of the largest tensor.
  std::size_t elements() const {
    return static_cast<std::size_t>(std::max({q().size(), k().size(), map().size()}));
  }
};

// What a call reads, and what it writes, in one block each.
template <class T, class State>
struct attention_memory {
  shape of;
  T *inputs, *outputs;
  State* state;
  ss::extents4 state_shape;
  index_t* lengths;  // of the keys; null: they are all there

  ss::tensor4<T const> from(std::size_t i, ss::extents4 e) const {
    return {inputs + i * of.elements(), e};
  }
  ss::tensor4<T> to(std::size_t i, ss::extents4 e) const {
    return {outputs + i * of.elements(), e};
  }
};

template <class Op, class Exec, class T, class State>
void forward_and_backward(Op const& op, Exec const& exec, attention_memory<T, State> const& m,
                          ss::workspace scratch) {
  ss::extents4 const q = m.of.q(), k = m.of.k();
  ss::tensor4<State> const saved(m.state, m.state_shape);
  ss::attention_inputs<T> const in{m.from(0, q), m.from(1, k), m.from(2, k)};
  ss::tensor1<index_t const> const lengths(m.lengths, m.lengths == nullptr ? 0 : m.of.batch);
  ss::attention_gradients<T> to{m.grads(1, q), m.grads(2, k), m.grads(3, k), {}};
  if (m.of.of_bias != dbias::none) to.dbias = m.grads(4, m.of.of_dbias());
  op.forward(exec, in, m.grads(0, q), {saved}, scratch, {lengths, m.of.dropout});
  op.backward(exec, m.from(3, q), in, m.grads(0, q), {ss::tensor4<State const>(saved)}, to, scratch,
              {ss::grad_mode::overwrite, lengths, m.of.dropout});
}

// The largest difference of the results, in units of the largest number.
template <class T>
double difference(std::vector<T> const& a, std::vector<T> const& b) {
  using number = ss::detail::accumulator_t<T>;
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const x = static_cast<number>(a[i]), y = static_cast<number>(b[i]);
    if (!std::isfinite(x)) return HUGE_VAL;
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

// The last sample has only the first `last_keys` keys.
template <class Algorithm, class T, class Tuning = usual_tuning>
void check(shape of, index_t last_keys, Tuning tuning = {}) {
  using state_type = typename ss::detail::attention_traits<Algorithm>::template state<T>;
  ss::softmax_attention<ss::mask::causal, Algorithm> const op;
  std::vector<index_t> lengths(static_cast<std::size_t>(of.batch), of.keys);
  lengths.back() = last_keys;
  std::vector<T> inputs(4 * of.elements()), outputs(5 * of.elements(), T(0));
  ss::extents4 const state_shape = op.saved_extents(of.q(), of.k());
  std::vector<state_type> state(static_cast<std::size_t>(state_shape.size()));
  random_stream random(3);
  for (T& one : inputs) one = static_cast<T>(static_cast<float>(random.normal()));
  attention_memory<T, state_type> m{of,           inputs.data(), outputs.data(),
                                    state.data(), state_shape,   lengths.data()};
  ss::exec::host const host{};
  auto const bytes_of = [&](auto const& exec) {
    return op.template workspace_bytes<T>(exec, of.q(), of.k(), of.of_dbias());
  };
  std::vector<unsigned char> host_scratch(bytes_of(host));
  forward_and_backward(op, host, m, host_scratch);

  device_stream const stream;
  auto const exec = ss::exec::cuda{stream.get()}.tune(tuning);
  device_bytes there(inputs.size() * sizeof(T)), results(outputs.size() * sizeof(T), 0);
  device_bytes keys(lengths.size() * sizeof(index_t));
  device_bytes const saved(state.size() * sizeof(state_type));
  device_bytes const scratch(bytes_of(exec), 0x11);
  there.upload(inputs.data());
  keys.upload(lengths.data());
  m.inputs = static_cast<T*>(there.data());
  m.outputs = static_cast<T*>(results.data());
  m.state = static_cast<state_type*>(saved.data());
  m.lengths = static_cast<index_t*>(keys.data());
  forward_and_backward(op, exec, m, {scratch.data(), scratch.size()});
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
  CAPTURE(of.queries);
  CAPTURE(of.channels);
  CHECK(difference(on_device, outputs) <= 32 * rounding);
}

// The diagonal crosses the tiles; or most queries see all the keys, but for a sample without any.
template <class Algorithm, class T, class Tuning = usual_tuning>
void check_shapes(index_t channels, Tuning tuning = {}) {
  check<Algorithm, T>({1, 70, 90, channels, dbias::of_pairs}, 90, tuning);
  check<Algorithm, T>({2, 200, 64, channels, dbias::none}, 0, tuning);
}
template <class Algorithm, class T>
void check_sums() {
  for (dbias form : {dbias::relative, dbias::shared})
    check<Algorithm, T>({2, 140, 50, 20, form, {0.25, 3}}, 41);
}

}  // namespace

TEST_CASE_TEMPLATE("causal, streaming", T, float, double, float16, bfloat16) {
  for (index_t channels : {64, 128, 200}) {  // 128 is one tile in 16 bits, 200 is several in any
    check_shapes<ss::streaming, T>(channels);
    check_shapes<ss::streaming, T>(channels, one_buffer{});
  }
  check_sums<ss::streaming, T>();
}
TEST_CASE_TEMPLATE("causal, materialized", T, float, double, float16, bfloat16) {
  check_shapes<ss::materialized<>, T>(128);
  check_sums<ss::materialized<>, T>();
}
