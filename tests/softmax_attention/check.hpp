// SPDX-License-Identifier: Apache-2.0
// Softmax attention on a problem, by any algorithm and in any layout, and held to the oracle's
// bounds. A comparison returns an empty string, or one line that says how to repeat the failure.
#pragma once

#include "operators/compiled_once.hpp"
#include "oracle.hpp"
#include "problem.hpp"
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/stacks.hpp"

#include <slicesort/softmax_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace support {

// What a call puts out, contiguous.
template <class T, class State>
struct attention_results {
  std::vector<T> y, dq, dk, dv, dbias;
  std::vector<State> state;
  std::string wrong;  // what it wrote that it must not

  friend bool same_results(attention_results const& a, attention_results const& b) {
    return same_bits(a.y, b.y) && same_bits(a.state, b.state) && same_bits(a.dq, b.dq) &&
           same_bits(a.dk, b.dk) && same_bits(a.dv, b.dv) && same_bits(a.dbias, b.dbias);
  }
};

template <class Algorithm, class T>
using attention_state_of =
    typename slicesort::detail::attention_traits<Algorithm>::template state<T>;

template <class T, class State>
struct attention_stacks {
  strided_heads<T> q, k, v, bias, dy, y, dq, dk, dv, dbias;
  strided_heads<State> state;

  attention_stacks(attention_problem<T> const& p, extents4 saved, memory_layout l)
      : q(p.size.q(), p.q, l.strides(p.size.q(), 0), l.shift(0)),
        k(p.size.k(), p.k, all_heads(p, l.strides(p.size.k(), 1)), l.shift(1)),
        v(p.size.v(), p.v, all_heads(p, l.strides(p.size.v(), 2)), l.shift(2)),
        bias(p.bias.empty() ? extents4{} : p.bias_shape(), p.bias,
             all_queries(p, l.strides(p.bias_shape(), 3)), l.shift(3)),
        dy(p.size.y(), p.dy, l.strides(p.size.y(), 4), l.shift(4)),
        y(p.size.y(), l.strides(p.size.y(), 5), l.shift(5)),
        dq(p.size.q(), p.dq, l.strides(p.size.q(), 6), l.shift(6)),
        dk(p.size.k(), p.dk, l.strides(p.size.k(), 7), l.shift(7)),
        dv(p.size.v(), p.dv, l.strides(p.size.v(), 8), l.shift(8)),
        dbias(p.dbias_shape(), p.dbias, l.strides(p.dbias_shape(), 9), l.shift(9)),
        state(saved, l.strides(saved, 10), l.shift(10)) {}

  ss::attention_inputs<T> inputs(attention_problem<T> const& p) const {
    return {q.view(), k.view(), v.view(), p.bias.empty() ? tensor4<T const>{} : bias.view()};
  }
  ss::attention_gradients<T> gradients(unsigned wanted) {
    auto const one = [&](unsigned bit, strided_heads<T>& to) {
      return (wanted & bit) != 0 ? to.view() : tensor4<T>{};
    };
    return {one(wants_dq, dq), one(wants_dk, dk), one(wants_dv, dv), one(wants_dbias, dbias)};
  }
  bool gaps_untouched() const {
    return q.gaps_untouched() && k.gaps_untouched() && v.gaps_untouched() &&
           bias.gaps_untouched() && dy.gaps_untouched() && y.gaps_untouched() &&
           dq.gaps_untouched() && dk.gaps_untouched() && dv.gaps_untouched() &&
           dbias.gaps_untouched() && state.gaps_untouched();
  }

 private:
  static strides4 all_heads(attention_problem<T> const& p, strides4 s) {
    if (p.shared_keys) s.heads = 0;
    return s;
  }
  static strides4 all_queries(attention_problem<T> const& p, strides4 s) {
    if (p.shared_bias) s.length = 0;
    return s;
  }
};

