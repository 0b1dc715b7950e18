// SPDX-License-Identifier: Apache-2.0
// Attention under masks that are known at compile time, one of them in device memory. The operator
// tests use a mask selected at run time, and hence different kernels. The results must agree with
// the host's.
#include "backend/device.hpp"

#include "support/inputs.hpp"
#include "support/numbers.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

namespace ss = slicesort;

enum class input_tensor { q, k, v, dy };
enum class output_tensor { y, dq, dk, dv, dbias };
// The kind of bias gradient to compute.
enum class dbias_kind { none, per_pair, relative, shared };

struct shape {
  index_t batch, queries, keys, channels;
  dbias_kind kind_of_dbias;
  ss::dropout dropout{};

  ss::extents4 q() const { return {batch, 2, queries, channels}; }
  ss::extents4 k() const { return {batch, 2, keys, channels}; }
  ss::extents4 score_extents() const { return {batch, 2, queries, keys}; }
  ss::extents4 dbias_extents() const {
    if (kind_of_dbias == dbias_kind::none) return {};
    if (kind_of_dbias == dbias_kind::relative) return {1, 2, 1, queries + keys - 1};
    return {batch, kind_of_dbias == dbias_kind::shared ? 1 : 2, queries, keys};
  }
  // Number of elements of the largest tensor.
  std::size_t max_elements() const {
    return static_cast<std::size_t>(std::max({q().size(), k().size(), score_extents().size()}));
  }
};

// Memory of a call, with one block for all inputs and one for all outputs.
template <class T, class State>
struct attention_memory {
  shape sizes;
  T *inputs, *outputs;
  State* state;
  ss::extents4 state_shape;
  index_t* lengths;  // numbers of valid keys; null if all are valid

  ss::tensor4<T const> input(input_tensor tensor, ss::extents4 e) const {
    return {inputs + static_cast<std::size_t>(tensor) * sizes.max_elements(), e};
  }
  ss::tensor4<T> output(output_tensor tensor, ss::extents4 e) const {
    return {outputs + static_cast<std::size_t>(tensor) * sizes.max_elements(), e};
  }
};

// In place of an algorithm of softmax_attention: pointwise_attention, which saves nothing.
struct pointwise {};
template <class Algorithm>
struct operators {
  template <class T>
  using state = typename ss::detail::attention_traits<Algorithm>::template state<T>;
  template <class Mask>
  static auto make(Mask const& mask) {
    return ss::softmax_attention<Mask, Algorithm>(mask);
  }
};
template <>
struct operators<pointwise> {
  template <class T>
  using state = T;
  template <class Mask>
  static auto make(Mask const& mask) {
    return ss::pointwise_attention<Mask>(mask);
  }
};

template <class Algorithm, class Op, class Exec, class T, class State>
void forward_and_backward(Op const& op, Exec const& exec, attention_memory<T, State> const& memory,
                          ss::workspace scratch) {
  ss::extents4 const q = memory.sizes.q(), k = memory.sizes.k();
  ss::tensor4<State> const saved(memory.state, memory.state_shape);
  ss::attention_inputs<T> const in{memory.input(input_tensor::q, q),
                                   memory.input(input_tensor::k, k),
                                   memory.input(input_tensor::v, k)};
  ss::tensor1<index_t const> const lengths(memory.lengths,
                                           memory.lengths == nullptr ? 0 : memory.sizes.batch);
  ss::attention_gradients<T> grads{memory.output(output_tensor::dq, q),
                                   memory.output(output_tensor::dk, k),
                                   memory.output(output_tensor::dv, k),
                                   {}};
  if (memory.sizes.kind_of_dbias != dbias_kind::none)
    grads.dbias = memory.output(output_tensor::dbias, memory.sizes.dbias_extents());
  auto const dy = memory.input(input_tensor::dy, q);
  auto const y = memory.output(output_tensor::y, q);
  ss::attention_options const options{lengths, memory.sizes.dropout};
  ss::attention_backward_options const backward_options{ss::grad_mode::overwrite, lengths,
                                                        memory.sizes.dropout};
  if constexpr (std::is_same_v<Algorithm, pointwise>) {
    op.forward(exec, in, y, scratch, options);
    op.backward(exec, dy, in, grads, scratch, backward_options);
  } else {
    op.forward(exec, in, y, {saved}, scratch, options);
    op.backward(exec, dy, in, y, {ss::tensor4<State const>(saved)}, grads, scratch,
                backward_options);
  }
}

