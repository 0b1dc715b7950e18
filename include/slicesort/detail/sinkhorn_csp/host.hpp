// SPDX-License-Identifier: Apache-2.0
// sinkhorn_csp (channel-wise sample permutation, relaxed by Sinkhorn's algorithm) on the host. A
// task processes one group of up to 16 neighboring channels.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/host/unfused.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/detail/sinkhorn_csp/host/tasks.hpp>
#include <slicesort/detail/sinkhorn_csp/params.hpp>
#include <slicesort/detail/sinkhorn_csp/sinkhorn.hpp>
#include <slicesort/detail/sinkhorn_csp/sinkhorn_gradient.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/shift.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Implements the worker interface of sinkhorn.hpp for one host thread, with one lane per channel of
// a task. Results do not depend on the number of lanes.
template <class A, int Lanes>
struct sinkhorn_host_worker : unfused<A> {
  static constexpr int lanes = Lanes;
  static constexpr index_t first = 0, stride = 1;

  SLICESORT_HD void sync() const {}
};

template <>
struct host_implementation<sinkhorn_csp_op> {
  template <class T>
  static void plan(host_exec const& exec, sinkhorn_csp_shape const& s, arena& memory) {
    (void)layout<accumulator<T>>(memory, exec, s, true);
  }

  template <class T>
  static void forward(host_exec const& exec, sinkhorn_csp_forward<T> const& params, workspace w) {
    using A = accumulator<T>;
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena memory(w);
    layout<A> const buffers(memory, exec, params.shape(), false);
    buffers.fill_shifts(params.config, e);
    sinkhorn_tasks const tasks(e, params.config.group, 0, e.batch);
    for_each_task(exec, tasks.count(), [&](unsigned thread, index_t index) {
      sinkhorn_task const task = tasks.at(index, params.lengths);
      with_lanes<A>(task.channels, [&](auto worker) {
        auto const group = buffers.template make_group<decltype(worker)::lanes>(thread, task.rows);
        load_group(params.x, task, params.config, params.tau, buffers.shifts, group);
        compute_potentials<false>(worker, group, params.iterations);
        store_mixture(worker, params, task, group);
      });
    });
  }

  template <class T>
  static void backward(host_exec const& exec, sinkhorn_csp_backward<T> const& params, workspace w) {
    using A = accumulator<T>;
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena memory(w);
    layout<A> const buffers(memory, exec, params.shape(), true);
    buffers.fill_shifts(params.config, e);
    index_t const samples_per_pass = samples_at_once(e);
    for (index_t first_sample = 0; first_sample < e.batch; first_sample += samples_per_pass) {
      index_t const samples = std::min(samples_per_pass, e.batch - first_sample);
      sinkhorn_tasks const tasks(e, params.config.group, first_sample, samples);
      for_each_task(exec, tasks.count(), [&](unsigned thread, index_t index) {
        sinkhorn_task const task = tasks.at(index, params.lengths);
        with_lanes<A>(task.channels, [&](auto worker) {
          auto const group =
              buffers.template make_group<decltype(worker)::lanes>(thread, task.rows);
          load_group(params.x, task, params.config, params.tau, buffers.shifts, group);
          load_dy(params.dy, task, group);
          compute_potentials<true>(worker, group, params.iterations);
          differentiate_group(worker, group, params.iterations);
          tensor3<A> const row_factor_grads(buffers.row_factor_grads,
                                            {samples, e.length, e.channels});
          store_gradient(params, task, buffers.shifts, group, row_factor_grads,
                         task.batch - first_sample);
        });
      });
      sum_reference(exec, params,
                    tensor3<A const>(buffers.row_factor_grads, {samples, e.length, e.channels}),
                    first_sample);
    }
  }

 private:
  template <class T>
  using accumulator = accumulator_t<T>;

  // Arrays of one group with `Lanes` channels.
  template <class A, int Lanes>
  struct group_layout {
    sinkhorn_group<A> group{};