// Forward and backward by `op`.
template <class Mask, class Algorithm, class T, class Exec>
attention_results<T, attention_state_of<Algorithm, T>> run_attention_by(
    ss::softmax_attention<Mask, Algorithm> const& op, attention_problem<T> const& p,
    Exec const& exec, memory_layout layout) {
  using State = attention_state_of<Algorithm, T>;
  extents4 const saved = op.saved_extents(p.size.q(), p.size.v());
  attention_stacks<T, State> t(p, saved, layout);
  extents4 const dbias = (p.wanted & wants_dbias) != 0 ? p.dbias_shape() : extents4{};
  std::size_t const bytes = op.template workspace_bytes<T>(exec, p.size.q(), p.size.v(), dbias);
  std::size_t const some = p.number() % 64;
  guarded_workspace one(bytes, some, 0x7f), two(bytes, some + 13);
  attention_results<T, State> results;

  op.forward(exec, t.inputs(p), t.y.view(), ss::no_saved, one.get(), p.options());
  auto const not_saved = t.y.contents();
  op.forward(exec, t.inputs(p), t.y.view(), {t.state.view()}, two.get(), p.options());
  results.y = t.y.contents();
  results.state = t.state.contents();
  if (!slicesort::detail::attention_traits<Algorithm>::saves_map &&
      !same_bits(not_saved, results.y))
    results.wrong = "y depends on whether the state is saved";
  op.backward(exec, t.dy.view(), t.inputs(p), t.y.view(), {t.state.view()}, t.gradients(p.wanted),
              one.get(), p.backward_options());
  results.dq = t.dq.contents();
  results.dk = t.dk.contents();
  results.dv = t.dv.contents();
  results.dbias = t.dbias.contents();
  if (!same_bits(t.y.contents(), results.y) || !same_bits(t.state.contents(), results.state))
    results.wrong = "backward wrote to y or the state";
  if (!t.gaps_untouched()) results.wrong = "wrote beside a tensor";
  if (!one.red_zones_intact() || !two.red_zones_intact()) results.wrong = "workspace overrun";
  return results;
}

// Runs attention with the problem's own mask. Masks that are only a range are passed as a type that
// has nothing else.
template <class Algorithm, class T>
attention_results<T, attention_state_of<Algorithm, T>> run_attention(attention_problem<T> const& p,
                                                                     any_exec const& exec,
                                                                     Algorithm algorithm,
                                                                     memory_layout layout = {}) {
  if (p.sparse)
    return run_attention_by(
        ss::softmax_attention<sparse_mask, Algorithm>(*p.sparse, p.scale, algorithm), p, exec,
        layout);
  if (!is_range(p.mask)) return run_attention_by(p.op(algorithm), p, exec, layout);
  range_mask const mask{p.mask.kind, p.mask.a, p.mask.b};
  return run_attention_by(ss::softmax_attention<range_mask, Algorithm>(mask, p.scale, algorithm), p,
                          exec, layout);
}

// The names of gradients that have other bits when only they are wanted, than with all at once.
template <class T, class Algorithm>
std::string changed_when_alone(attention_problem<T> p, any_exec const& exec,
                               Algorithm const& algorithm) {
  p.wanted = 15;
  auto const all = run_attention(p, exec, algorithm);
  std::string changed;
  for (unsigned bit : {wants_dq, wants_dk, wants_dv, wants_dbias}) {
    p.wanted = bit;
    auto const one = run_attention(p, exec, algorithm);
    if (bit == wants_dq && !same_bits(one.dq, all.dq)) changed += "dq ";
    if (bit == wants_dk && !same_bits(one.dk, all.dk)) changed += "dk ";
    if (bit == wants_dv && !same_bits(one.dv, all.dv)) changed += "dv ";
    if (bit == wants_dbias && !same_bits(one.dbias, all.dbias)) changed += "dbias ";
  }
  return changed;
}

