// SPDX-License-Identifier: Apache-2.0
// Inputs and expected results of the named calls. Compiled once for each element type,
// SLICESORT_TEST_DTYPE.
#include "calls.hpp"

#include "named_calls.hpp"

#include "support/inputs.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

namespace {

// Fills attention's inputs with normal values, and its saved state with maxima and positive sums.
template <class T>
void make_attention_inputs(operands<T> const& ops, std::uint64_t seed) {
  attention_extents const& e = ops.attention;
  auto const fill = [&](auto* destination, index_t count) {
    using Element = std::decay_t<decltype(*destination)>;
    auto const values =
        make_column<Element>(input_kind::normal, static_cast<std::size_t>(count), ++seed);
    std::copy(values.begin(), values.end(), destination);
  };
  for (T* tensor : {ops.q, ops.k, ops.v, ops.dattention_output}) fill(tensor, e.e.size());
  fill(ops.random_rows, e.w_extents().size());
  index_t const state_values = 2 * e.state_extents().size();
  fill(ops.softmax_state, state_values);
  for (index_t i = 1; i < state_values; i += 2)
    ops.softmax_state[i] = 1 + ops.softmax_state[i] * ops.softmax_state[i];
  for (index_t b = 0; b < e.e.batch; ++b)
    ops.attention_lengths[b] = std::min(ops.lengths[b], e.e.length);
}

// Fills the inputs. The host backend computes the saved state.
template <class T>
void make_inputs(operands<T> const& ops, std::uint64_t seed) {
  extents3 const e = ops.e;
  tensor3<T> const x = ops.view(ops.x), dy = ops.view(ops.dy);
  constexpr input_kind kinds[] = {input_kind::normal, input_kind::few_unique, input_kind::relu,
                                  input_kind::zero_among, input_kind::rare_pairs};
  for (index_t b = 0; b < e.batch; ++b) {
    for (index_t c = 0; c < e.channels; ++c) {
      auto const column_seed = static_cast<std::uint64_t>(b * e.channels + c) + seed;
      auto const rows = static_cast<std::size_t>(e.length);
      auto const column = make_column<T>(kinds[column_seed % 5], rows, column_seed);
      auto const gradient = make_column<T>(input_kind::normal, rows, column_seed + 1);
      for (std::size_t n = 0; n < rows; ++n) {
        x(b, static_cast<index_t>(n), c) = column[n];
        dy(b, static_cast<index_t>(n), c) = gradient[n];
      }
    }
    index_t const lengths[] = {e.length / 2 + 1, e.length, 1, 0, e.length - 1};
    ops.lengths[b] = lengths[b % 5];
  }
  auto const mixing_size = static_cast<std::size_t>(factors * links * e.batch * e.length);
  auto const weights = make_column<T>(input_kind::normal, mixing_size, seed + 2);
  std::copy(weights.begin(), weights.end(), ops.mix_weights);
  make_attention_inputs(ops, seed + 3);
  using A = ss::detail::accumulator_t<T>;
  for (index_t k = 0; k < taps; ++k)
    ops.filters[k] = from_double<T>(0.5 - 0.25 * static_cast<double>(k));
  for (index_t k = 0; k < components; ++k) ops.weights[k] = A(0.75) - static_cast<A>(k);
  auto const element_count = static_cast<std::size_t>(e.size());
  std::vector<T> y(element_count);
  operands<T> state_ops = ops;
  state_ops.y = y.data();
  state_ops.perm = ops.saved_perm;
  state_ops.new_states = ops.saved_states;
  state_ops.max_indices = ops.saved_max_indices;
  std::copy(ops.saved_orders, ops.saved_orders + csp_calls, state_ops.new_orders);
  for (named_call<T> const& call : call_memory<T>::calls()) {
    if (!call.saves_state) continue;
    std::vector<unsigned char> scratch(call.workspace_bytes(ss::exec::host{}, state_ops));
    call.run(ss::exec::host{}, state_ops, scratch);
  }
}

}  // namespace

template <class T>
call_memory<T>::call_memory(extents3 e, std::uint64_t seed, bool with_lengths)
    : extents_(e),
      with_lengths_(with_lengths),
      host_inputs_(operand_sizes<T>(e).input_bytes),
      inputs_(host_inputs_.size()),
      outputs_(operand_sizes<T>(e).output_bytes, untouched_byte) {
  std::vector<unsigned char> outputs(outputs_.size());
  operands<T> const host(e, with_lengths, host_inputs_.data(), outputs.data());
  make_inputs(host, seed);
  inputs_.upload(host_inputs_.data());
}

template <class T>
std::vector<named_call<T>> const& call_memory<T>::calls() {
  static std::vector<named_call<T>> const calls = call_list<T>().calls;
  return calls;
}
template <class T>
named_call<T> const& call_memory<T>::call(std::string const& label) {
  auto const found = std::find_if(calls().begin(), calls().end(),
                                  [&](named_call<T> const& c) { return c.label == label; });
  if (found == calls().end()) throw std::logic_error("no call " + label);
  return *found;
}

template <class T>
std::vector<unsigned char> const& call_memory<T>::expected(named_call<T> const& call) const {
  std::vector<unsigned char>& outputs = expected_[call.label];
  if (outputs.empty()) {
    outputs.assign(outputs_.size(), untouched_byte);
    operands<T> const host(extents_, with_lengths_, host_inputs_.data(), outputs.data());
    std::vector<unsigned char> scratch(call.workspace_bytes(ss::exec::host{}, host));
    call.run(ss::exec::host{}, host, scratch);
  }
  return outputs;
}

template <class T>
std::size_t call_memory<T>::workspace_bytes(named_call<T> const& call,
                                            call_exec const& exec) const {
  return call.workspace_bytes(exec, operand_sizes<T>(extents_));
}
template <class T>
void call_memory<T>::run(named_call<T> const& call, call_exec const& exec,
                         ss::workspace scratch) const {
  call.run(exec, operands<T>(extents_, with_lengths_, inputs_.data(), outputs_.data()), scratch);
}

template class call_memory<SLICESORT_TEST_DTYPE>;

}  // namespace support
