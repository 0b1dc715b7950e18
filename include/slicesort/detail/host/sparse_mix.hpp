// SPDX-License-Identifier: Apache-2.0
// Sparse-factor mixing on threads.
#pragma once

#include <slicesort/detail/arena.hpp>
#include <slicesort/detail/backend.hpp>
#include <slicesort/detail/check.hpp>
#include <slicesort/detail/host/column_block.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/slots.hpp>
#include <slicesort/detail/math/wrap.hpp>
#include <slicesort/detail/problem/sparse_mix.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cmath>
#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// FIRST VERSION: the semantics in plain loops, one sample a task. To be replaced.
template <>
struct implementation<detail::sparse_mix_op, detail::host_backend> {
  template <class Exec>
  static void check(Exec const& on, detail::checker& c) {
    check_host(on, c);
  }

  template <class T, class Exec>
  static void plan(Exec const& on, extents3 e, index_t number, detail::arena& a) {
    (void)memory<T>(on, e, detail::mix_size::of(number), a);
  }

  template <class Exec, class T>
  static void forward(Exec const& on, detail::sparse_mix_forward<T> const& p, workspace w) {
    extents3 const e = p.x.extents();
    detail::arena a(w);
    memory<T> const m(on, e, {p.rule.factors, p.rule.links, p.rule.every}, a);
    for_each_task(on, e.batch, [&](unsigned slot, index_t b) {
      detail::arena mine = m.own[slot];
      T* const v = mine.take<T>(m.states);
      run(p.rule, p.x, p.weights, p.lengths, b, v);
      index_t const n = valid_rows(p.lengths, b, e.length), size = e.length * e.channels;
      for (index_t i = 0; i < e.length; ++i)
        for (index_t c = 0; c < e.channels; ++c)
          p.y(b, i, c) = i < n ? v[p.rule.factors * size + i * e.channels + c] : p.x(b, i, c);
      if (!p.saving) return;
      for (index_t s = 0; s < p.states.extents().outer; ++s)
        for (index_t i = 0; i < e.length; ++i)
          for (index_t c = 0; c < e.channels; ++c)
            p.states(s, b, i, c) =
                i < n ? v[(s + 1) * p.rule.every * size + i * e.channels + c] : p.x(b, i, c);
    });
  }

  template <class Exec, class T>
  static void backward(Exec const& on, detail::sparse_mix_backward<T> const& p, workspace w) {
    using A = detail::accumulator_t<T>;
    extents3 const e = p.dy.extents();
    detail::arena a(w);
    memory<T> const m(on, e, {p.rule.factors, p.rule.links, p.rule.every}, a);
    for_each_task(on, e.batch, [&](unsigned slot, index_t b) {
      detail::arena mine = m.own[slot];
      T* const v = mine.take<T>(m.states);
      T* dz = mine.take<T>(static_cast<std::size_t>(e.length * e.channels));
      T* dv = mine.take<T>(static_cast<std::size_t>(e.length * e.channels));
      A* const first = mine.take<A>(static_cast<std::size_t>(e.length * e.channels));
      index_t const n = valid_rows(p.lengths, b, e.length), size = e.length * e.channels;
      if (p.of_weights) run(p.rule, p.x, p.weights, p.lengths, b, v);
      for (index_t i = 0; i < e.length; ++i)
        for (index_t c = 0; c < e.channels; ++c) {
          dz[i * e.channels + c] = p.dy(b, i, c);
          first[i * e.channels + c] = A(0);
        }
      for (index_t f = p.rule.factors; f-- > 0;) {
        if (p.of_weights)
          for (index_t i = 0; i < e.length; ++i)
            for (index_t k = 0; k < p.rule.links; ++k) {
              T& to = p.dweights(f, b, i, k);
              A const before = p.mode == grad_mode::accumulate ? static_cast<A>(to) : A(0);
              index_t const from = (i + detail::wrapped(p.rule.offset(k, f), n)) % (n > 0 ? n : 1);
              to = static_cast<T>(i < n ? dot(before, dz + i * e.channels,
                                              v + f * size + from * e.channels, e.channels)
                                        : before);
            }
        bool const last = f == 0;
        for (index_t i = 0; i < n; ++i)
          for (index_t c = 0; c < e.channels; ++c) {
            A const own = static_cast<A>(dz[i * e.channels + c]);
            A& kept = first[i * e.channels + c];
            A sum(0);
            if (p.rule.residual == detail::residual_form::per_factor) sum = own;
            if (p.rule.residual == detail::residual_form::initial) {
              kept += own;
              if (last) sum = kept;
            }
            for (index_t k = 0; k < p.rule.links; ++k) {
              index_t const from = (i + n - detail::wrapped(p.rule.offset(k, f), n)) % n;
              sum = std::fma(static_cast<A>(p.weights(f, b, from, k)),
                             static_cast<A>(dz[from * e.channels + c]), sum);
            }
            if (last)
              deliver(p.mode, p.dx(b, i, c), sum);
            else
              dv[i * e.channels + c] = static_cast<T>(sum);
          }
        if (!last)
          for (index_t i = 0; i < n * e.channels; ++i) dz[i] = dv[i];
      }
      for (index_t i = p.rule.factors == 0 ? 0 : n; i < e.length; ++i)
        for (index_t c = 0; c < e.channels; ++c)
          deliver(p.mode, p.dx(b, i, c), static_cast<A>(p.dy(b, i, c)));
    });
  }