// Returns the largest difference, relative to the largest element of b.
template <class T>
double relative_difference(std::vector<T> const& a, std::vector<T> const& b) {
  using A = ss::detail::accumulator_t<T>;
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const x = static_cast<A>(a[i]), y = static_cast<A>(b[i]);
    if (!std::isfinite(x)) return HUGE_VAL;
    error = max_or_nan(error, std::abs(x - y));
    largest = max_or_nan(largest, std::abs(y));
  }
  return error / largest;
}

struct default_tuning {
  ss::attention_tuning operator()(ss::device_info, std::size_t, ss::attention_tuning t) const {
    return t;
  }
};
// Disables the prefetch of the next tile.
struct one_buffer {
  ss::attention_tuning operator()(ss::device_info, std::size_t, ss::attention_tuning t) const {
    t.backward_buffers = 1;
    return t;
  }
};

// Masks, and the bytes that they read: the host's or copies on the device.
struct causal_mask {
  static std::vector<unsigned char> bytes(shape) { return {0}; }
  static ss::mask::causal make(shape, void const*) { return {}; }
};
// Three segments, and a table of booleans with tiles that are true, false or mixed.
struct stored_masks {
  static constexpr std::size_t table_offset = 4 * sizeof(std::int32_t);

  static std::vector<unsigned char> bytes(shape sizes) {
    auto const pairs = static_cast<std::size_t>(sizes.queries * sizes.keys);
    std::vector<unsigned char> bytes(table_offset + 2 * pairs, 0);
    std::int32_t const offsets[] = {0, 40, 41, static_cast<std::int32_t>(sizes.queries)};
    std::memcpy(bytes.data(), offsets, sizeof offsets);
    random_stream random(5);
    for (std::size_t n = 0; n < 2 * pairs; ++n) {
      index_t const row = static_cast<index_t>(n) / sizes.keys;
      bytes[table_offset + n] = row % 100 < 32 || (row % 100 > 70 && random.below(2) == 0) ? 1 : 0;
    }
    return bytes;
  }
  static auto make(shape sizes, void const* data) {
    auto const* const first = static_cast<unsigned char const*>(data);
    ss::mask::segments<std::int32_t> const segments{
        {reinterpret_cast<std::int32_t const*>(first), 4}};
    ss::mask::tensor const table{
        {reinterpret_cast<bool const*>(first + table_offset), {1, 2, sizes.queries, sizes.keys}}};
    return ss::mask::both<ss::mask::segments<std::int32_t>, ss::mask::tensor>{segments, table};
  }
};

