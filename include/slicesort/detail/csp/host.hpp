// SPDX-License-Identifier: Apache-2.0
// csp on the host: tiles of 32 channels of one sample, shared among threads. Where groups are
// aligned, the order of every sample's reference is found first.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/csp/host/long_groups.hpp>
#include <slicesort/detail/csp/host/simd_table.hpp>
#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/csp/host/unshifted_pairs.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/policies/shift.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <bool Aligned>
struct host_implementation<csp_op<Aligned>> {
  template <class T>
  static void plan(host_exec const& on, csp_shape const& s, arena& a) {
    (void)layout<T>(a, on, s);
  }

  template <class T>
  static void forward(host_exec const& on, csp_forward<T> const& p, workspace w);
  template <class T>
  static void backward(host_exec const& on, csp_backward<T> const& p, workspace w);

 private:
  static constexpr bool is_long(index_t group) { return group > longest_csp_network; }
  template <class T>
  struct slot_layout {
    csp_scratch<T> tile;
    csp_long_groups<T> long_groups;

    slot_layout(arena& a, index_t length, index_t group)
        : tile(a, length, group, group > 2 && !is_long(group)) {
      if (is_long(group)) long_groups = csp_long_groups<T>(a, group, Aligned);
    }
  };

  // The workspace, and what the rule says of the channels.
  template <class T>
  struct layout {
    index_t* shifts;                       // of every channel
    bool* descending;                      // whether a channel descends, for every channel
    bool shifting = false, mixed = false;  // whether any is shifted; whether only some descend
    // If groups are aligned, the destinations of sorted rows in their group, [batch][length]. The
    // long ones are used if row numbers in a group exceed 16 bits.
    std::uint16_t* destinations;
    std::uint32_t* long_destinations;
    per_thread<slot_layout<T>, index_t, index_t> each;

    layout(arena& a, host_exec const& on, csp_shape const& s)
        : shifts(a.take<index_t>(s.extents.empty() ? 0 : s.extents.channels)),
          descending(a.take<bool>(s.extents.empty() ? 0 : s.extents.channels)),
          destinations(a.take<std::uint16_t>(is_long(s.group) ? 0 : rows_of(s.extents))),
          long_destinations(a.take<std::uint32_t>(is_long(s.group) ? rows_of(s.extents) : 0)),
          each(a, on.threads, tasks_of(s.extents), s.extents.length, s.group) {}

    void ask_policies(csp_rule const& rule, extents3 e) {
      for (index_t c = 0; c < e.channels; ++c) {
        shifts[c] = rule.shift(c, e);
        descending[c] = rule.descends(c, e);
        shifting |= shifts[c] != 0;
        mixed |= descending[c] != descending[0];
      }
    }
    bool unshifted_pairs(index_t group) const { return group == 2 && !shifting && !mixed; }

   private:
    static std::size_t rows_of(extents3 e) {
      return static_cast<std::size_t>(Aligned && !e.empty() ? e.batch * e.length : 0);
    }
    static index_t tasks_of(extents3 e) {
      return e.empty() ? 0 : std::max(column_chunks(e, tile_columns).count(), e.batch);
    }
  };

