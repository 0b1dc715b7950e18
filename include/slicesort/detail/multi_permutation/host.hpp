// SPDX-License-Identifier: Apache-2.0
// Host backend of multi_permutation. A task sorts a chunk of columns, which leaves the first power
// in y. Then it computes the other powers of each column in per-thread memory.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/host/unfused.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/multi_permutation/params.hpp>
#include <slicesort/detail/sort/host/sort_chunk.hpp>
#include <slicesort/policies/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Applies powers of one column's permutation P: (P v)[n] = v[perm[n]].
template <class A>
struct column_powers {
  std::uint32_t const* perm;
  index_t rows;
  A* power;
  A* next;
  unfused<A> ops_{};

  void permute() {
    for (index_t i = 0; i < rows; ++i) next[i] = power[perm[i]];
    std::swap(power, next);
  }
  void transpose() {
    for (index_t i = 0; i < rows; ++i) next[perm[i]] = power[i];
    std::swap(power, next);
  }

  // Computes sums = sum_k weights(k) P^k v from P v, in ascending order of k.
  void forward(A const* sorted, component_weights<A> const& weights, A* sums) {
    A const first = weights(1);
    for (index_t i = 0; i < rows; ++i) {
      power[i] = sorted[i];
      sums[i] = first * power[i];
    }
    for (index_t k = 2; k <= weights.components; ++k) {
      permute();
      A const weight = weights(k);
      for (index_t i = 0; i < rows; ++i) sums[i] = ops_.multiply_add(weight, power[i], sums[i]);
    }
  }

  // Replaces d by sum_k w_k (P^k)^T d with the weights w, by Horner's rule:
  // (P^T)(w_1 d + (P^T)(w_2 d + ...)).
  void backward(component_weights<A> const& weights, A* d) {
    A const last = weights(weights.components);
    for (index_t i = 0; i < rows; ++i) power[i] = last * d[i];
    for (index_t k = weights.components - 1; k >= 1; --k) {
      transpose();
      A const weight = weights(k);
      for (index_t i = 0; i < rows; ++i) power[i] = ops_.multiply_add(weight, d[i], power[i]);
    }
    for (index_t i = 0; i < rows; ++i) d[perm[i]] = power[i];
  }

  // Computes sums_by_component[k - 1] = <dy, P^k v>, summed in row order.
  void compute_weights_gradient(A const* dy, A const* v, index_t components,
                                double* sums_by_component) {
    unfused<double> const ops;
    std::copy_n(v, rows, power);
    for (index_t k = 1; k <= components; ++k) {
      permute();
      double sum = 0;
      for (index_t i = 0; i < rows; ++i)
        sum = ops.multiply_add(static_cast<double>(dy[i]), static_cast<double>(power[i]), sum);
      sums_by_component[k - 1] = sum;
    }
  }
};

template <class Order>
struct host_implementation<multi_permutation_op<Order>> {
  template <class T>
  static void plan(host_exec const& exec, multi_permutation_shape const& shape, arena& memory) {
    (void)layout<T>(memory, exec, shape);
  }

  template <class T>
  static void forward(host_exec const& exec, multi_permutation_forward<Order, T> const& params,
                      workspace memory);

  template <class T>
  static void backward(host_exec const& exec, multi_permutation_backward<T> const& params,
                       workspace memory);

 private:
  template <class T>
  using A = accumulator_t<T>;

  // Memory for the columns of one sample, and for the sort of a chunk.
  template <class T>
  struct thread_layout {
    index_t pitch;
    std::uint32_t* perm;
    A<T>*values, *sums;
    A<T>*power, *next;  // one column each
    chunk_sort_scratch<T> sorting;

    thread_layout(arena& memory, extents3 e)
        : pitch(column_pitch(e.length)),
          perm(memory.take<std::uint32_t>(elements(e))),
          values(memory.take<A<T>>(elements(e))),
          sums(memory.take<A<T>>(elements(e))),
          power(memory.take<A<T>>(static_cast<std::size_t>(pitch))),
          next(memory.take<A<T>>(static_cast<std::size_t>(pitch))),
          sorting(memory, e) {}
    static std::size_t elements(extents3 e) {
      return static_cast<std::size_t>(column_chunks(e, tile_columns).channels() *
                                      column_pitch(e.length));
    }
    column_powers<A<T>> powers(index_t c, index_t rows) const {
      return {perm + c * pitch, rows, power, next};
    }
  };

