// SPDX-License-Identifier: Apache-2.0
// multi_permutation on the host: sorting a run of columns leaves the first power in y and gives the
// permutation; then every column goes through its powers in slot-local memory.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/host/unfused.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/multi_permutation/params.hpp>
#include <slicesort/detail/sort/host/sort_columns.hpp>
#include <slicesort/policies/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

SLICESORT_DETAIL_BEGIN

// The order of a run's channels, given that of all channels.
template <class Order>
struct order_of_run {
  Order order;
  index_t first, channels;

  SLICESORT_HD bool ascending(index_t channel, index_t) const {
    return ascends(order, first + channel, channels);
  }
};

// One column of `rows` rows. `p` names source rows: (P v)[n] = v[p[n]].
template <class A>
struct powers_of_column {
  std::uint32_t const* p;
  index_t rows;
  A* now;
  A* next;
  unfused<A> apart{};

  void permute() {
    for (index_t i = 0; i < rows; ++i) next[i] = now[p[i]];
    std::swap(now, next);
  }
  void transpose() {
    for (index_t i = 0; i < rows; ++i) next[p[i]] = now[i];
    std::swap(now, next);
  }

  // sums = sum_k a_k P^k v, given P v; k rises.
  void forward(A const* sorted, term_weights<A> const& a, A* sums) {
    A const first = a(1);
    for (index_t i = 0; i < rows; ++i) {
      now[i] = sorted[i];
      sums[i] = first * now[i];
    }
    for (index_t k = 2; k <= a.terms; ++k) {
      permute();
      A const weight = a(k);
      for (index_t i = 0; i < rows; ++i) sums[i] = apart.multiply_add(weight, now[i], sums[i]);
    }
  }

  // d = sum_k a_k (P^k)^T d by Horner's rule: (P^T)(a_1 d + (P^T)(a_2 d + ...)).
  void backward(term_weights<A> const& a, A* d) {
    A const last = a(a.terms);
    for (index_t i = 0; i < rows; ++i) now[i] = last * d[i];
    for (index_t k = a.terms - 1; k >= 1; --k) {
      transpose();
      A const weight = a(k);
      for (index_t i = 0; i < rows; ++i) now[i] = apart.multiply_add(weight, d[i], now[i]);
    }
    for (index_t i = 0; i < rows; ++i) d[p[i]] = now[i];
  }

  // of_weight[k - 1] = dy . (P^k v), in row order.
  void weights_gradient(A const* dy, A const* v, index_t terms, double* of_weight) {
    unfused<double> const in_double;
    std::copy_n(v, rows, now);
    for (index_t k = 1; k <= terms; ++k) {
      permute();
      double sum = 0;
      for (index_t i = 0; i < rows; ++i)
        sum = in_double.multiply_add(static_cast<double>(dy[i]), static_cast<double>(now[i]), sum);
      of_weight[k - 1] = sum;
    }
  }
};

template <class Order>
struct host_implementation<multi_permutation_op<Order>> {
  template <class T>
  static void plan(host_exec const& exec, multi_permutation_shape const& s, arena& a) {
    (void)layout<T>(a, exec, s);
  }

  template <class T>
  static void forward(host_exec const& exec, multi_permutation_forward<Order, T> const& p,
                      workspace w);

  template <class T>
  static void backward(host_exec const& exec, multi_permutation_backward<T> const& p, workspace w);

 private:
  template <class T>
  using A = accumulator_t<T>;

  // The columns of one sample, and what a whole run of columns needs for its sort.
  template <class T>
  struct slot_layout {
    index_t pitch;
    std::uint32_t* perm;
    A<T>*values, *sums;
    A<T>*now, *next;  // one column each
    std::uint32_t* unsaved;
    sort_scratch<T> sorting;

    slot_layout(arena& a, extents3 e)
        : pitch(column_pitch(e.length)),
          perm(a.take<std::uint32_t>(elements(e))),
          values(a.take<A<T>>(elements(e))),
          sums(a.take<A<T>>(elements(e))),
          now(a.take<A<T>>(static_cast<std::size_t>(pitch))),
          next(a.take<A<T>>(static_cast<std::size_t>(pitch))),
          unsaved(a.take<std::uint32_t>(
              static_cast<std::size_t>(column_chunks(e, tile_columns).columns() * e.length))),
          sorting(a, {1, e.length, tile_columns}, 1) {}
    static std::size_t elements(extents3 e) {
      return static_cast<std::size_t>(column_chunks(e, tile_columns).channels() *
                                      column_pitch(e.length));
    }
    powers_of_column<A<T>> powers(index_t c, index_t rows) const {
      return {perm + c * pitch, rows, now, next};
    }
  };

  template <class T>
  struct layout {
    per_thread<slot_layout<T>, extents3> each;
    double* of_weights;  // per column, the gradient of each weight

    layout(arena& a, host_exec const& exec, multi_permutation_shape const& s)
        : each(a, exec.threads, column_chunks(s.extents, tile_columns).count(), s.extents),
          of_weights(a.take<double>(
              amount(s.extents.empty() ? 0 : s.extents.batch * s.extents.channels) * s.terms)) {}
  };

