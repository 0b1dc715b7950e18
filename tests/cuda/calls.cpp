// SPDX-License-Identifier: Apache-2.0
// Compiled once for each element type, SLICESORT_TEST_DTYPE.
#include "calls.hpp"

#include "support/inputs.hpp"
#include "support/pattern_order.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/sinkhorn_csp.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/sparse_mix.hpp>

#include <algorithm>

namespace support {

namespace {

namespace ss = slicesort;

constexpr index_t terms = 3;
constexpr pattern_order order{irregular};
constexpr ss::grad_mode add = ss::grad_mode::accumulate;

// CSP four times: pairs, groups in registers, groups of more than 256 rows that follow a channel,
// and whole columns.
constexpr int first_csp = 12, csps = 4;
template <class F>
auto with_csp(int which, F const& f) {
  ss::csp const pairs{ss::group_size{2}, ss::shift::linear{}, order};
  ss::csp const groups{ss::group_size{24}, ss::shift::linear_step{5}, ss::reference{1}};
  ss::csp const long_groups{ss::group_size{600}, ss::shift::power{1, 2}, ss::reference{0}};
  ss::csp const columns{ss::group_count{1}, ss::shift::modular{}, ss::descending{}};
  switch (which) {
    case 0:
      return f(pairs);
    case 1:
      return f(groups);
    case 2:
      return f(long_groups);
    default:
      return f(columns);
  }
}
// A call is of one of them, forward or backward.
constexpr int csp_of(int call) { return (call - first_csp) / 2; }

// sinkhorn_csp, then sparse_mix twice: all states saved; and none, where backward is of x alone.
constexpr int first_sinkhorn = first_csp + 2 * csps, first_mix = first_sinkhorn + 2;
// sinkhorn_csp has no 16-bit types; for these, calls of sparse_mix take its numbers.
template <class T>
constexpr bool relaxes = sizeof(T) > 2;
inline ss::sinkhorn_csp<> relaxed() { return ss::sinkhorn_csp<>{ss::group_size{12}, {0.5, 3}}; }

constexpr index_t factors = 3, links = 3;
template <class F>
auto with_mix(int which, F const& f) {
  if (which == 0) return f(ss::sparse_mix<ss::topology::cdil>{});
  return f(ss::sparse_mix<ss::topology::cdil, ss::residual::none>{{}, ss::recompute});
}
// A call is of one of them, forward or backward.
constexpr int mix_of(int call) { return (call - first_mix) / 2; }

// Where everything lies: inputs in one block, outputs in another.
template <class T>
struct operands {
  using A = ss::detail::accumulator_t<T>;