 private:
  template <class T>
  struct memory {
    std::size_t states;
    slots own;
    template <class Exec>
    memory(Exec const& on, extents3 e, detail::mix_size s, detail::arena& a)
        : states(static_cast<std::size_t>((s.factors + 1) * e.length * e.channels)),
          own(a, on.threads, e.batch, [&](detail::arena& slot) {
            slot.take<T>(states);
            slot.take<T>(static_cast<std::size_t>(e.length * e.channels));
            slot.take<T>(static_cast<std::size_t>(e.length * e.channels));
            slot.take<detail::accumulator_t<T>>(static_cast<std::size_t>(e.length * e.channels));
          }) {}
  };

  template <class T, class A>
  static void deliver(grad_mode mode, T& to, A value) {
    to = static_cast<T>(mode == grad_mode::accumulate ? static_cast<A>(to) + value : value);
  }

  // V_0 .. V_M of a sample.
  template <class T>
  static void run(detail::mix_rule const& rule, tensor3<T const> x, tensor4<T const> w,
                  tensor1<index_t const> lengths, index_t b, T* v) {
    using A = detail::accumulator_t<T>;
    extents3 const e = x.extents();
    index_t const n = valid_rows(lengths, b, e.length), size = e.length * e.channels;
    for (index_t i = 0; i < n; ++i)
      for (index_t c = 0; c < e.channels; ++c) v[i * e.channels + c] = x(b, i, c);
    for (index_t f = 0; f < rule.factors; ++f, v += size)
      for (index_t i = 0; i < n; ++i)
        for (index_t c = 0; c < e.channels; ++c) {
          A sum(0);
          if (rule.residual == detail::residual_form::per_factor)
            sum = static_cast<A>(v[i * e.channels + c]);
          if (rule.residual == detail::residual_form::initial) sum = static_cast<A>(x(b, i, c));
          for (index_t k = 0; k < rule.links; ++k) {
            index_t const from = (i + detail::wrapped(rule.offset(k, f), n)) % n;
            sum = std::fma(static_cast<A>(w(f, b, i, k)), static_cast<A>(v[from * e.channels + c]),
                           sum);
          }
          v[size + i * e.channels + c] = static_cast<T>(sum);
        }
  }

  // before + <a, b>, in the order of problem/sparse_mix.hpp.
  template <class A, class T>
  static A dot(A before, T const* a, T const* b, index_t channels) {
    for (index_t first = 0; first < channels; first += detail::channel_block) {
      A lane[static_cast<std::size_t>(detail::channel_lanes)] = {};
      for (int k = 0; k < detail::channel_block && first + k < channels; ++k)
        lane[k % detail::channel_lanes] =
            std::fma(static_cast<A>(a[first + k]), static_cast<A>(b[first + k]),
                     lane[k % detail::channel_lanes]);
      for (int half = detail::channel_lanes / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
      before += lane[0];
    }
    return before;
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