  static tile_operand operand(extents3 e, strides3 s, column_chunk b) {
    return {column_range{e, b.batch * e.channels + b.channel, static_cast<int>(b.channels)}, s};
  }
  template <class T>
  static csp_tile<T> tile_of(tensor3<T const> from, tensor3<T> to, column_chunk b, index_t group,
                             tensor1<index_t const> lengths, layout<T> const& m,
                             csp_scratch<T> const& scratch, csp_step step) {
    extents3 const e = from.extents();
    csp_tile<T> t{};
    t.from = from.data(), t.from_at = operand(e, from.strides(), b);
    t.to = to.data(), t.to_at = operand(e, to.strides(), b);
    t.width = static_cast<int>(b.channels);
    t.rows = valid_rows(lengths, b.batch, e.length);
    t.group = group;
    for (int lane = 0; lane < t.width; ++lane) {
      t.shift[lane] = wrapped(m.shifts[b.channel + lane], t.rows);
      t.shifted |= t.shift[lane] != 0;
      if (m.descending[b.channel + lane]) t.flip[lane] = static_cast<bits_t<T>>(~bits_t<T>{0});
    }
    t.mode = grad_mode::overwrite;
    t.scratch = scratch;
    t.spread_channels(step);
    return t;
  }
  template <class T, class Order>
  static void add_order(csp_tile<T>& t, Order const& order, void* data, column_chunk b) {
    if (t.group == 1) return;
    t.order = data;
    t.order_width = order.width();
    t.order_at = operand(order.extents(), order.strides(), b);
  }
  // Rows past the valid ones are not moved. A byte of bits that also has a valid pair is
  // written already, with zeros for the others.
  static void save_rest(index_tensor3 order, column_chunk b, index_t valid, index_t length,
                        index_t group) {
    if (group == 1) return;
    with_order_type(order, [&](auto view) {
      if (group == 2)
        for_each_element(view, b, (valid + csp_batch - 1) / csp_batch, order.extents().length,
                         [](index_t, index_t, auto& byte) { byte = 0; });
      else
        for_each_element(view, b, valid, length, [=](index_t, index_t i, auto& row) {
          row = static_cast<std::remove_reference_t<decltype(row)>>(i % group);
        });
    });
  }
  template <class F>
  static void with_order_type(index_tensor3 v, F const& f) {
    if (v.width() == index_width::bits8)
      f(tensor3<std::uint8_t>(static_cast<std::uint8_t*>(v.data()), v.extents(), v.strides()));
    else
      with_index_type(v, f);
  }

  // Finds the order of every sample's reference. Rows past the valid ones stay in place: a length
  // is read again where the other channels follow, and may have been written to by then.
  template <class T>
  static void align(host_exec const& on, csp_forward<T> const& p, layout<T> const& m) {
    extents3 const e = p.x.extents();
    index_t const group = p.rule.group;
    isa const set = chosen_isa(on.instructions);
    for_each_task(on, e.batch, [&](unsigned slot, index_t batch) {
      slot_layout<T> const s = m.each[slot];
      column_chunk const b{batch, p.rule.reference, 1};
      T const* const x = p.x.data() + p.x.offset(batch, 0, p.rule.reference);
      index_t const rows = valid_rows(p.lengths, batch, e.length), first = batch * e.length;
      if (is_long(group)) {
        s.long_groups.argsort(x, p.x.strides().length, rows, group, m.long_destinations + first);
      } else if (group == 2) {
        align_pairs(x, p.x.strides().length, rows, m.destinations + first);
      } else if (group > 2) {
        tensor3<T> const unwanted(s.tile.columns, {1, rows, 1});
        csp_tile<T> t = tile_of(p.x, unwanted, b, group, p.lengths, m, s.tile, csp_step::forward);
        t.to_at = operand({1, rows, 1}, unwanted.strides(), {0, 0, 1});
        t.order = m.destinations + first, t.order_width = index_width::bits16, t.order_at = t.to_at;
        move_csp_tile(set, t, csp_step::forward);
      }
      for (index_t i = rows; i < e.length; ++i)
        if (is_long(group))
          m.long_destinations[first + i] = static_cast<std::uint32_t>(i % group);
        else
          m.destinations[first + i] = static_cast<std::uint16_t>(i % group);
    });
  }
  template <class T>
  static void align_pairs(T const* x, index_t pitch, index_t rows, std::uint16_t* destinations) {
    for (index_t i = 0; i + 1 < rows; i += 2) {
      bool const falling = ordered_key(x[(i + 1) * pitch], true) < ordered_key(x[i * pitch], true);
      destinations[i] = falling;
      destinations[i + 1] = !falling;
    }
  }
};

