// SPDX-License-Identifier: Apache-2.0
// Cases of slicing_sort, and checks that compare every code path with the oracle (a slow reference
// implementation). Checks return an empty string, or one line that tells how to reproduce the
// failure.
#pragma once

#include "operators/compiled_once.hpp"
#include "oracle.hpp"
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/pattern_order.hpp"

#include <slicesort/argsort.hpp>
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace support {

namespace ss = slicesort;

// Inputs and expected results of a case.
template <class T>
struct sort_problem {
  std::string title;  // kind of input and seed
  std::uint64_t order = up;
  tensor<T> x, dy;
  std::vector<index_t> lengths;  // may be empty
  // Expected results from the oracle.
  tensor<T> y, dx;
  tensor<std::uint32_t> perm;

  index_t rows(index_t b) const {
    return lengths.empty() ? x.extents().length : lengths[static_cast<std::size_t>(b)];
  }
  ss::tensor1<index_t const> lengths_view() const {
    if (lengths.empty()) return {};
    return {lengths.data(), static_cast<index_t>(lengths.size())};
  }
  // Selects the grids that run this case.
  std::uint64_t backend_seed() const { return hash_of(describe()); }
  std::string describe() const {
    extents3 const e = x.extents();
    std::ostringstream out;
    out << type_name<T>() << " order=0x" << std::hex << order << std::dec << " [B,N,C]=[" << e.batch
        << "," << e.length << "," << e.channels << "] " << title;
    if (!lengths.empty()) {
      out << " lengths=";
      for (index_t n : lengths) out << n << ",";
    }
    return out.str();
  }
};

// Computes the expected results. Padding stays in place.
template <class T>
void compute_expected(sort_problem<T>& p) {
  extents3 const e = p.x.extents();
  p.y = p.x;
  p.dx = p.dy;
  p.perm = tensor<std::uint32_t>(e);
  for_each_position(
      e, [&](index_t b, index_t n, index_t c) { p.perm(b, n, c) = static_cast<std::uint32_t>(n); });
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      bool const ascending = pattern_order{p.order}.ascending(c, e.channels);
      row_order const order = argsort_by_stable_sort(p.x.column(b, c, p.rows(b)), ascending);
      for (std::size_t i = 0; i < order.size(); ++i) {
        auto const n = static_cast<index_t>(i), from = static_cast<index_t>(order[i]);
        p.perm(b, n, c) = order[i];
        p.y(b, n, c) = p.x(b, from, c);
        p.dx(b, from, c) = p.dy(b, n, c);
      }
    }
}

// Builds a case whose columns have the input kinds kind_of(column), so that one tile can have
// several kinds.
template <class T, class KindOf>
sort_problem<T> make_problem_per_column(extents3 e, KindOf kind_of, std::uint64_t seed,
                                        std::uint64_t order, std::vector<index_t> lengths = {}) {
  sort_problem<T> p;
  p.title = "seed=" + std::to_string(seed);
  p.order = order;
  p.lengths = std::move(lengths);
  p.x = tensor<T>(e);
  p.dy = tensor<T>(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      auto const column = static_cast<std::uint64_t>(b * e.channels + c);
      auto const n = static_cast<std::size_t>(e.length);
      p.x.set_column(b, c, make_column<T>(kind_of(column), n, seed + 7919 * column));
      p.dy.set_column(b, c, make_column<T>(input_kind::random_bits, n, seed + 104729 * column));
    }
  compute_expected(p);
  return p;
}
template <class T>
sort_problem<T> make_problem(extents3 e, input_kind kind, std::uint64_t seed, std::uint64_t order,
                             std::vector<index_t> lengths = {}) {
  auto p = make_problem_per_column<T>(
      e, [=](std::uint64_t) { return kind; }, seed, order, std::move(lengths));
  p.title = std::string(kind_name(kind)) + " " + p.title;
  return p;
}
// Builds a case whose columns cycle through the first `kinds` input kinds.
template <class T>
sort_problem<T> make_mixed_problem(extents3 e, int kinds, std::uint64_t seed, std::uint64_t order,
                                   std::vector<index_t> lengths = {}) {
  auto const kind_of = [=](std::uint64_t column) {
    return static_cast<input_kind>((column + seed) % static_cast<std::uint64_t>(kinds));
  };
  auto p = make_problem_per_column<T>(e, kind_of, seed, order, std::move(lengths));
  p.title = "mixed(" + std::to_string(kinds) + ") " + p.title;
  return p;
}

// Describes the first element that differs; "" if none does.
template <class Actual, class Expected>
std::string difference(char const* name, tensor<Actual> const& actual,
                       tensor<Expected> const& expected) {
  for (std::size_t i = 0; i < expected.elements().size(); ++i) {
    std::uint64_t const actual_bits = bits_of(actual.elements()[i]),
                        expected_bits = bits_of(expected.elements()[i]);
    if (actual_bits == expected_bits) continue;
    extents3 const e = expected.extents();
    auto const position = static_cast<index_t>(i);
    std::ostringstream out;
    out << name << "[" << position / (e.length * e.channels) << ","
        << position / e.channels % e.length << "," << position % e.channels << "] is 0x" << std::hex
        << actual_bits << ", must be 0x" << expected_bits;
    return out.str();
  }
  return "";
}

// Initial output. It reveals elements that are not written, or are read before they are written.
template <class Element>
tensor<Element> garbage_tensor(extents3 e) {
  tensor<Element> t(e);
  for (Element& element : t.elements())
    std::memset(static_cast<void*>(&element), 0xcb, sizeof element);
  return t;
}

