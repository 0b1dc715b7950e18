// SPDX-License-Identifier: Apache-2.0
// CSP problems and their comparison with the oracle, on every code path. Checks return an empty
// string, or one line that tells how to reproduce the failure.
#pragma once

#include "operators/compiled_once.hpp"
#include "oracle.hpp"
#include "order_memory.hpp"
#include "slicing_sort/check.hpp"
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/pattern_order.hpp"
#include "support/problems.hpp"

#include <slicesort/csp.hpp>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace support {

// Shift policy: a table, or random integers of either sign, many of them beyond the length. Seed 0
// disables the shift.
struct any_shift {
  std::uint64_t seed = 0;
  std::vector<index_t> table = {};

  index_t shift(index_t channel, index_t, index_t length) const {
    if (!table.empty()) return table[static_cast<std::size_t>(channel)];
    if (seed == 0) return 0;
    std::uint64_t const r =
        random_stream::mix(seed * 1000003 + static_cast<std::uint64_t>(channel));
    index_t const near[] = {0, 1, -1, length - 1, length, length / 2, 2, 3};
    if (r % 4 == 0) return near[r / 4 % 8];
    return static_cast<index_t>((r / 4) % static_cast<std::uint64_t>(5 * length + 7)) - 2 * length;
  }
};
// Custom alignment.
struct follow {
  index_t channel = 0;
  index_t reference_channel(index_t) const { return channel; }
};

inline constexpr index_t no_reference = -1;

// Parameters and expected results of a case.
template <class T>
struct csp_problem : variant_problem<T> {
  index_t group = 2;  // rows of a group, clamped to the length
  index_t reference =
      no_reference;  // channel whose order the groups follow; if none, groups are sorted
  std::uint64_t order = up;
  any_shift shifts;
  std::string title;
  tensor<std::uint32_t> saved;  // oracle's saved state, in the documented form

  bool aligned() const { return reference != no_reference; }
  extents3 extents() const { return this->x.extents(); }
  std::string describe() const {
    extents3 const e = extents();
    std::ostringstream out;
    out << type_name<T>() << " G=" << group << " shifts=" << shifts.seed;
    if (aligned())
      out << " reference=" << reference;
    else
      out << " order=0x" << std::hex << order << std::dec;
    out << " [B,N,C]=[" << e.batch << "," << e.length << "," << e.channels << "] " << title;
    if (!this->lengths.empty()) {
      out << " lengths=";
      for (index_t n : this->lengths) out << n << ",";
    }
    return out.str();
  }
  std::uint64_t number() const { return std::hash<std::string>{}(describe()); }
};

// Calls f(op) with the operator of a problem.
template <class T, class F>
void with_csp(csp_problem<T> const& p, F const& f) {
  if (p.aligned())
    f(ss::csp<any_shift, follow>(ss::group_size{p.group}, p.shifts, follow{p.reference}));
  else
    f(ss::csp<any_shift, pattern_order>(ss::group_size{p.group}, p.shifts, pattern_order{p.order}));
}

template <class T>
csp_column column_of(csp_problem<T> const& p, index_t channel) {
  extents3 const e = p.extents();
  return {channel == p.reference ? 0 : p.shifts.shift(channel, e.channels, e.length), p.group,
          p.aligned() || pattern_order{p.order}.ascending(channel, e.channels)};
}

// Stores the saved state of one column as saved_order documents it: nothing for groups of one row,
// one bit per pair, otherwise each row's source within its group. Padding maps to itself.
template <class T>
void put_saved(csp_problem<T>& p, index_t b, index_t c, row_order const& order) {
  index_t const group = std::min(p.group, p.extents().length);
  if (group == 1) return;
  for (index_t n = 0; n < p.extents().length; ++n) {
    auto const row_index = static_cast<std::size_t>(n);
    std::uint32_t const row =
        row_index < order.size() ? order[row_index] : static_cast<std::uint32_t>(n % group);
    if (group > 2) {
      p.saved(b, n, c) = row;
    } else if (n % 2 == 0) {
      p.saved(b, n / 16, c) |= row << (n / 2 % 8);
    }
  }
}

// Computes the expected results.
template <class T>
void solve(csp_problem<T>& p) {
  extents3 const e = p.extents();
  p.y = p.x;
  p.dx = p.dy;
  index_t const group = std::min(p.group, std::max<index_t>(e.length, 1));
  p.saved = tensor<std::uint32_t>({e.batch,
                                   group == 1   ? 0
                                   : group == 2 ? (e.length + 15) / 16
                                                : e.length,
                                   e.channels});
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      index_t const rows = p.rows(b);
      std::vector<T> const v = p.x.column(b, c, rows);
      std::vector<T> const leader = p.aligned() ? p.x.column(b, p.reference, rows) : v;
      csp_rows const r = csp_by_sorting(column_of(p, c), v, p.aligned() ? &leader : nullptr);
      for (index_t n = 0; n < rows; ++n) {
        index_t const source = r.source[static_cast<std::size_t>(n)];
        p.y(b, n, c) = p.x(b, source, c);
        p.dx(b, source, c) = p.dy(b, n, c);
      }
      put_saved(p, b, c, r.order);
    }
}

