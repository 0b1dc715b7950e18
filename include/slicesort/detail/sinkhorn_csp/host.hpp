// SPDX-License-Identifier: Apache-2.0
// sinkhorn_csp on the host. A task takes one group of up to 16 neighboring channels, side by side.
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

// The worker that sinkhorn_csp/sinkhorn.hpp asks for: one thread, which takes the channels of a
// task in lanes. The number of lanes does not change results.
template <class A, int Lanes>
struct sinkhorn_worker {
  static constexpr int lanes = Lanes;
  static constexpr index_t first = 0, step = 1;
  unfused<A> apart{};

  SLICESORT_HD void sync() const {}
  SLICESORT_HD A product(A a, A b) const { return apart.product(a, b); }
  SLICESORT_HD A multiply_add(A a, A b, A c) const { return apart.multiply_add(a, b, c); }
  SLICESORT_HD A divide(A a, A b) const { return a / b; }
};

template <>
struct host_implementation<sinkhorn_csp_op> {
  template <class T>
  static void plan(host_exec const& exec, sinkhorn_shape const& s, arena& a) {
    (void)layout<accumulator<T>>(a, exec, s, true);
  }

  template <class T>
  static void forward(host_exec const& exec, sinkhorn_csp_forward<T> const& p, workspace w) {
    using A = accumulator<T>;
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    arena a(w);
    layout<A> const m(a, exec, p.shape(), false);
    m.fill_shifts(p.config, e);
    sinkhorn_tasks const tasks(e, p.config.group, 0, e.batch);
    for_each_task(exec, tasks.count(), [&](unsigned slot, index_t number) {
      sinkhorn_task const t = tasks.at(number, p.lengths);
      with_lanes<A>(t.channels, [&](auto worker) {
        auto const group = m.template group_of<decltype(worker)::lanes>(slot, t.rows);
        load(p.x, t, p.config, p.tau, m.shifts, group);
        scale_group<false>(worker, group, p.iterations);
        store_mixture(worker, p, t, group);
      });
    });
  }

  template <class T>
  static void backward(host_exec const& exec, sinkhorn_csp_backward<T> const& p, workspace w) {
    using A = accumulator<T>;
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    arena a(w);
    layout<A> const m(a, exec, p.shape(), true);
    m.fill_shifts(p.config, e);
    index_t const at_once = samples_at_once(e);
    for (index_t first = 0; first < e.batch; first += at_once) {
      index_t const samples = std::min(at_once, e.batch - first);
      sinkhorn_tasks const tasks(e, p.config.group, first, samples);
      for_each_task(exec, tasks.count(), [&](unsigned slot, index_t number) {
        sinkhorn_task const t = tasks.at(number, p.lengths);
        with_lanes<A>(t.channels, [&](auto worker) {
          auto const group = m.template group_of<decltype(worker)::lanes>(slot, t.rows);
          load(p.x, t, p.config, p.tau, m.shifts, group);
          load_gradient(p.dy, t, group);
          scale_group<true>(worker, group, p.iterations);
          differentiate_group(worker, group, p.iterations);
          tensor3<A> const du(m.du, {samples, e.length, e.channels});
          store_gradient(p, t, m.shifts, group, du, t.batch - first);
        });
      });
      sum_reference(exec, p, tensor3<A const>(m.du, {samples, e.length, e.channels}), first);
    }
  }

 private:
  template <class T>
  using accumulator = accumulator_t<T>;

  // The numbers of one group, for Lanes channels.
  template <class A, int Lanes>
  struct group_layout {
    sinkhorn_group<A> group{};

    group_layout(arena& a, index_t rows, index_t iterations) {
      auto const take = [&](index_t numbers) {
        return a.take<A>(static_cast<std::size_t>(numbers));
      };
      index_t const all = rows * Lanes;
      auto& g = group;
      g.pitch = Lanes;
      g.u = take(rows), g.values = take(all), g.w = take(all);
      g.f = take(all), g.h = take(all);
      g.a = take(all), g.b = take(all), g.du = take(all), g.dw = take(all);
      g.history = take(4 * iterations * all);
    }
  };

  // The workspace of a call. Forward uses only a part of it, so that one size serves both
  // directions.
  template <class A>
  struct layout {
    index_t* shifts;  // of every channel
    A* du;            // the reference's gradient, of every channel of some samples
    per_thread<group_layout<A, sinkhorn_lanes>, index_t, index_t> each;
    sinkhorn_shape shape;

    layout(arena& a, host_exec const& exec, sinkhorn_shape const& s, bool backward)
        : shifts(a.take<index_t>(s.extents.empty() ? 0 : s.extents.channels)),
          du(backward ? a.take<A>(elements_at_once(s.extents)) : nullptr),
          each(a, exec.threads, sinkhorn_tasks(s.extents, s.group, 0, s.extents.batch).count(),
               s.group, s.iterations),
          shape(s) {}

    void fill_shifts(csp_config const& config, extents3 e) const {
      for (index_t c = 0; c < e.channels; ++c) shifts[c] = config.shift(c, e);
    }
    template <int Lanes>
    sinkhorn_group<A> group_of(unsigned slot, index_t rows) const {
      arena a = each.arena_of(slot);
      auto group = group_layout<A, Lanes>(a, shape.group, shape.iterations).group;
      group.rows = rows;
      return group;
    }
  };

  // f(worker) with as few lanes as hold the channels.
  template <class A, class F>
  static void with_lanes(index_t channels, F const& f) {
    if (channels > 4)
      f(sinkhorn_worker<A, sinkhorn_lanes>{});
    else
      f(sinkhorn_worker<A, 4>{});
  }