  // Sorts a run of x into y. Returns its permutation: the saved tensor, or that of this run alone.
  template <class T>
  static index_tensor3 sort_run(isa instructions, multi_permutation_forward<Order, T> const& p,
                                sample_chunk const& b, slot_layout<T> const& l) {
    extents3 const e{b.batches, p.x.extents().length, b.channels};
    index_tensor3 perm = p.perm, of_run;
    if (p.saving)
      with_index_type(perm, [&](auto v) { of_run = part(v, b, e); });
    else
      perm = of_run = tensor3<std::uint32_t>(l.unsaved, e);
    tensor1<index_t const> lengths;
    if (p.lengths.data() != nullptr)
      lengths = {p.lengths.data() + b.batch * p.lengths.stride(), b.batches, p.lengths.stride()};
    order_of_run<Order> const order{p.order, b.channel, p.x.extents().channels};
    sort_columns(exec::host{1, instructions},
                 columns_to_sort<T, order_of_run<Order>>{order, part(p.x, b, e), part(p.y, b, e),
                                                         of_run, lengths},
                 [&](unsigned) { return l.sorting; });
    return perm;
  }
  template <class V>
  static tensor3<V> part(tensor3<V> v, sample_chunk const& b, extents3 e) {
    return {v.data() + v.offset(b.batch, 0, b.channel), e, v.strides()};
  }

  // Adds up the columns in order, so that the bits depend neither on threads nor on runs; beginning
  // with dweights where it accumulates.
  template <class T>
  static void add_columns(multi_permutation_backward<T> const& p, double const* of_weights) {
    extents3 const e = p.dy.extents();
    index_t const columns = e.empty() ? 0 : e.batch * e.channels, terms = p.weights.terms;
    for (index_t k = 0; k < terms; ++k) {
      double sum = p.mode == grad_mode::overwrite ? 0 : static_cast<double>(p.dweights(k));
      for (index_t i = 0; i < columns; ++i) sum += of_weights[i * terms + k];
      p.dweights(k) = rounded<A<T>>(sum);
    }
  }
};

template <class Order>
template <class T>
void host_implementation<multi_permutation_op<Order>>::forward(
    host_exec const& exec, multi_permutation_forward<Order, T> const& p, workspace w) {
  arena a(w);
  extents3 const e = p.x.extents();
  layout<T> const m(a, exec, p.shape());
  column_chunks const runs(e, tile_columns);
  for_each_task(exec, runs.count(), [&](unsigned slot, index_t task) {
    sample_chunk const run = runs[task];
    slot_layout<T> const l = m.each[slot];
    index_tensor3 const perm = sort_run(exec.instructions, p, run, l);
    for (index_t s = 0; s < run.batches; ++s) {
      column_chunk const b = run[s], of_perm = p.saving ? b : column_chunk{s, 0, b.channels};
      index_t const rows = valid_rows(p.lengths, b.batch, e.length);
      with_index_type(perm, [&](auto v) { load_columns(v, of_perm, 0, rows, l.perm, l.pitch); });
      load_columns(p.y, b, 0, rows, l.values, l.pitch);
      for (index_t c = 0; c < b.channels; ++c)
        l.powers(c, rows).forward(l.values + c * l.pitch, p.weights, l.sums + c * l.pitch);
      store_sums(l.sums, l.pitch, p.y, b, 0, rows, grad_mode::overwrite);
    }
  });
}

template <class Order>
template <class T>
void host_implementation<multi_permutation_op<Order>>::backward(
    host_exec const& exec, multi_permutation_backward<T> const& p, workspace w) {
  arena a(w);
  extents3 const e = p.dy.extents();
  index_t const terms = p.weights.terms;
  layout<T> const m(a, exec, p.shape());
  column_chunks const runs(e, tile_columns);
  for_each_task(exec, runs.count(), [&](unsigned slot, index_t task) {
    sample_chunk const run = runs[task];
    slot_layout<T> const l = m.each[slot];
    for (index_t s = 0; s < run.batches; ++s) {
      column_chunk const b = run[s];
      index_t const rows = valid_rows(p.lengths, b.batch, e.length);
      with_index_type(p.perm, [&](auto perm) { load_columns(perm, b, 0, rows, l.perm, l.pitch); });
      load_columns(p.dy, b, 0, rows, l.sums, l.pitch);
      if (p.needs_weight_gradient) load_columns(p.x, b, 0, rows, l.values, l.pitch);
      for (index_t c = 0; c < b.channels; ++c) {
        A<T>* const d = l.sums + c * l.pitch;
        if (p.needs_weight_gradient)
          l.powers(c, rows).weights_gradient(
              d, l.values + c * l.pitch, terms,
              m.of_weights + (b.batch * e.channels + b.channel + c) * terms);
        l.powers(c, rows).backward(p.weights, d);
      }
      store_sums(l.sums, l.pitch, p.dx, b, 0, rows, p.mode);
      transfer_rows(p.dy, p.dx, b, rows, e.length, p.mode);
    }
  });
  if (p.needs_weight_gradient) add_columns(p, m.of_weights);
}

SLICESORT_DETAIL_END
