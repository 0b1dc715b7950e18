// SPDX-License-Identifier: Apache-2.0
// Problems of linear attention: contiguous tensors of any shape with policies chosen at run time,
// lengths and a choice of gradients; and how they are run, in any layout.
#pragma once

#include "support/backends.hpp"
#include "support/inputs.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/linear_attention.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace support {

using any_feature =
    std::variant<ss::feature::elu_plus_one, ss::feature::relu, ss::feature::cosine_reweighted,
                 ss::feature::random_exp, ss::feature::random_relu, ss::feature::random_fourier>;
using any_divisor = std::variant<ss::divisor::sum_plus, ss::divisor::at_least, ss::divisor::none>;
inline constexpr std::size_t feature_kinds = std::variant_size_v<any_feature>;
inline constexpr std::size_t divisor_kinds = std::variant_size_v<any_divisor>;

// Those with a matrix w are the last three.
inline bool has_matrix(any_feature const& feature) { return feature.index() >= 3; }

struct linear_size {
  index_t batch, heads, queries, keys, channels, values;
  index_t rows_of_w = 6;  // of features that have w

  extents4 q() const { return {batch, heads, queries, channels}; }
  extents4 k() const { return {batch, heads, keys, channels}; }
  extents4 v() const { return {batch, heads, keys, values}; }
  extents4 y() const { return {batch, heads, queries, values}; }
  static std::size_t at(extents4 e, index_t b, index_t h, index_t i, index_t c) {
    return static_cast<std::size_t>(((b * e.batch + h) * e.length + i) * e.channels + c);
  }
};

inline constexpr unsigned linear_dq = 1, linear_dk = 2, linear_dv = 4, linear_dw = 8;

template <class T>
struct linear_problem {
  linear_size size;
  any_feature feature;
  any_divisor divisor;
  bool causal = false;
  bool shared_w = false;  // heads read one matrix
  ss::products multiply = ss::products::exact;
  std::vector<T> q, k, v, w, dy;
  std::vector<index_t> lengths, query_lengths;  // empty: none given
  unsigned wanted = linear_dq | linear_dk | linear_dv | linear_dw;
  ss::grad_mode mode = ss::grad_mode::overwrite;
  std::vector<T> dq, dk, dv, dw;  // what gradients are added to, if they are
  std::string title;

  extents4 of_w() const {
    if (!has_matrix(feature)) return {};
    return {1, shared_w ? 1 : size.heads, size.rows_of_w, size.channels};
  }
  extents3 of_w_as_rank3() const { return has_matrix(feature) ? of_w().each() : extents3{}; }
  bool wants_dw() const { return has_matrix(feature) && (wanted & linear_dw) != 0; }
  index_t valid_keys(index_t b) const {
    return lengths.empty() ? size.keys : lengths[static_cast<std::size_t>(b)];
  }
  index_t valid_queries(index_t b) const {
    return query_lengths.empty() ? size.queries : query_lengths[static_cast<std::size_t>(b)];
  }
  ss::attention_options options() const { return {view_of(lengths), view_of(query_lengths), {}}; }
  ss::attention_backward_options backward_options() const {
    return {mode, view_of(lengths), view_of(query_lengths), {}};
  }

  std::string describe() const {
    constexpr char const* features[] = {"elu_plus_one", "relu",        "cosine_reweighted",
                                        "random_exp",   "random_relu", "random_fourier"};
    constexpr char const* divisors[] = {"sum_plus", "at_least", "none"};
    std::ostringstream out;
    out << type_name<T>() << " " << features[feature.index()] << " " << divisors[divisor.index()]
        << (causal ? " causal" : "") << " [B,H,N,M,D,E,r]=[" << size.batch << "," << size.heads
        << "," << size.queries << "," << size.keys << "," << size.channels << "," << size.values
        << "," << size.rows_of_w << "] " << title << (shared_w ? " shared w" : "")
        << (mode == ss::grad_mode::accumulate ? " accumulate" : "")
        << (multiply == ss::products::native ? " native products" : "");
    if (wanted != 15) out << " wanted=" << wanted;
    for (auto const& [name, list] :
         {std::pair(" lengths=", &lengths), std::pair(" query_lengths=", &query_lengths)}) {
      if (list->empty()) continue;
      out << name;
      for (index_t n : *list) out << n << ",";
    }
    return out.str();
  }
  std::uint64_t number() const { return std::hash<std::string>{}(describe()); }
};

