// SPDX-License-Identifier: Apache-2.0
// What the numbered calls are, on any execution policy.
#pragma once

#include "attention_calls.hpp"
#include "calls.hpp"
#include "operands.hpp"

#include "support/pattern_order.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/sinkhorn_csp.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/sparse_mix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace support {

inline constexpr pattern_order order{irregular};

// CSP four times: pairs, groups in registers, groups of more than 256 rows that follow a channel,
// and whole columns.
inline constexpr int first_csp = 12;
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
inline constexpr int first_sinkhorn = first_csp + 2 * csps, first_mix = first_sinkhorn + 2;
// sinkhorn_csp has no 16-bit types; for these, calls of sparse_mix take its numbers.
template <class T>
inline constexpr bool relaxes = sizeof(T) > 2;
inline ss::sinkhorn_csp<> relaxed() { return ss::sinkhorn_csp<>{ss::group_size{12}, {0.5, 3}}; }

template <class F>
auto with_mix(int which, F const& f) {
  if (which == 0) return f(ss::sparse_mix<ss::topology::cdil>{});
  return f(ss::sparse_mix<ss::topology::cdil, ss::residual::none>{ss::recompute});
}
// Then permute, by what slicing_sort saves.
inline constexpr int first_permute = first_mix + 4;
// A call is of one of them, forward or backward.
constexpr int mix_of(int call) { return (call - first_mix) / 2; }

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
  if (call >= first_linear) return attention_bytes_of<T>(call, on, attention_extents(e));
  if (call >= first_permute) return ss::permute::workspace_bytes<T>(on, e);
  return with_mix(mix_of(std::max(call, first_mix)), [&](auto const& op) {
    return op.template workspace_bytes<T>(on, e, {factors, e.batch, e.length, links});
  });
}

inline ss::grad_mode mode_of(int call) {
  return accumulates(call) ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
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
      op.backward(on, dy, {saved}, dx, w, {mode_of(call), lengths});
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
    relaxed().backward(on, dy, x, tensor3<T>(o.dx, o.e), w, {mode_of(call), lengths});
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
                  ss::tensor4<T>(o.dmix_weights, of_weights), w, {mode_of(call), lengths});
    else
      op.backward(on, dy, weights, dx, w, {mode_of(call), lengths});
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
  auto const mode = mode_of(call);
  switch (call) {
    case 0:
      return sort.forward(on, x, y, {perm}, w, {lengths});
    case 1:
      return sort.forward(on, x, y, ss::no_saved, w, {lengths});
    case 2:
    case 3:
      return sort.backward(on, dy, {saved}, dx, w, {mode, lengths});
    case 4:
      return multi.forward(on, x, weights, y, {perm}, w, {lengths});
    case 5:
      return multi.backward(on, dy, x, weights, {saved}, dx, dweights, w, {mode, lengths});
    case 6:
      return exchange.forward(on, x, y, {maximum}, w, {lengths});
    case 7:
      return exchange.backward(on, dy, {saved_maximum}, dx, w, {mode, lengths});
    case 8:
      return shared.forward(on, x, y, w, {lengths});
    case 9:
      return shared.backward(on, dy, dx, w, {mode, lengths});
    case 10:
      return own.forward(on, x, y, w, {lengths});
    case 11:
      return own.backward(on, dy, dx, w, {mode, lengths});
    case first_permute:
      return ss::permute().forward(on, x, {saved}, y, w, {lengths});
    case first_permute + 1:
      return ss::permute().backward(on, dy, {saved}, dx, w, {mode, lengths});
    default:
      if (call >= first_merge) return run_merge(call, on, o, w);
      if (call >= first_linear) return run_linear(call, on, o, w, with_lengths);
      if (call < first_sinkhorn) return run_csp(call, on, o, w, lengths);
      if constexpr (relaxes<T>)
        if (call < first_mix) return run_sinkhorn(call, on, o, w, lengths);
      return run_mix(call < first_mix ? call + 2 : call, on, o, w, lengths);
  }
}

}  // namespace support