    group_layout(arena& memory, index_t rows, index_t iterations) {
      auto const take = [&](index_t count) {
        return memory.take<A>(static_cast<std::size_t>(count));
      };
      index_t const elements = rows * Lanes;
      group.pitch = Lanes;
      group.row_factors = take(rows);
      group.values = take(elements);
      group.column_factors = take(elements);
      group.row_potentials = take(elements);
      group.column_potentials = take(elements);
      group.row_potential_grads = take(elements);
      group.column_potential_grads = take(elements);
      group.row_factor_grads = take(elements);
      group.column_factor_grads = take(elements);
      group.history = take(sinkhorn_history_arrays * iterations * elements);
    }
  };

  // Workspace of forward and backward. Forward uses only a part of it.
  template <class A>
  struct layout {
    index_t* shifts;      // per channel
    A* row_factor_grads;  // gradients of the reference through each channel
    per_thread<group_layout<A, sinkhorn_csp_lanes>, index_t, index_t> task_memory;
    sinkhorn_csp_shape shape;

    layout(arena& memory, host_exec const& exec, sinkhorn_csp_shape const& s, bool backward)
        : shifts(memory.take<index_t>(s.extents.empty() ? 0 : s.extents.channels)),
          row_factor_grads(backward ? memory.take<A>(elements_at_once(s.extents)) : nullptr),
          task_memory(memory, exec.threads,
                      sinkhorn_tasks(s.extents, s.group, 0, s.extents.batch).count(), s.group,
                      s.iterations),
          shape(s) {}

    void fill_shifts(csp_config const& config, extents3 e) const {
      for (index_t c = 0; c < e.channels; ++c) shifts[c] = config.shift(c, e);
    }
    template <int Lanes>
    sinkhorn_group<A> make_group(unsigned thread, index_t rows) const {
      arena memory = task_memory.arena_of(thread);
      auto group = group_layout<A, Lanes>(memory, shape.group, shape.iterations).group;
      group.rows = rows;
      return group;
    }
  };

  // Calls f(worker) with the smallest number of lanes that holds the channels.
  template <class A, class F>
  static void with_lanes(index_t channels, F const& f) {
    if (channels > 4)
      f(sinkhorn_host_worker<A, sinkhorn_csp_lanes>{});
    else
      f(sinkhorn_host_worker<A, 4>{});
  }

  // Calls f(lane, channel, shift) for every channel of a task.
  template <class F>
  static void for_each_channel(sinkhorn_task const& task, index_t const* shifts, F const& f) {
    for (index_t lane = 0; lane < task.channels; ++lane)
      f(lane, task.channel + lane, wrap_row(shifts[task.channel + lane], task.valid));
  }
  // Returns the row before the shift. Requires 0 <= shift < valid.
  static index_t source_row(index_t row, index_t shift, index_t valid) {
    return row >= shift ? row - shift : row - shift + valid;
  }

  // Loads the values and factors of a task's group. Lanes without a channel hold zeros.
  template <class T, class A>
  static void load_group(tensor3<T const> x, sinkhorn_task const& task, csp_config const& config,
                         double tau, index_t const* shifts, sinkhorn_group<A> const& group) {
    for (index_t i = 0; i < task.rows; ++i) {
      auto const reference_value =
          static_cast<A>(x(task.batch, task.first_row + i, config.reference));
      group.row_factors[i] = logit_factor<A>(static_cast<double>(reference_value) / tau);
    }
    std::fill(group.values, group.values + task.rows * group.pitch, A{});
    for_each_channel(task, shifts, [&](index_t lane, index_t channel, index_t shift) {
      for (index_t i = 0; i < task.rows; ++i)
        group.values[i * group.pitch + lane] = static_cast<A>(
            x(task.batch, source_row(task.first_row + i, shift, task.valid), channel));
    });
    for (index_t i = 0; i < task.rows * group.pitch; ++i)
      group.column_factors[i] = logit_factor<A>(static_cast<double>(group.values[i]));
  }
  // Loads dy into `row_potential_grads`, where backpropagation starts.
  template <class T, class A>
  static void load_dy(tensor3<T const> dy, sinkhorn_task const& task,
                      sinkhorn_group<A> const& group) {
    std::fill(group.row_potential_grads, group.row_potential_grads + task.rows * group.pitch, A{});
    for (index_t i = 0; i < task.rows; ++i)
      for (index_t lane = 0; lane < task.channels; ++lane)
        group.row_potential_grads[i * group.pitch + lane] =
            static_cast<A>(dy(task.batch, task.first_row + i, task.channel + lane));
  }

