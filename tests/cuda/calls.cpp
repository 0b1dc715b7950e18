// SPDX-License-Identifier: Apache-2.0
// Compiled once for each element type, SLICESORT_TEST_DTYPE.
#include "calls.hpp"

#include "support/inputs.hpp"
#include "support/pattern_order.hpp"

#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/slicing_sort.hpp>

#include <algorithm>

namespace support {

namespace {

namespace ss = slicesort;

constexpr index_t terms = 3;
constexpr pattern_order order{irregular};
constexpr ss::grad_mode add = ss::grad_mode::accumulate;

// Where everything lies: inputs in one block, outputs in another.
template <class T>
struct operands {
  using A = ss::detail::accumulator_t<T>;

  extents3 e;
  T *x, *dy;
  std::uint32_t *saved_perm, *saved_maximum;
  A* weights;
  index_t* lengths;
  T *y, *dx;
  std::uint32_t *perm, *maximum;
  A* dweights;
  std::size_t input_bytes = 0, output_bytes = 0;

  operands(extents3 shape, void* inputs, void* outputs) : e(shape) {
    auto const columns = static_cast<std::size_t>(e.batch * e.channels);
    auto const elements = static_cast<std::size_t>(e.size());
    take(x, inputs, input_bytes, elements);
    take(dy, inputs, input_bytes, elements);
    take(saved_perm, inputs, input_bytes, elements);
    take(saved_maximum, inputs, input_bytes, columns);
    take(weights, inputs, input_bytes, terms);
    take(lengths, inputs, input_bytes, static_cast<std::size_t>(e.batch));
    take(y, outputs, output_bytes, elements);
    take(dx, outputs, output_bytes, elements);
    take(perm, outputs, output_bytes, elements);
    take(maximum, outputs, output_bytes, columns);
    take(dweights, outputs, output_bytes, terms);
  }
  ss::tensor1<index_t const> lengths_view(bool wanted) const {
    return wanted ? ss::tensor1<index_t const>(lengths, e.batch) : ss::tensor1<index_t const>();
  }

 private:
  template <class Element>
  static void take(Element*& place, void* block, std::size_t& used, std::size_t count) {
    place = reinterpret_cast<Element*>(static_cast<unsigned char*>(block) + used);
    used += (count * sizeof(Element) + 255) / 256 * 256;
  }
};
template <class T>
operands<T> sizes_of(extents3 e) {
  static unsigned char nowhere[1];
  return {e, nowhere, nowhere};
}

template <class T, class Exec>
std::size_t bytes_of(int call, Exec const& on, extents3 e) {
  if (call < 4) return ss::slicing_sort<pattern_order>(order).workspace_bytes<T>(on, e);
  if (call < 6) return ss::multi_permutation<pattern_order>(terms, order).workspace_bytes<T>(on, e);
  if (call < 8) return ss::max_exchange().workspace_bytes<T>(on, e);
  if (call < 10) return ss::shuffle<ss::shared_by_channels>(9).workspace_bytes<T>(on, e);
  return ss::shuffle<ss::per_channel>(9).workspace_bytes<T>(on, e);
}

template <class T, class Exec>
void run_call(int call, Exec const& on, operands<T> const& o, ss::workspace w, bool with_lengths) {
  using A = ss::detail::accumulator_t<T>;
  extents3 const e = o.e, row{e.batch, 1, e.channels};
  tensor3<T const> const x(o.x, e), dy(o.dy, e);
  tensor3<T> const y(o.y, e), dx(o.dx, e);
  tensor3<std::uint32_t> const perm(o.perm, e), maximum(o.maximum, row);
  tensor3<std::uint32_t const> const saved(o.saved_perm, e), saved_maximum(o.saved_maximum, row);
  ss::tensor1<A const> const weights(o.weights, terms);
  ss::tensor1<A> const dweights(o.dweights, terms);
  auto const lengths = o.lengths_view(with_lengths);
  ss::slicing_sort<pattern_order> const sort(order);
  ss::multi_permutation<pattern_order> const multi(terms, order);
  ss::max_exchange const exchange(0);
  ss::shuffle<ss::shared_by_channels> const shared(9);
  ss::shuffle<ss::per_channel> const own(9);
  constexpr auto overwrite = ss::grad_mode::overwrite;
  switch (call) {
    case 0:
      return sort.forward(on, x, y, {perm}, w, {lengths});
    case 1:
      return sort.forward(on, x, y, ss::no_saved, w, {lengths});
    case 2:
      return sort.backward(on, dy, {saved}, dx, w, {overwrite, lengths});
    case 3:
      return sort.backward(on, dy, {saved}, dx, w, {add, lengths});
    case 4:
      return multi.forward(on, x, weights, y, {perm}, w, {lengths});
    case 5:
      return multi.backward(on, dy, x, weights, {saved}, dx, dweights, w, {overwrite, lengths});
    case 6:
      return exchange.forward(on, x, y, {maximum}, w, {lengths});
    case 7:
      return exchange.backward(on, dy, {saved_maximum}, dx, w, {overwrite, lengths});
    case 8:
      return shared.forward(on, x, y, w, {lengths});
    case 9:
      return shared.backward(on, dy, dx, w, {overwrite, lengths});
    case 10:
      return own.forward(on, x, y, w, {lengths});
    default:
      return own.backward(on, dy, dx, w, {overwrite, lengths});
  }
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
  using A = ss::detail::accumulator_t<T>;
  for (index_t k = 0; k < terms; ++k) o.weights[k] = A(0.75) - static_cast<A>(k);
  auto const whole = static_cast<std::size_t>(e.size());
  std::vector<T> y(whole);
  operands<T> save = o;
  save.y = y.data();
  save.perm = o.saved_perm;
  save.maximum = o.saved_maximum;
  for (int call : {0, 6}) {
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
  for (int call = 0; call < all_calls; ++call) {
    std::fill(outputs.begin(), outputs.end(), untouched);
    std::vector<unsigned char> scratch(bytes_of<T>(call, ss::exec::host{}, e));
    run_call<T>(call, ss::exec::host{}, host, scratch, with_lengths);
    expected_[call] = outputs;
  }
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
char const* call_name(int call) {
  constexpr char const* names[] = {
      "slicing_sort.forward",      "slicing_sort.forward, not saved",
      "slicing_sort.backward",     "slicing_sort.backward, accumulating",
      "multi_permutation.forward", "multi_permutation.backward",
      "max_exchange.forward",      "max_exchange.backward",
      "shuffle.forward, shared",   "shuffle.backward, shared",
      "shuffle.forward, own",      "shuffle.backward, own"};
  static_assert(sizeof names / sizeof names[0] == all_calls, "a name for every call");
  return names[call];
}
#endif

}  // namespace support
