// SPDX-License-Identifier: Apache-2.0
// Test cases of csp (channel-wise sample permutation), and their comparison with the reference
// implementation (oracle.hpp) on every code path. Checks return "", or one line that tells how to
// reproduce the failure.
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

// Shift policy: `table`, or random integers of either sign, many of them beyond the length. Seed 0
// disables the shift.
struct test_shift {
  std::uint64_t seed = 0;
  std::vector<index_t> table = {};

  index_t shift(index_t channel, index_t, index_t length) const {
    if (!table.empty()) return table[static_cast<std::size_t>(channel)];
    if (seed == 0) return 0;
    std::uint64_t const bits =
        random_stream::mix(seed * 1000003 + static_cast<std::uint64_t>(channel));
    index_t const edge_cases[] = {0, 1, -1, length - 1, length, length / 2, 2, 3};
    if (bits % 4 == 0) return edge_cases[bits / 4 % 8];
    return static_cast<index_t>((bits / 4) % static_cast<std::uint64_t>(5 * length + 7)) -
           2 * length;
  }
};
// User-defined alignment.
struct follow_channel {
  index_t channel = 0;
  index_t reference_channel(index_t) const { return channel; }
};

inline constexpr index_t no_reference = -1;

// Parameters and expected results of a test case.
template <class T>
struct csp_problem : variant_problem<T> {
  index_t group = 2;  // rows per group, clamped to the length
  // Channel whose order the groups follow. If none, groups are sorted.
  index_t reference = no_reference;
  std::uint64_t order = up;  // directions of the channels, as in pattern_order
  test_shift shifts;
  std::string title;
  tensor<std::uint32_t> saved;  // expected state, as saved_order documents it

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
  // Seed for choosing backends, fixed per test case.
  std::uint64_t backend_seed() const { return hash_of(describe()); }
};

// Calls f(op) with the operator of a test case.
template <class T, class F>
void with_csp(csp_problem<T> const& p, F const& f) {
  if (p.aligned())
    f(ss::csp<test_shift, follow_channel>(ss::group_size{p.group}, p.shifts,
                                          follow_channel{p.reference}));
  else
    f(ss::csp<test_shift, pattern_order>(ss::group_size{p.group}, p.shifts,
                                         pattern_order{p.order}));
}

// Returns the parameters of a channel, as the oracle takes them.
template <class T>
csp_column column_of(csp_problem<T> const& p, index_t channel) {
  extents3 const e = p.extents();
  return {channel == p.reference ? 0 : p.shifts.shift(channel, e.channels, e.length), p.group,
          p.aligned() || pattern_order{p.order}.ascending(channel, e.channels)};
}

// Sets the expected state of one column, as saved_order documents it: nothing for groups of one
// row, one bit per pair, otherwise each row's source within its group. Padding maps to itself.
template <class T>
void set_saved_state(csp_problem<T>& p, index_t b, index_t c, row_order const& order) {
  index_t const group = std::min(p.group, p.extents().length);
  if (group == 1) return;
  for (index_t n = 0; n < p.extents().length; ++n) {
    auto const row_index = static_cast<std::size_t>(n);
    std::uint32_t const source =
        row_index < order.size() ? order[row_index] : static_cast<std::uint32_t>(n % group);
    if (group > 2) {
      p.saved(b, n, c) = source;
    } else if (n % 2 == 0) {
      p.saved(b, n / 16, c) |= source << (n / 2 % 8);
    }
  }
}

// Computes the expected results.
template <class T>
void compute_expected(csp_problem<T>& p) {
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
      std::vector<T> const column = p.x.column(b, c, rows);
      std::vector<T> const reference = p.aligned() ? p.x.column(b, p.reference, rows) : column;
      csp_rows const expected =
          csp_by_sorting(column_of(p, c), column, p.aligned() ? &reference : nullptr);
      for (index_t n = 0; n < rows; ++n) {
        index_t const source = expected.source[static_cast<std::size_t>(n)];
        p.y(b, n, c) = p.x(b, source, c);
        p.dx(b, source, c) = p.dy(b, n, c);
      }
      set_saved_state(p, b, c, expected.order);
    }
}

template <class T>
tensor<T> random_bits_tensor(extents3 e, std::uint64_t seed) {
  return tensor_of_columns<T>(e, [=](std::uint64_t column) {
    return make_column<T>(input_kind::random_bits, static_cast<std::size_t>(e.length),
                          seed + 104729 * column);
  });
}