  // f(lane, channel, shift) for every channel of a task.
  template <class F>
  static void for_each_channel(sinkhorn_task const& t, index_t const* shifts, F const& f) {
    for (index_t lane = 0; lane < t.channels; ++lane)
      f(lane, t.channel + lane, wrapped(shifts[t.channel + lane], t.valid));
  }
  // The source of row `row` of a channel with 0 <= shift < valid.
  static index_t source_of(index_t row, index_t shift, index_t valid) {
    return row >= shift ? row - shift : row - shift + valid;
  }

  // Lanes without a channel hold zeros.
  template <class T, class A>
  static void load(tensor3<T const> x, sinkhorn_task const& t, csp_config const& config, double tau,
                   index_t const* shifts, sinkhorn_group<A> const& g) {
    for (index_t i = 0; i < t.rows; ++i) {
      auto const of_reference = static_cast<A>(x(t.batch, t.first_row + i, config.reference));
      g.u[i] = logit_factor<A>(static_cast<double>(of_reference) / tau);
    }
    std::fill(g.values, g.values + t.rows * g.pitch, A{});
    for_each_channel(t, shifts, [&](index_t lane, index_t channel, index_t shift) {
      for (index_t i = 0; i < t.rows; ++i)
        g.values[i * g.pitch + lane] =
            static_cast<A>(x(t.batch, source_of(t.first_row + i, shift, t.valid), channel));
    });
    for (index_t i = 0; i < t.rows * g.pitch; ++i)
      g.w[i] = logit_factor<A>(static_cast<double>(g.values[i]));
  }
  template <class T, class A>
  static void load_gradient(tensor3<T const> dy, sinkhorn_task const& t,
                            sinkhorn_group<A> const& g) {
    std::fill(g.a, g.a + t.rows * g.pitch, A{});
    for (index_t i = 0; i < t.rows; ++i)
      for (index_t lane = 0; lane < t.channels; ++lane)
        g.a[i * g.pitch + lane] = static_cast<A>(dy(t.batch, t.first_row + i, t.channel + lane));
  }

  // The reference, and rows past the length, are copied.
  template <class Worker, class T, class A>
  static void store_mixture(Worker worker, sinkhorn_csp_forward<T> const& p, sinkhorn_task const& t,
                            sinkhorn_group<A> const& g) {
    for (index_t i = 0; i < t.rows; ++i) {
      lanes_of<A, Worker::lanes> y;
      mix_row(worker, g, i, y);
      index_t const row = t.first_row + i;
      for (index_t lane = 0; lane < t.channels; ++lane) {
        index_t const channel = t.channel + lane;
        p.y(t.batch, row, channel) = channel == p.config.reference
                                         ? p.x(t.batch, row, channel)
                                         : rounded<T>(y[static_cast<int>(lane)]);
      }
    }
    for (index_t row = t.first_row + t.rows; row < t.end; ++row)
      for (index_t channel = t.channel; channel < t.channel + t.channels; ++channel)
        p.y(t.batch, row, channel) = p.x(t.batch, row, channel);
  }

  // Stores the gradient of the values in dx, and that of the reference in du.
  template <class T, class A>
  static void store_gradient(sinkhorn_csp_backward<T> const& p, sinkhorn_task const& t,
                             index_t const* shifts, sinkhorn_group<A> const& g, tensor3<A> du,
                             index_t sample) {
    with_store<T>(p.mode, [&](auto store) {
      for_each_channel(t, shifts, [&](index_t lane, index_t channel, index_t shift) {
        if (channel == p.config.reference) return;
        for (index_t i = 0; i < t.rows; ++i) {
          index_t const row = t.first_row + i;
          store.sum(p.dx(t.batch, source_of(row, shift, t.valid), channel),
                    g.dw[i * g.pitch + lane]);
          du(sample, row, channel) = g.du[i * g.pitch + lane];
        }
        for (index_t row = t.first_row + t.rows; row < t.end; ++row)
          store(p.dx(t.batch, row, channel), p.dy(t.batch, row, channel));
      });
    });
  }

  // The gradient of the reference: its own, then the parts through the other channels in their
  // order.
  template <class T, class A>
  static void sum_reference(host_exec const& exec, sinkhorn_csp_backward<T> const& p,
                            tensor3<A const> du, index_t first) {
    extents3 const e = du.extents();
    constexpr index_t rows_at_once = 64;
    index_t const parts = (e.length + rows_at_once - 1) / rows_at_once;
    index_t const r = p.config.reference;
    for_each_task(exec, e.batch * parts, [&](unsigned, index_t task) {
      index_t const sample = task / parts, begin = task % parts * rows_at_once;
      index_t const valid = valid_rows(p.lengths, first + sample, e.length);
      with_store<T>(p.mode, [&](auto store) {
        for (index_t row = begin; row < std::min(begin + rows_at_once, e.length); ++row) {
          T const own = p.dy(first + sample, row, r);
          T& to = p.dx(first + sample, row, r);
          if (row >= valid) {
            store(to, own);
            continue;
          }
          double sum = 0;
          for (index_t c = 0; c < e.channels; ++c)
            if (c != r) sum += static_cast<double>(du(sample, row, c));
          store.sum(to, static_cast<A>(static_cast<double>(static_cast<A>(own)) + sum / p.tau));
        }
      });
    });
  }
};

SLICESORT_DETAIL_END