// Whether this processor multiplies pairs of bfloat16, and this compiler lets the library know.
inline bool processor_multiplies_pairs() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__) && \
    (defined(__clang__) || __GNUC__ >= 11)
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}
// Whether a call multiplies by such an instruction.
template <class T, class Algorithm>
bool native_products(Algorithm const& algorithm, any_exec const& exec) {
  if constexpr (std::is_same_v<Algorithm, ss::streaming> && std::is_same_v<T, bfloat16>) {
    std::optional<ss::isa> const set = host_isa(exec);
    return algorithm.kind == ss::products::native && processor_multiplies_pairs() &&
           (set == ss::isa::best || set == ss::isa::avx512);
  } else {
    return (void)algorithm, (void)exec, false;
  }
}

template <class T>
attention_answer answer_of(attention_problem<T> const& p, attention_roundings<T> roundings) {
  return attention_oracle<T>(p, roundings).answer();
}

// A problem and its answers: one for the host, one for who rounds weights, one for kernels, one for
// native products.
template <class T>
class solved_attention {
 public:
  attention_problem<T> const problem;

  explicit solved_attention(attention_problem<T> p) : problem(std::move(p)) {}

  template <class Algorithm>
  attention_answer const& answer(bool host, bool native) const {
    constexpr bool map = slicesort::detail::attention_traits<Algorithm>::saves_map;
    int const way = sizeof(T) > 2 ? 0 : !host ? 2 : native ? 3 : map ? 1 : 0;
    if (!answers_[way])
      answers_[way] = answer_of(problem, attention_roundings<T>(way > 0, way == 2, way == 3));
    return *answers_[way];
  }

 private:
  mutable std::optional<attention_answer> answers_[4];
};

// The greatest part of its bound that any error takes up.
struct attention_shares {
  long double y = 0, state = 0, dq = 0, dk = 0, dv = 0, dbias = 0;

  void raise(attention_shares const& by) {
    for (auto share : {&attention_shares::y, &attention_shares::state, &attention_shares::dq,
                       &attention_shares::dk, &attention_shares::dv, &attention_shares::dbias})
      this->*share = std::max(this->*share, by.*share);
  }
  std::string text() const {
    std::string all;
    for (long double share : {y, state, dq, dk, dv, dbias})
      all += (all.empty() ? "" : ", ") + std::to_string(static_cast<double>(share));
    return all;
  }
};

template <class T>
std::string within(char const* name, std::vector<T> const& got, std::vector<bounded> const& want,
                   long double& share) {
  if (got.size() != want.size()) return std::string(name) + " has the wrong size";
  for (std::size_t i = 0; i < got.size(); ++i) {
    number const is = decode(got[i]);
    long double const error = std::fabs(is.value - want[i].value);
    if (is.kind != number_class::finite || !(error <= want[i].error))
      return std::string(name) + "[" + std::to_string(i) + "] is " +
             (is.kind == number_class::finite ? std::to_string(is.value) : "not finite") +
             ", must be " + std::to_string(want[i].value) + " (bound " +
             std::to_string(want[i].error) + ", error " + std::to_string(error) + ")";
    if (error > 0) share = std::max(share, error / want[i].error);
  }
  return {};
}
// The numbers of `streaming`: of a query that looks at nothing, -infinity and 0.
template <class State>
std::string numbers_within(std::vector<State> const& state, attention_answer const& want,
                           long double& share) {
  std::vector<State> most, total;
  for (std::size_t i = 0; i < want.looks.size(); ++i) {
    State const m = state[2 * i], l = state[2 * i + 1];
    bool const none = decode(m).kind == number_class::minus_infinity && same_bits(l, State(0));
    if (!want.looks[i] && !none)
      return "the state of query " + std::to_string(i) + ", which looks at nothing, is wrong";
    most.push_back(want.looks[i] ? m : State(0));
    total.push_back(l);
  }
  std::string const wrong = within("m", most, want.most, share);
  return wrong.empty() ? within("l", total, want.total, share) : wrong;
}