// Makes a test case with the given x.
template <class T>
csp_problem<T> make_csp_problem(tensor<T> x, index_t group, index_t reference, std::uint64_t order,
                                std::uint64_t shifts, std::vector<index_t> lengths = {}) {
  csp_problem<T> p;
  p.dy = random_bits_tensor<T>(x.extents(), shifts + 11);
  p.x = std::move(x);
  p.lengths = std::move(lengths);
  p.group = group;
  p.reference = reference;
  p.order = order;
  p.shifts.seed = shifts;
  compute_expected(p);
  return p;
}
// Makes a test case whose columns cycle through the first `kinds` kinds of input.
template <class T>
csp_problem<T> make_mixed_csp(extents3 e, index_t group, index_t reference, std::uint64_t seed,
                              std::vector<index_t> lengths = {}, int kinds = all_kinds) {
  constexpr std::uint64_t orders[] = {up, irregular, down, zigzag};
  auto p = make_csp_problem<T>(mixed_tensor<T>(e, kinds, seed), group, reference, orders[seed % 4],
                               seed % 5 == 4 ? 0 : seed, std::move(lengths));
  p.title = "mixed(" + std::to_string(kinds) + ") seed=" + std::to_string(seed);
  return p;
}

// Runs forward with a saved state, backward with that state, and forward without saving.
template <class T>
std::string check_csp(csp_problem<T> const& p, any_exec const& exec) {
  std::string error;
  with_csp(p, [&](auto const& op) {
    extents3 const e = p.extents();
    if (op.saved_extents(e) != p.saved.extents()) {
      error = "saved_extents: " + p.describe();
      return;
    }
    auto y = garbage_tensor<T>(e), unsaved_y = garbage_tensor<T>(e), dx = garbage_tensor<T>(e);
    guarded_order_buffer order(op.saved_extents(e), op.saved_width(e));
    std::size_t const bytes = op.template workspace_bytes<T>(exec, e);
    guarded_workspace scratch(bytes), backward_scratch(bytes, 37, 0),
        unsaved_scratch(bytes, 63, 0x7f);
    auto const lengths = view_of(p.lengths);
    op.forward(exec, p.x.view(), y.view(), {order.view()}, scratch.get(), {lengths});
    error = difference("y", y, p.y);
    if (error.empty()) error = difference("order", order.contents(), p.saved);
    if (error.empty()) {
      op.backward(exec, p.dy.view(), {order.view()}, dx.view(), backward_scratch.get(),
                  {ss::grad_mode::overwrite, lengths});
      error = difference("dx", dx, p.dx);
    }
    if (error.empty()) {
      op.forward(exec, p.x.view(), unsaved_y.view(), ss::no_saved, unsaved_scratch.get(),
                 {lengths});
      error = difference("y, not saved", unsaved_y, p.y);
    }
    if (!order.padding_intact()) error += " wrote beside order";
    if (!scratch.red_zones_intact() || !backward_scratch.red_zones_intact() ||
        !unsaved_scratch.red_zones_intact())
      error += " workspace overrun";
    if (!error.empty()) error += ": " + p.describe() + describe_exec(exec);
  });
  return error;
}

// Checks every backend. Kernels on the block executor are slow, so the fast suite runs most large
// test cases on the host only.
template <class T>
std::string check_everywhere(csp_problem<T> const& p) {
  std::string error;
  std::uint64_t const seed = p.backend_seed();
  if (testing(backend_kind::host))
    for (ss::isa set : available_isas())
      if (error.empty()) error = check_csp(p, ss::exec::host{1, set});
  if (full_suite() || p.extents().size() <= 2000 || seed % 4 == 0)
    for_each_grid(seed / 4, [&](any_exec const& exec) {
      if (error.empty()) error = check_csp(p, exec);
    });
  return error;
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_csp(linkage, T)                                          \
  linkage template std::string support::check_csp(csp_problem<T> const&, any_exec const&); \
  linkage template void support::compute_expected(csp_problem<T>&);                        \
  linkage template support::csp_problem<T> support::make_mixed_csp(                        \
      extents3, index_t, index_t, std::uint64_t, std::vector<index_t>, int);               \
  linkage template support::csp_problem<T> support::make_csp_problem(                      \
      tensor<T>, index_t, index_t, std::uint64_t, std::uint64_t, std::vector<index_t>);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_csp)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_csp)
#endif