// Not in the class: a program can have them compiled in one place (`extern template`).
template <bool Aligned>
template <class T>
void host_implementation<csp_op<Aligned>>::forward(host_exec const& on, csp_forward<T> const& p,
                                                   workspace w) {
  extents3 const e = p.x.extents();
  if (e.empty()) return;
  arena a(w);
  layout<T> m(a, on, p.shape());
  m.ask_policies(p.rule, e);
  if constexpr (Aligned) align(on, p, m);
  isa const set = chosen_isa(on.instructions);
  index_t const unshifted =
      m.unshifted_pairs(p.rule.group) ? unshifted_channels(p.x, p.y, p.order, p.saving) : 0;
  if (unshifted > 0)
    for_each_unshifted_piece(
        on, p.x, p.y, p.order, p.saving, unshifted, p.lengths, [&](index_t batch, pair_rows<T>& r) {
          r.flip = m.descending[0] ? static_cast<bits_t<T>>(~bits_t<T>{0}) : bits_t<T>{0};
          r.destinations = Aligned ? m.destinations + batch * e.length : nullptr;
          exchange_pair_rows(set, r, csp_step::forward);
        });
  for_each_column_chunk(on, e, [&](unsigned slot, column_chunk b) {
    slot_layout<T> const s = m.each[slot];
    csp_tile<T> t = tile_of(p.x, p.y, b, p.rule.group, p.lengths, m, s.tile, csp_step::forward);
    if (p.saving) add_order(t, p.order, p.order.data(), b);
    t.stream = worth_streaming<T>(e) && t.to_at.dense && t.to_at.on_lines(t.to, sizeof(T));
    index_t const first = b.batch * e.length;
    if (is_long(p.rule.group)) {
      move_csp_tile(set, t, csp_step::gather_shifted);
      s.long_groups.run(t, Aligned ? m.long_destinations + first : nullptr);
    } else {
      t.destinations = Aligned ? m.destinations + first : nullptr;
      if (b.channel >= unshifted) move_csp_tile(set, t, csp_step::forward);
    }
    transfer_rows(p.x, p.y, b, t.rows, e.length, grad_mode::overwrite);
    if (p.saving) save_rest(p.order, b, t.rows, e.length, p.rule.group);
  });
}

template <bool Aligned>
template <class T>
void host_implementation<csp_op<Aligned>>::backward(host_exec const& on, csp_backward<T> const& p,
                                                    workspace w) {
  extents3 const e = p.dy.extents();
  if (e.empty()) return;
  arena a(w);
  layout<T> m(a, on, p.shape());
  m.ask_policies(p.rule, e);
  isa const set = chosen_isa(on.instructions);
  index_t const unshifted = m.unshifted_pairs(p.rule.group) && p.mode == grad_mode::overwrite
                                ? unshifted_channels(p.dy, p.dx, p.order, true)
                                : 0;
  if (unshifted > 0)
    for_each_unshifted_piece(
        on, p.dy, p.dx, p.order, true, unshifted, p.lengths,
        [&](index_t, pair_rows<T> const& r) { exchange_pair_rows(set, r, csp_step::backward); });
  for_each_column_chunk(on, e, [&](unsigned slot, column_chunk b) {
    slot_layout<T> const s = m.each[slot];
    csp_tile<T> t = tile_of(p.dy, p.dx, b, p.rule.group, p.lengths, m, s.tile, csp_step::backward);
    add_order(t, p.order, const_cast<void*>(p.order.data()), b);
    t.mode = p.mode;
    t.stream = worth_streaming<T>(e) && t.to_at.dense && t.to_at.on_lines(t.to, sizeof(T));
    if (b.channel >= unshifted) move_csp_tile(set, t, csp_step::backward);
    transfer_rows(p.dy, p.dx, b, t.rows, e.length, p.mode);
  });
}

SLICESORT_DETAIL_END