template <class Algorithm, class T, class State>
std::string check_results(solved_attention<T> const& s, any_exec const& exec, Algorithm algorithm,
                          attention_results<T, State> const& got, memory_layout layout = {},
                          attention_shares* shares = nullptr) {
  attention_problem<T> const& p = s.problem;
  bool const native = native_products<T>(algorithm, exec);
  attention_answer const& want = s.template answer<Algorithm>(host_isa(exec).has_value(), native);
  attention_shares part;
  std::string wrong = got.wrong;
  auto const note = [&](std::string const& what) {
    if (wrong.empty()) wrong = what;
  };
  note(within("y", got.y, want.y, part.y));
  if constexpr (slicesort::detail::attention_traits<Algorithm>::saves_map)
    note(within("the map", got.state, want.map, part.state));
  else
    note(numbers_within(got.state, want, part.state));
  auto const gradient = [&](char const* name, unsigned bit, std::vector<T> const& is,
                            std::vector<T> const& before, std::vector<bounded> const& must,
                            long double& share) {
    if ((p.wanted & bit) != 0)
      note(within(name, is, must, share));
    else if (!same_bits(is, before))
      note(std::string(name) + " was not asked for, and is written");
  };
  gradient("dq", wants_dq, got.dq, p.dq, want.dq, part.dq);
  gradient("dk", wants_dk, got.dk, p.dk, want.dk, part.dk);
  gradient("dv", wants_dv, got.dv, p.dv, want.dv, part.dv);
  gradient("dbias", wants_dbias, got.dbias, p.dbias, want.dbias, part.dbias);
  if (shares != nullptr) shares->raise(part);
  if (!wrong.empty())
    wrong += std::string(": ") +
             (slicesort::detail::attention_traits<Algorithm>::saves_map ? "materialized "
              : native                                                  ? "native streaming "
                                                                        : "streaming ") +
             p.describe() + " layout=" + std::to_string(layout.number) + describe_exec(exec);
  return wrong;
}
template <class Algorithm, class T>
std::string check_attention(solved_attention<T> const& s, any_exec const& exec, Algorithm algorithm,
                            memory_layout layout = {}, attention_shares* shares = nullptr) {
  return check_results(s, exec, algorithm, run_attention(s.problem, exec, algorithm, layout),
                       layout, shares);
}
// Checks a problem with both algorithms.
template <class T>
std::string check_attention(solved_attention<T> const& s, any_exec const& exec,
                            memory_layout layout = {}, attention_shares* shares = nullptr) {
  std::string const wrong = check_attention(s, exec, ss::streaming{}, layout, shares);
  return wrong.empty() ? check_attention(s, exec, ss::materialized<>{}, layout, shares) : wrong;
}

}  // namespace support

#define SLICESORT_TEST_HELPERS_OF_softmax_attention(linkage, T)                                   \
  linkage template support::attention_results<                                                    \
      T, support::attention_state_of<slicesort::streaming, T>>                                    \
  support::run_attention(attention_problem<T> const&, any_exec const&, slicesort::streaming,      \
                         memory_layout);                                                          \
  linkage template support::attention_results<                                                    \
      T, support::attention_state_of<slicesort::materialized<>, T>>                               \
  support::run_attention(attention_problem<T> const&, any_exec const&, slicesort::materialized<>, \
                         memory_layout);                                                          \
  linkage template support::attention_answer support::answer_of(attention_problem<T> const&,      \
                                                                attention_roundings<T>);          \
  linkage template std::string support::check_attention(solved_attention<T> const&,               \
                                                        any_exec const&, slicesort::streaming,    \
                                                        memory_layout, attention_shares*);        \
  linkage template std::string support::check_attention(                                          \
      solved_attention<T> const&, any_exec const&, slicesort::materialized<>, memory_layout,      \
      attention_shares*);                                                                         \
  linkage template support::attention_problem<T> support::any_attention(attention_size,           \
                                                                        std::uint64_t, int);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_softmax_attention)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_softmax_attention)
#endif