template <class T>
tensor<T> random_bits_tensor(extents3 e, std::uint64_t seed) {
  return tensor_of_columns<T>(e, [=](std::uint64_t column) {
    return make_column<T>(input_kind::random_bits, static_cast<std::size_t>(e.length),
                          seed + 104729 * column);
  });
}

// Returns a problem with the given values.
template <class T>
csp_problem<T> csp_of(tensor<T> x, index_t group, index_t reference, std::uint64_t order,
                      std::uint64_t shifts, std::vector<index_t> lengths = {}) {
  csp_problem<T> p;
  p.dy = random_bits_tensor<T>(x.extents(), shifts + 11);
  p.x = std::move(x);
  p.lengths = std::move(lengths);
  p.group = group;
  p.reference = reference;
  p.order = order;
  p.shifts.seed = shifts;
  solve(p);
  return p;
}
// Returns a problem whose columns cycle through all kinds of input.
template <class T>
csp_problem<T> mixed_csp(extents3 e, index_t group, index_t reference, std::uint64_t seed,
                         std::vector<index_t> lengths = {}, int kinds = all_kinds) {
  constexpr std::uint64_t orders[] = {up, irregular, down, zigzag};
  auto p = csp_of<T>(mixed_tensor<T>(e, kinds, seed), group, reference, orders[seed % 4],
                     seed % 5 == 4 ? 0 : seed, std::move(lengths));
  p.title = "mixed(" + std::to_string(kinds) + ") seed=" + std::to_string(seed);
  return p;
}

// Runs forward with a saved state, backward with that state, and forward without saving.
template <class T>
std::string check_csp(csp_problem<T> const& p, any_exec const& exec) {
  std::string wrong;
  with_csp(p, [&](auto const& op) {
    extents3 const e = p.extents();
    if (op.saved_extents(e) != p.saved.extents()) {
      wrong = "saved_extents: " + p.describe();
      return;
    }
    auto y = garbage<T>(e), again = garbage<T>(e), dx = garbage<T>(e);
    order_memory order(op.saved_extents(e), op.saved_width(e));
    std::size_t const bytes = op.template workspace_bytes<T>(exec, e);
    guarded_workspace scratch(bytes), another(bytes, 37, 0), third(bytes, 63, 0x7f);
    auto const lengths = view_of(p.lengths);
    op.forward(exec, p.x.view(), y.view(), {order.view()}, scratch.get(), {lengths});
    wrong = difference("y", y, p.y);
    if (wrong.empty()) wrong = difference("order", order.contents(), p.saved);
    if (wrong.empty()) {
      op.backward(exec, p.dy.view(), {order.view()}, dx.view(), another.get(),
                  {ss::grad_mode::overwrite, lengths});
      wrong = difference("dx", dx, p.dx);
    }
    if (wrong.empty()) {
      op.forward(exec, p.x.view(), again.view(), ss::no_saved, third.get(), {lengths});
      wrong = difference("y, not saved", again, p.y);
    }
    if (!order.gaps_untouched()) wrong += " wrote beside order";
    if (!scratch.red_zones_intact() || !another.red_zones_intact() || !third.red_zones_intact())
      wrong += " workspace overrun";
    if (!wrong.empty()) wrong += ": " + p.describe() + describe_exec(exec);
  });
  return wrong;
}

// Checks every backend; returns "" if all agree. Kernels on the block executor are slow, so the
// fast suite runs most large problems on the host only.
template <class T>
std::string check_everywhere(csp_problem<T> const& p) {
  std::string wrong;
  std::uint64_t const number = p.number();
  if (testing(backend_kind::host))
    for (ss::isa set : available_isas())
      if (wrong.empty()) wrong = check_csp(p, ss::exec::host{1, set});
  if (full_suite() || p.extents().size() <= 2000 || number % 4 == 0)
    for_each_grid(number / 4, [&](any_exec const& exec) {
      if (wrong.empty()) wrong = check_csp(p, exec);
    });
  return wrong;
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_csp(linkage, T)                                          \
  linkage template std::string support::check_csp(csp_problem<T> const&, any_exec const&); \
  linkage template void support::solve(csp_problem<T>&);                                   \
  linkage template support::csp_problem<T> support::mixed_csp(                             \
      extents3, index_t, index_t, std::uint64_t, std::vector<index_t>, int);               \
  linkage template support::csp_problem<T> support::csp_of(                                \
      tensor<T>, index_t, index_t, std::uint64_t, std::uint64_t, std::vector<index_t>);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_csp)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_csp)
#endif