// Numbered policies, with numbers that make what they are for show: an eps that counts, a scale
// that is given or not.
inline any_feature feature_number(std::size_t kind, std::uint64_t seed = 0) {
  bool const other = seed % 2 == 1;
  switch (kind) {
    case 0:
      return ss::feature::elu_plus_one{};
    case 1:
      return ss::feature::relu{other ? 0 : 1e-3};
    case 2:
      return ss::feature::cosine_reweighted{};
    case 3:
      return ss::feature::random_exp{other ? 1e-6 : 0.03125};
    case 4:
      return other ? ss::feature::random_relu{0.125, 0.75} : ss::feature::random_relu{};
    default:
      return other ? ss::feature::random_fourier{0.25, 0.1} : ss::feature::random_fourier{};
  }
}
inline any_divisor divisor_number(std::size_t kind, double eps = 0.25) {
  switch (kind) {
    case 0:
      return ss::divisor::sum_plus{eps};
    case 1:
      return ss::divisor::at_least{2.5};
    default:
      return ss::divisor::none{};
  }
}

template <class T>
std::vector<T> normal_numbers(extents4 e, random_stream& random, double scale = 1) {
  std::vector<T> values(static_cast<std::size_t>(e.size()));
  for (T& v : values) v = from_double<T>(scale * random.normal());
  return values;
}

// Numbers as they come.
template <class T>
linear_problem<T> normal_linear(linear_size size, any_feature feature, any_divisor divisor,
                                bool causal, std::uint64_t seed) {
  random_stream random(seed);
  linear_problem<T> p;
  p.size = size;
  p.feature = feature;
  p.divisor = divisor;
  p.causal = causal;
  p.shared_w = has_matrix(feature) && seed % 2 == 0;
  p.q = normal_numbers<T>(size.q(), random);
  p.k = normal_numbers<T>(size.k(), random);
  p.v = normal_numbers<T>(size.v(), random);
  p.w = normal_numbers<T>(p.of_w(), random);
  p.dy = normal_numbers<T>(size.y(), random);
  p.dq = normal_numbers<T>(size.q(), random);
  p.dk = normal_numbers<T>(size.k(), random);
  p.dv = normal_numbers<T>(size.v(), random);
  p.dw = normal_numbers<T>(p.of_w(), random);
  p.title = "seed=" + std::to_string(seed);
  return p;
}

// Whatever a seed decides but for shape and policies: lengths, gradients, how they are stored. A
// weight of random_fourier is at least -1 here, so a sum of them may be as far below 0 as there are
// keys; a divisor near 0 would say nothing.
template <class T>
linear_problem<T> any_linear(linear_size size, std::size_t feature, std::size_t divisor,
                             bool causal, std::uint64_t seed) {
  random_stream random(seed + 1000);
  double const eps = feature == 5 ? 1.0 + static_cast<double>(size.keys) : 0.25;
  auto p = normal_linear<T>(size, feature_number(feature, random.below(2)),
                            divisor_number(divisor, eps), causal, seed);
  auto const lengths = [&](index_t most) {
    std::vector<index_t> list;
    for (index_t b = 0; b < size.batch; ++b) {
      index_t const choice[] = {0, most, most < 1 ? most : 1, most / 2, most < 1 ? 0 : most - 1};
      list.push_back(choice[random.below(5)]);
    }
    return list;
  };
  if (random.below(3) == 0) p.lengths = lengths(size.keys);
  if (random.below(4) == 0) p.query_lengths = lengths(size.queries);
  if (random.below(4) == 0) p.wanted = static_cast<unsigned>(random.below(16));
  if (random.below(3) == 0) p.mode = ss::grad_mode::accumulate;
  return p;
}

// What a call puts out, contiguous.
template <class T>
struct linear_results {
  std::vector<T> y, dq, dk, dv, dw;
  std::string wrong;  // what it wrote that it must not

  friend bool same_results(linear_results const& a, linear_results const& b) {
    return same_bits(a.y, b.y) && same_bits(a.dq, b.dq) && same_bits(a.dk, b.dk) &&
           same_bits(a.dv, b.dv) && same_bits(a.dw, b.dw);
  }
};

template <class T>
tensor3<T> without_outer(tensor4<T> v) {
  strides4 const s = v.strides();
  return {v.data(), v.extents().each(), {s.batch, s.length, s.channels}};
}

template <class T>
struct linear_stacks {
  strided_stack<T> q, k, v, w, dy, y, dq, dk, dv, dw;
  bool matrix;  // whether there is a w