// The last sample has only the first `last_keys` keys.
template <class Algorithm, class T, class Masks = causal_mask, class Tuning = default_tuning>
void check_attention(shape sizes, index_t last_keys, Tuning tuning = {}) {
  using state_type = typename operators<Algorithm>::template state<T>;
  std::vector<unsigned char> const mask_bytes = Masks::bytes(sizes);
  auto const make_op = [&](void const* mask_data) {
    return operators<Algorithm>::make(Masks::make(sizes, mask_data));
  };
  auto const op = make_op(mask_bytes.data());
  std::vector<index_t> lengths(static_cast<std::size_t>(sizes.batch), sizes.keys);
  lengths.back() = last_keys;
  std::vector<T> inputs(4 * sizes.max_elements()), outputs(5 * sizes.max_elements(), T(0));
  ss::extents4 state_shape{};
  if constexpr (!std::is_same_v<Algorithm, pointwise>)
    state_shape = op.saved_extents(sizes.q(), sizes.k());
  std::vector<state_type> state(static_cast<std::size_t>(state_shape.size()));
  random_stream random(3);
  for (T& element : inputs) element = static_cast<T>(static_cast<float>(random.normal()));
  attention_memory<T, state_type> memory{sizes,        inputs.data(), outputs.data(),
                                         state.data(), state_shape,   lengths.data()};
  ss::exec::host const host{};
  auto const workspace_bytes = [&](auto const& exec) {
    return op.template workspace_bytes<T>(exec, sizes.q(), sizes.k(), sizes.dbias_extents());
  };
  std::vector<unsigned char> host_scratch(workspace_bytes(host));
  forward_and_backward<Algorithm>(op, host, memory, host_scratch);

  device_stream const stream;
  auto const exec = ss::exec::cuda{stream.get()}.tune(tuning);
  device_bytes device_inputs(inputs.size() * sizeof(T)),
      device_outputs(outputs.size() * sizeof(T), 0);
  device_bytes device_lengths(lengths.size() * sizeof(index_t));
  device_bytes const device_state(state.size() * sizeof(state_type));
  device_bytes const scratch(workspace_bytes(exec), 0x11);
  device_bytes device_mask(mask_bytes.size());
  device_mask.upload(mask_bytes.data());
  device_inputs.upload(inputs.data());
  device_lengths.upload(lengths.data());
  memory.inputs = static_cast<T*>(device_inputs.data());
  memory.outputs = static_cast<T*>(device_outputs.data());
  memory.state = static_cast<state_type*>(device_state.data());
  memory.lengths = static_cast<index_t*>(device_lengths.data());
  forward_and_backward<Algorithm>(make_op(device_mask.data()), exec, memory,
                                  {scratch.data(), scratch.size()});
  stream.wait();
  std::vector<T> downloaded(outputs.size(), T(0));
  auto const bytes = device_outputs.download();
  std::memcpy(static_cast<void*>(downloaded.data()), bytes.data(), bytes.size());
  CHECK(device_outputs.red_zones_intact());
  CHECK(device_state.red_zones_intact());
  CHECK(scratch.red_zones_intact());
  // The order of summation differs. With 16-bit types, weights and gradients of scores are rounded,
  // too.
  double const rounding = sizeof(T) == 8 ? 0x1p-52 : sizeof(T) == 4 ? 0x1p-23 : 0x1p-8;
  CAPTURE(sizes.queries);
  CAPTURE(sizes.channels);
  CHECK(relative_difference(downloaded, outputs) <= 32 * rounding);
}

// One shape has tiles on the diagonal; in the other, most queries see all keys, and one sample has
// none.
constexpr shape diagonal(index_t channels) { return {1, 70, 90, channels, dbias_kind::per_pair}; }
template <class Algorithm, class T>
void check_shapes(index_t channels) {
  check_attention<Algorithm, T>(diagonal(channels), 90);
  check_attention<Algorithm, T>({2, 140, 64, channels, dbias_kind::none}, 0);
}
template <class Algorithm, class T>
void check_summed_dbias(ss::dropout dropout = {0.25, 3}) {
  for (dbias_kind kind : {dbias_kind::relative, dbias_kind::shared})
    check_attention<Algorithm, T>({2, 140, 50, 20, kind, dropout}, 41);
}

}  // namespace

TEST_CASE_TEMPLATE("causal, streaming", T, float, double, float16, bfloat16) {
  for (index_t channels : {64, 128, 200}) {  // 128: one tile in 16 bits; 200: several
    check_shapes<ss::streaming, T>(channels);
    check_attention<ss::streaming, T, causal_mask>(diagonal(channels), 90, one_buffer{});
  }
  check_summed_dbias<ss::streaming, T>();
}
TEST_CASE_TEMPLATE("causal, materialized", T, float, double, float16, bfloat16) {
  check_shapes<ss::materialized<>, T>(128);
  check_summed_dbias<ss::materialized<>, T>();
}
TEST_CASE_TEMPLATE("causal, pointwise", T, float, double, float16, bfloat16) {
  for (index_t channels : {64, 128}) check_shapes<pointwise, T>(channels);
  check_summed_dbias<pointwise, T>({});
}
TEST_CASE("masks in device memory") {
  using T = float;  // a mask does not see elements
  check_attention<ss::streaming, T, stored_masks>({2, 140, 140, 20, dbias_kind::per_pair}, 131);
  check_attention<ss::streaming, T, stored_masks>({1, 140, 140, 20, dbias_kind::relative}, 140);
}