template <class T, class Index, class Order, class Exec>
std::string check_saved(sort_problem<T> const& p, Exec const& exec, Order const& order) {
  ss::slicing_sort<Order> const op(order);
  extents3 const e = p.x.extents();
  auto y = garbage_tensor<T>(e), dx = garbage_tensor<T>(e);
  auto perm = garbage_tensor<Index>(e);
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
  op.forward(exec, p.x.view(), y.view(), {perm.view()}, scratch.get(), {p.lengths_view()});
  std::string error = difference("y", y, p.y);
  if (error.empty()) error = difference("perm", perm, p.perm);
  guarded_workspace backward_scratch(op.template workspace_bytes<T>(exec, e), 37, 0);
  if (error.empty()) {
    op.backward(exec, p.dy.view(), {perm.view()}, dx.view(), backward_scratch.get(),
                {ss::grad_mode::overwrite, p.lengths_view()});
    error = difference("dx", dx, p.dx);
  }
  if (!scratch.red_zones_intact() || !backward_scratch.red_zones_intact())
    error += " workspace overrun";
  if (error.empty()) return error;
  return error + ": " + p.describe() + describe_exec(exec) + " perm=" + type_name<Index>();
}

template <class T, class Order>
std::string check_not_saved(sort_problem<T> const& p, any_exec const& exec, Order const& order) {
  ss::slicing_sort<Order> const op(order);
  auto y = garbage_tensor<T>(p.x.extents());
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, p.x.extents()), 63);
  op.forward(exec, p.x.view(), y.view(), ss::no_saved, scratch.get(), {p.lengths_view()});
  std::string error = difference("y", y, p.y);
  if (!scratch.red_zones_intact()) error += " workspace overrun";
  return error.empty() ? error : error + ": " + p.describe() + describe_exec(exec) + " no_saved";
}

// Checks argsort, which writes the permutation without the values.
template <class T, class Index, class Order>
std::string check_argsort(sort_problem<T> const& p, any_exec const& exec, Order const& order) {
  ss::argsort<Order> const op(order);
  auto indices = garbage_tensor<Index>(p.x.extents());
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, p.x.extents()), 21);
  op.forward(exec, p.x.view(), indices.view(), scratch.get(), {p.lengths_view()});
  std::string error = difference("indices", indices, p.perm);
  if (!scratch.red_zones_intact()) error += " workspace overrun";
  return error.empty() ? error : error + ": " + p.describe() + describe_exec(exec) + " argsort";
}

// Saved state of a call: nothing, or a permutation with indices of 32 or 16 bits.
enum class saved_indices : std::uint64_t { none, bits32, bits16 };

// Checks every backend with every choice of saved indices that the length allows. Returns "" if all
// agree. Kernels on the block executor are slow, so the fast suite makes only one of these choices
// there for large cases.
template <class T>
std::string check_all_paths(sort_problem<T> const& p) {
  pattern_order const order{p.order};
  std::uint64_t const seed = p.backend_seed();
  auto const only_choice = static_cast<saved_indices>(seed / 1000 % 3);  // seed selects grids, too
  std::string error;
  for_each_backend(seed, [&](any_exec const& exec) {
    bool const slow = exec.kind == backend_kind::blocks;
    if (slow && p.x.extents().size() > 700000) return;  // would take minutes
    bool const all_choices = !slow || full_suite() || p.x.extents().size() <= 4096;
    auto const runs = [&](saved_indices choice) {
      return error.empty() && (all_choices || choice == only_choice);
    };
    if (runs(saved_indices::none)) error = check_not_saved(p, exec, order);
    if (error.empty() && only_choice == saved_indices::none)
      error = p.x.extents().length <= 65536 && seed % 2 == 0
                  ? check_argsort<T, std::uint16_t>(p, exec, order)
                  : check_argsort<T, std::uint32_t>(p, exec, order);
    if (runs(saved_indices::bits32)) error = check_saved<T, std::uint32_t>(p, exec, order);
    if (runs(saved_indices::bits16) && p.x.extents().length <= 65536)
      error = check_saved<T, std::uint16_t>(p, exec, order);
  });
  return error;
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_slicing_sort(linkage, T)                                       \
  linkage template std::string support::check_saved<T, std::uint32_t>(                           \
      sort_problem<T> const&, any_exec const&, pattern_order const&);                            \
  linkage template std::string support::check_saved<T, std::uint16_t>(                           \
      sort_problem<T> const&, any_exec const&, pattern_order const&);                            \
  linkage template std::string support::check_not_saved(sort_problem<T> const&, any_exec const&, \
                                                        pattern_order const&);                   \
  linkage template std::string support::check_argsort<T, std::uint16_t>(                         \
      sort_problem<T> const&, any_exec const&, pattern_order const&);                            \
  linkage template std::string support::check_argsort<T, std::uint32_t>(                         \
      sort_problem<T> const&, any_exec const&, pattern_order const&);                            \
  linkage template void support::compute_expected(sort_problem<T>&);                             \
  linkage template support::sort_problem<T> support::make_problem(                               \
      extents3, input_kind, std::uint64_t, std::uint64_t, std::vector<index_t>);                 \
  linkage template support::sort_problem<T> support::make_mixed_problem(                         \
      extents3, int, std::uint64_t, std::uint64_t, std::vector<index_t>);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_slicing_sort)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_slicing_sort)
#endif