  // Stores the rows that the transport matrix mixes. Copies the reference and padding rows.
  template <class Worker, class T, class A>
  static void store_mixture(Worker worker, sinkhorn_csp_forward<T> const& params,
                            sinkhorn_task const& task, sinkhorn_group<A> const& group) {
    for (index_t i = 0; i < task.rows; ++i) {
      lane_array<A, Worker::lanes> y;
      mix_row(worker, group, i, y);
      index_t const row = task.first_row + i;
      for (index_t lane = 0; lane < task.channels; ++lane) {
        index_t const channel = task.channel + lane;
        params.y(task.batch, row, channel) = channel == params.config.reference
                                                 ? params.x(task.batch, row, channel)
                                                 : rounded<T>(y[static_cast<int>(lane)]);
      }
    }
    for (index_t row = task.first_row + task.rows; row < task.end_row; ++row)
      for (index_t channel = task.channel; channel < task.channel + task.channels; ++channel)
        params.y(task.batch, row, channel) = params.x(task.batch, row, channel);
  }

  // Stores the gradient of each channel to dx, and that of the reference through it to
  // `row_factor_grads`.
  template <class T, class A>
  static void store_gradient(sinkhorn_csp_backward<T> const& params, sinkhorn_task const& task,
                             index_t const* shifts, sinkhorn_group<A> const& group,
                             tensor3<A> row_factor_grads, index_t sample) {
    with_store<T>(params.mode, [&](auto store) {
      for_each_channel(task, shifts, [&](index_t lane, index_t channel, index_t shift) {
        if (channel == params.config.reference) return;
        for (index_t i = 0; i < task.rows; ++i) {
          index_t const row = task.first_row + i;
          store.sum(params.dx(task.batch, source_row(row, shift, task.valid), channel),
                    group.column_factor_grads[i * group.pitch + lane]);
          row_factor_grads(sample, row, channel) = group.row_factor_grads[i * group.pitch + lane];
        }
        for (index_t row = task.first_row + task.rows; row < task.end_row; ++row)
          store(params.dx(task.batch, row, channel), params.dy(task.batch, row, channel));
      });
    });
  }

  // Computes the gradient of the reference: dy plus 1 / tau times the sum of `row_factor_grads`
  // over the other channels, in order. Rows that are not valid get dy.
  template <class T, class A>
  static void sum_reference(host_exec const& exec, sinkhorn_csp_backward<T> const& params,
                            tensor3<A const> row_factor_grads, index_t first_sample) {
    extents3 const e = row_factor_grads.extents();
    constexpr index_t rows_per_task = 64;
    index_t const tasks_per_sample = (e.length + rows_per_task - 1) / rows_per_task;
    index_t const reference = params.config.reference;
    for_each_task(exec, e.batch * tasks_per_sample, [&](unsigned, index_t index) {
      index_t const sample = index / tasks_per_sample,
                    first_row = index % tasks_per_sample * rows_per_task;
      index_t const valid = valid_rows(params.lengths, first_sample + sample, e.length);
      with_store<T>(params.mode, [&](auto store) {
        for (index_t row = first_row; row < std::min(first_row + rows_per_task, e.length); ++row) {
          T const dy_reference = params.dy(first_sample + sample, row, reference);
          T& target = params.dx(first_sample + sample, row, reference);
          if (row >= valid) {
            store(target, dy_reference);
            continue;
          }
          double sum = 0;
          for (index_t c = 0; c < e.channels; ++c)
            if (c != reference) sum += static_cast<double>(row_factor_grads(sample, row, c));
          store.sum(target, static_cast<A>(static_cast<double>(static_cast<A>(dy_reference)) +
                                           sum / params.tau));
        }
      });
    });
  }
};

SLICESORT_DETAIL_END
