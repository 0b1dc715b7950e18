// SPDX-License-Identifier: Apache-2.0
// Compiled once for each element type, SLICESORT_TEST_DTYPE.
#include "calls.hpp"

#include "run_call.hpp"

#include "support/inputs.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

namespace {

// Normal numbers; of states of softmax_attention, maxima and sums.
template <class T>
void make_attention_inputs(operands<T> const& o, std::uint64_t seed) {
  attention_extents const& e = o.attention;
  auto const fill = [&](auto* to, index_t count) {
    using Element = std::decay_t<decltype(*to)>;
    auto const numbers =
        make_column<Element>(input_kind::normal, static_cast<std::size_t>(count), ++seed);
    std::copy(numbers.begin(), numbers.end(), to);
  };
  for (T* tensor : {o.q, o.k, o.v, o.dattended}) fill(tensor, e.e.size());
  fill(o.random_rows, e.of_w().size());
  index_t const numbers_of_states = 2 * e.of_state().size();
  fill(o.softmax_state, numbers_of_states);
  for (index_t i = 1; i < numbers_of_states; i += 2)
    o.softmax_state[i] = 1 + o.softmax_state[i] * o.softmax_state[i];
  for (index_t b = 0; b < e.e.batch; ++b)
    o.attention_lengths[b] = std::min(o.lengths[b], e.e.length);
}

// Fills the inputs; the saved state is what the host backend saves.
template <class T>
void make_inputs(operands<T> const& o, std::uint64_t seed, bool with_lengths) {
  extents3 const e = o.e;
  tensor3<T> const x(o.x, e), dy(o.dy, e);
  constexpr input_kind kinds[] = {input_kind::normal, input_kind::few_unique, input_kind::relu,
                                  input_kind::zero_among, input_kind::rare_pairs};
  for (index_t b = 0; b < e.batch; ++b) {
    for (index_t c = 0; c < e.channels; ++c) {
      auto const number = static_cast<std::uint64_t>(b * e.channels + c) + seed;
      auto const rows = static_cast<std::size_t>(e.length);
      auto const column = make_column<T>(kinds[number % 5], rows, number);
      auto const gradient = make_column<T>(input_kind::normal, rows, number + 1);
      for (std::size_t n = 0; n < rows; ++n) {
        x(b, static_cast<index_t>(n), c) = column[n];
        dy(b, static_cast<index_t>(n), c) = gradient[n];
      }
    }
    index_t const lengths[] = {e.length / 2 + 1, e.length, 1, 0, e.length - 1};
    o.lengths[b] = lengths[b % 5];
  }
  auto const mixing = static_cast<std::size_t>(factors * links * e.batch * e.length);
  auto const weights = make_column<T>(input_kind::normal, mixing, seed + 2);
  std::copy(weights.begin(), weights.end(), o.mix_weights);
  make_attention_inputs(o, seed + 3);
  using A = ss::detail::accumulator_t<T>;
  for (index_t k = 0; k < terms; ++k) o.weights[k] = A(0.75) - static_cast<A>(k);
  auto const whole = static_cast<std::size_t>(e.size());
  std::vector<T> y(whole);
  operands<T> save = o;
  save.y = y.data();
  save.perm = o.saved_perm;
  save.new_states = o.saved_states;
  save.maximum = o.saved_maximum;
  for (int call : {0, 6, 12, 14, 16, 18, first_mix}) {
    if (call >= first_csp && call < first_sinkhorn) save.new_order = o.saved_orders[csp_of(call)];
    std::vector<unsigned char> scratch(bytes_of<T>(call, ss::exec::host{}, e));
    run_call<T>(call, ss::exec::host{}, save, scratch, with_lengths);
  }
}

}  // namespace

template <class T>
call_memory<T>::call_memory(extents3 e, std::uint64_t seed, bool with_lengths)
    : extents_(e),
      with_lengths_(with_lengths),
      host_inputs_(sizes_of<T>(e).input_bytes),
      inputs_(host_inputs_.size()),
      outputs_(sizes_of<T>(e).output_bytes, untouched) {
  std::vector<unsigned char> outputs(outputs_.size());
  operands<T> const host(e, host_inputs_.data(), outputs.data());
  make_inputs(host, seed, with_lengths);
  inputs_.upload(host_inputs_.data());
}

template <class T>
std::vector<unsigned char> const& call_memory<T>::expected(int call) const {
  std::vector<unsigned char>& outputs = expected_[call];
  if (outputs.empty()) {
    outputs.assign(outputs_.size(), untouched);
    operands<T> const host(extents_, host_inputs_.data(), outputs.data());
    std::vector<unsigned char> scratch(bytes_of<T>(call, ss::exec::host{}, extents_));
    run_call<T>(call, ss::exec::host{}, host, scratch, with_lengths_);
  }
  return outputs;
}

template <class T>
std::size_t call_memory<T>::workspace_bytes(int call, on_stream on) const {
  return bytes_of<T>(call, on, extents_);
}
template <class T>
void call_memory<T>::run(int call, on_stream on, ss::workspace scratch) const {
  operands<T> const there(extents_, inputs_.data(), outputs_.data());
  run_call<T>(call, on, there, scratch, with_lengths_);
}

template class call_memory<SLICESORT_TEST_DTYPE>;

#if defined(SLICESORT_TEST_FIRST)
std::string call_name(int call) {
  constexpr char const* names[] = {"slicing_sort.forward",
                                   "slicing_sort.forward, not saved",
                                   "slicing_sort.backward",
                                   "slicing_sort.backward, accumulating",
                                   "multi_permutation.forward",
                                   "multi_permutation.backward",
                                   "max_exchange.forward",
                                   "max_exchange.backward",
                                   "shuffle.forward, shared",
                                   "shuffle.backward, shared",
                                   "shuffle.forward, own",
                                   "shuffle.backward, own",
                                   "csp.forward, pairs",
                                   "csp.backward, pairs",
                                   "csp.forward, groups",
                                   "csp.backward, groups, accumulating",
                                   "csp.forward, long groups",
                                   "csp.backward, long groups",
                                   "csp.forward, columns",
                                   "csp.backward, columns",
                                   "sinkhorn_csp.forward",
                                   "sinkhorn_csp.backward",
                                   "sparse_mix.forward",
                                   "sparse_mix.backward",
                                   "sparse_mix.forward, alone",
                                   "sparse_mix.backward, of x, accumulating",
                                   "permute.forward",
                                   "permute.backward, accumulating",
                                   "linear_attention.forward",
                                   "linear_attention.backward",
                                   "linear_attention.forward, causal",
                                   "linear_attention.backward, causal",
                                   "merge_attention.forward",
                                   "merge_attention.forward, not saved"};
  static_assert(sizeof names / sizeof names[0] == all_calls, "a name for every call");
  return names[call];
}
#endif

}  // namespace support