  linear_stacks(linear_problem<T> const& p, memory_layout l)
      : q(p.size.q(), p.q, l.strides(p.size.q(), 0), l.shift(0)),
        k(p.size.k(), p.k, l.strides(p.size.k(), 1), l.shift(1)),
        v(p.size.v(), p.v, l.strides(p.size.v(), 2), l.shift(2)),
        w(p.of_w(), p.w, l.strides(p.of_w(), 3), l.shift(3)),
        dy(p.size.y(), p.dy, l.strides(p.size.y(), 4), l.shift(4)),
        y(p.size.y(), l.strides(p.size.y(), 5), l.shift(5)),
        dq(p.size.q(), p.dq, l.strides(p.size.q(), 6), l.shift(6)),
        dk(p.size.k(), p.dk, l.strides(p.size.k(), 7), l.shift(7)),
        dv(p.size.v(), p.dv, l.strides(p.size.v(), 8), l.shift(8)),
        dw(p.of_w(), p.dw, l.strides(p.of_w(), 9), l.shift(9)),
        matrix(has_matrix(p.feature)) {}

  ss::linear_attention_inputs<T> inputs() const {
    return {q.view(), k.view(), v.view(), matrix ? without_outer(w.view()) : tensor3<T const>{}};
  }
  ss::linear_attention_gradients<T> gradients(unsigned wanted) {
    auto const one = [&](unsigned bit, strided_stack<T>& to) {
      return (wanted & bit) != 0 ? to.view() : tensor4<T>{};
    };
    return {one(linear_dq, dq), one(linear_dk, dk), one(linear_dv, dv),
            matrix && (wanted & linear_dw) != 0 ? without_outer(dw.view()) : tensor3<T>{}};
  }
  bool gaps_untouched() const {
    for (strided_stack<T> const* one : {&q, &k, &v, &w, &dy, &y, &dq, &dk, &dv, &dw})
      if (!one->gaps_untouched()) return false;
    return true;
  }
};

// The two calls of an operator, with no more workspace than it asks for.
template <class Op, class T, class Exec>
void call_linear(Op const& op, linear_problem<T> const& p, Exec const& on, linear_stacks<T>& t,
                 linear_results<T>& results) {
  extents4 const q = p.size.q(), v = p.size.v();
  extents3 const w = p.of_w_as_rank3(), dw = p.wants_dw() ? w : extents3{};
  std::size_t const some = p.number() % 64;
  guarded_workspace one(op.template workspace_bytes<T>(on, q, v, w), some, 0x7f);
  guarded_workspace two(op.template workspace_bytes<T>(on, q, v, w, dw), some + 13);
  op.forward(on, t.inputs(), t.y.view(), one.get(), p.options());
  results.y = t.y.contents();
  op.backward(on, t.dy.view(), t.inputs(), t.gradients(p.wanted), two.get(), p.backward_options());
  if (!one.red_zones_intact() || !two.red_zones_intact()) results.wrong = "workspace overrun";
}
// The same, and what else must hold of them.
template <class T, class Call>
linear_results<T> run_linear_by(linear_problem<T> const& p, memory_layout layout,
                                Call const& call) {
  linear_stacks<T> t(p, layout);
  linear_results<T> results;
  call(t, results);
  results.dq = t.dq.contents();
  results.dk = t.dk.contents();
  results.dv = t.dv.contents();
  results.dw = t.dw.contents();
  if (!t.gaps_untouched()) results.wrong = "wrote beside a tensor";
  if (!same_bits(t.y.contents(), results.y)) results.wrong = "backward wrote to y";
  if (!same_bits(t.q.contents(), p.q) || !same_bits(t.k.contents(), p.k) ||
      !same_bits(t.v.contents(), p.v) || !same_bits(t.w.contents(), p.w) ||
      !same_bits(t.dy.contents(), p.dy))
    results.wrong = "wrote to an input";
  return results;
}

// f(operator) with the policies of a problem as types; with another feature in place of its own.
template <class Feature, class T, class F>
void with_feature(Feature const& feature, linear_problem<T> const& p, F const& f) {
  std::visit(
      [&](auto const& divisor) {
        using Divisor = std::decay_t<decltype(divisor)>;
        if (p.causal)
          f(ss::linear_attention<Feature, Divisor, ss::direction::causal>(feature, divisor, {},
                                                                          p.multiply));
        else
          f(ss::linear_attention<Feature, Divisor>(feature, divisor, {}, p.multiply));
      },
      p.divisor);
}
template <class T, class F>
void with_operator(linear_problem<T> const& p, F const& f) {
  std::visit([&](auto const& feature) { with_feature(feature, p, f); }, p.feature);
}

template <class T, class Exec>
linear_results<T> run_linear(linear_problem<T> const& p, Exec const& on,
                             memory_layout layout = {}) {
  return run_linear_by(p, layout, [&](linear_stacks<T>& t, linear_results<T>& results) {
    with_operator(p, [&](auto const& op) { call_linear(op, p, on, t, results); });
  });
}

}  // namespace support