  extents3 e;
  T *x, *dy;
  std::uint32_t *saved_perm, *saved_maximum;
  A* weights;
  index_t* lengths;
  std::uint32_t* saved_orders[csps];  // of any width
  T *mix_weights, *saved_states;
  T *y, *dx;
  std::uint32_t *perm, *maximum, *new_order;
  A* dweights;
  T *dmix_weights, *new_states;
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
    for (auto& saved : saved_orders) take(saved, inputs, input_bytes, elements);
    auto const mixing = static_cast<std::size_t>(factors * links * e.batch * e.length);
    take(mix_weights, inputs, input_bytes, mixing);
    take(saved_states, inputs, input_bytes, static_cast<std::size_t>(factors - 1) * elements);
    take(y, outputs, output_bytes, elements);
    take(dx, outputs, output_bytes, elements);
    take(perm, outputs, output_bytes, elements);
    take(maximum, outputs, output_bytes, columns);
    take(new_order, outputs, output_bytes, elements);
    take(dweights, outputs, output_bytes, terms);
    take(dmix_weights, outputs, output_bytes, mixing);
    take(new_states, outputs, output_bytes, static_cast<std::size_t>(factors - 1) * elements);
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
  if (call < first_csp) return ss::shuffle<ss::per_channel>(9).workspace_bytes<T>(on, e);
  if (call < first_sinkhorn)
    return with_csp(csp_of(call),
                    [&](auto const& op) { return op.template workspace_bytes<T>(on, e); });
  if constexpr (relaxes<T>)
    if (call < first_mix) return relaxed().workspace_bytes<T>(on, e);
  return with_mix(mix_of(std::max(call, first_mix)), [&](auto const& op) {
    return op.template workspace_bytes<T>(on, e, {factors, e.batch, e.length, links});
  });
}

// The view that CSP saves through, or reads.
template <class Op>
ss::index_tensor3 order_view(Op const& op, std::uint32_t* data, extents3 e) {
  extents3 const saved = op.saved_extents(e);
  switch (op.saved_width(e)) {
    case ss::index_width::bits8:
      return tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(data), saved);
    case ss::index_width::bits16:
      return tensor3<std::uint16_t>(reinterpret_cast<std::uint16_t*>(data), saved);
    default:
      return tensor3<std::uint32_t>(data, saved);
  }
}

template <class T, class Exec>
void run_csp(int call, Exec const& on, operands<T> const& o, ss::workspace w,
             ss::tensor1<index_t const> lengths) {
  with_csp(csp_of(call), [&](auto const& op) {
    tensor3<T const> const x(o.x, o.e), dy(o.dy, o.e);
    tensor3<T> const y(o.y, o.e), dx(o.dx, o.e);
    if ((call - first_csp) % 2 == 0) {
      op.forward(on, x, y, {order_view(op, o.new_order, o.e)}, w, {lengths});
    } else {
      ss::const_index_tensor3 const saved = order_view(op, o.saved_orders[csp_of(call)], o.e);
      op.backward(on, dy, {saved}, dx, w,
                  {csp_of(call) == 1 ? add : ss::grad_mode::overwrite, lengths});
    }
  });
}

template <class T, class Exec>
void run_sinkhorn(int call, Exec const& on, operands<T> const& o, ss::workspace w,
                  ss::tensor1<index_t const> lengths) {
  tensor3<T const> const x(o.x, o.e), dy(o.dy, o.e);
  if (call == first_sinkhorn)
    relaxed().forward(on, x, tensor3<T>(o.y, o.e), w, {lengths});
  else
    relaxed().backward(on, dy, x, tensor3<T>(o.dx, o.e), w, {ss::grad_mode::overwrite, lengths});
}

template <class T, class Exec>
void run_mix(int call, Exec const& on, operands<T> const& o, ss::workspace w,
             ss::tensor1<index_t const> lengths) {
  extents3 const e = o.e;
  ss::extents4 const of_weights{factors, e.batch, e.length, links};
  tensor3<T const> const x(o.x, e), dy(o.dy, e);
  tensor3<T> const y(o.y, e), dx(o.dx, e);
  ss::tensor4<T const> const weights(o.mix_weights, of_weights);
  with_mix(mix_of(call), [&](auto const& op) {
    ss::extents4 const saved = op.saved_extents(e, of_weights);
    bool const forward = (call - first_mix) % 2 == 0;
    if (forward && mix_of(call) == 0)
      op.forward(on, x, weights, y, {ss::tensor4<T>(o.new_states, saved)}, w, {lengths});
    else if (forward)
      op.forward(on, x, weights, y, ss::no_saved, w, {lengths});
    else if (mix_of(call) == 0)
      op.backward(on, dy, x, weights, {ss::tensor4<T const>(o.saved_states, saved)}, dx,
                  ss::tensor4<T>(o.dmix_weights, of_weights), w,
                  {ss::grad_mode::overwrite, lengths});
    else
      op.backward(on, dy, weights, dx, w, {add, lengths});
  });
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
    case 11:
      return own.backward(on, dy, dx, w, {overwrite, lengths});
    default:
      if (call < first_sinkhorn) return run_csp(call, on, o, w, lengths);
      if constexpr (relaxes<T>)
        if (call < first_mix) return run_sinkhorn(call, on, o, w, lengths);
      return run_mix(call < first_mix ? call + 2 : call, on, o, w, lengths);
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
  auto const mixing = static_cast<std::size_t>(factors * links * e.batch * e.length);
  auto const weights = make_column<T>(input_kind::normal, mixing, seed + 2);
  std::copy(weights.begin(), weights.end(), o.mix_weights);
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
      "shuffle.forward, own",      "shuffle.backward, own",
      "csp.forward, pairs",        "csp.backward, pairs",
      "csp.forward, groups",       "csp.backward, groups, accumulating",
      "csp.forward, long groups",  "csp.backward, long groups",
      "csp.forward, columns",      "csp.backward, columns",
      "sinkhorn_csp.forward",      "sinkhorn_csp.backward",
      "sparse_mix.forward",        "sparse_mix.backward",
      "sparse_mix.forward, alone", "sparse_mix.backward, of x, accumulating"};
  static_assert(sizeof names / sizeof names[0] == all_calls, "a name for every call");
  return names[call];
}
#endif

}  // namespace support