  template <class T>
  struct layout {
    per_thread<thread_layout<T>, extents3> threads;
    double* sums_by_component;  // [columns, components]

    layout(arena& memory, host_exec const& exec, multi_permutation_shape const& shape)
        : threads(memory, exec.threads, column_chunks(shape.extents, tile_columns).count(),
                  shape.extents),
          sums_by_component(memory.take<double>(
              amount(shape.extents.empty() ? 0 : shape.extents.batch * shape.extents.channels) *
              shape.components)) {}
  };

  // Sums the columns in order, so bits depend neither on threads nor on chunks.
  template <class T>
  static void add_columns(multi_permutation_backward<T> const& params,
                          double const* sums_by_component) {
    extents3 const e = params.dy.extents();
    index_t const columns = e.empty() ? 0 : e.batch * e.channels,
                  components = params.weights.components;
    for (index_t k = 0; k < components; ++k) {
      double sum =
          params.mode == grad_mode::overwrite ? 0 : static_cast<double>(params.dweights(k));
      for (index_t i = 0; i < columns; ++i) sum += sums_by_component[i * components + k];
      params.dweights(k) = rounded<A<T>>(sum);
    }
  }
};

template <class Order>
template <class T>
void host_implementation<multi_permutation_op<Order>>::forward(
    host_exec const& exec, multi_permutation_forward<Order, T> const& params, workspace memory) {
  arena allocator(memory);
  extents3 const e = params.x.extents();
  layout<T> const buffers(allocator, exec, params.shape());
  column_chunks const chunks(e, tile_columns);
  for_each_task(exec, chunks.count(), [&](unsigned thread, index_t task) {
    sample_chunk const chunk = chunks[task];
    thread_layout<T> const local = buffers.threads[thread];
    chunk_permutation const perm =
        sort_chunk<T>(exec.instructions, params.order, params, chunk, local.sorting);
    for (index_t sample = 0; sample < chunk.batches; ++sample) {
      column_chunk const columns = chunk[sample];
      index_t const rows = valid_rows(params.lengths, columns.batch, e.length);
      perm.load(chunk, sample, rows, local.perm, local.pitch);
      load_columns(params.y, columns, 0, rows, local.values, local.pitch);
      for (index_t c = 0; c < columns.channels; ++c)
        local.powers(c, rows).forward(local.values + c * local.pitch, params.weights,
                                      local.sums + c * local.pitch);
      store_sums(local.sums, local.pitch, params.y, columns, 0, rows, grad_mode::overwrite);
    }
  });
}

template <class Order>
template <class T>
void host_implementation<multi_permutation_op<Order>>::backward(
    host_exec const& exec, multi_permutation_backward<T> const& params, workspace memory) {
  arena allocator(memory);
  extents3 const e = params.dy.extents();
  index_t const components = params.weights.components;
  layout<T> const buffers(allocator, exec, params.shape());
  column_chunks const chunks(e, tile_columns);
  for_each_task(exec, chunks.count(), [&](unsigned thread, index_t task) {
    sample_chunk const chunk = chunks[task];
    thread_layout<T> const local = buffers.threads[thread];
    for (index_t sample = 0; sample < chunk.batches; ++sample) {
      column_chunk const columns = chunk[sample];
      index_t const rows = valid_rows(params.lengths, columns.batch, e.length);
      with_index_type(params.perm, [&](auto perm) {
        load_columns(perm, columns, 0, rows, local.perm, local.pitch);
      });
      load_columns(params.dy, columns, 0, rows, local.sums, local.pitch);
      if (params.needs_weight_gradient)
        load_columns(params.x, columns, 0, rows, local.values, local.pitch);
      for (index_t c = 0; c < columns.channels; ++c) {
        A<T>* const d = local.sums + c * local.pitch;
        if (params.needs_weight_gradient)
          local.powers(c, rows).compute_weights_gradient(
              d, local.values + c * local.pitch, components,
              buffers.sums_by_component +
                  (columns.batch * e.channels + columns.channel + c) * components);
        local.powers(c, rows).backward(params.weights, d);
      }
      store_sums(local.sums, local.pitch, params.dx, columns, 0, rows, params.mode);
      transfer_rows(params.dy, params.dx, columns, rows, e.length, params.mode);
    }
  });
  if (params.needs_weight_gradient) add_columns(params, buffers.sums_by_component);
}

SLICESORT_DETAIL_END
