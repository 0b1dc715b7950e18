// SPDX-License-Identifier: Apache-2.0
// Runs softmax attention problems with any algorithm and layout, and compares them with the oracle.
// Checks return an empty string, or a line that identifies the failing case.
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

// Contiguous results of a call.
template <class T, class State>
struct attention_results {
  std::vector<T> y, dq, dk, dv, dbias;
  std::vector<State> state;
  std::string wrong;  // description of invalid writes

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
  ss::attention_gradients<T> gradients(unsigned requested) {
    auto const view_if = [&](unsigned bit, strided_heads<T>& gradient) {
      return (requested & bit) != 0 ? gradient.view() : tensor4<T>{};
    };
    return {view_if(wants_dq, dq), view_if(wants_dk, dk), view_if(wants_dv, dv),
            view_if(wants_dbias, dbias)};
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

// Runs forward and backward of `op`.
template <class Mask, class Algorithm, class T, class Exec>
attention_results<T, attention_state_of<Algorithm, T>> run_attention_by(
    ss::softmax_attention<Mask, Algorithm> const& op, attention_problem<T> const& p,
    Exec const& exec, memory_layout layout) {
  using State = attention_state_of<Algorithm, T>;
  extents4 const saved = op.saved_extents(p.size.q(), p.size.v());
  attention_stacks<T, State> t(p, saved, layout);
  extents4 const dbias = (p.requested & wants_dbias) != 0 ? p.dbias_shape() : extents4{};
  std::size_t const bytes = op.template workspace_bytes<T>(exec, p.size.q(), p.size.v(), dbias);
  std::size_t const offset = p.number() % 64;
  guarded_workspace first(bytes, offset, 0x7f), second(bytes, offset + 13);
  attention_results<T, State> results;

  op.forward(exec, t.inputs(p), t.y.view(), ss::no_saved, first.get(), p.options());
  auto const not_saved = t.y.contents();
  op.forward(exec, t.inputs(p), t.y.view(), {t.state.view()}, second.get(), p.options());
  results.y = t.y.contents();
  results.state = t.state.contents();
  if (!slicesort::detail::attention_traits<Algorithm>::saves_map &&
      !same_bits(not_saved, results.y))
    results.wrong = "y depends on whether the state is saved";
  op.backward(exec, t.dy.view(), t.inputs(p), t.y.view(), {t.state.view()},
              t.gradients(p.requested), first.get(), p.backward_options());
  results.dq = t.dq.contents();
  results.dk = t.dk.contents();
  results.dv = t.dv.contents();
  results.dbias = t.dbias.contents();
  if (!same_bits(t.y.contents(), results.y) || !same_bits(t.state.contents(), results.state))
    results.wrong = "backward wrote to y or the state";
  if (!t.gaps_untouched()) results.wrong = "wrote beside a tensor";
  if (!first.red_zones_intact() || !second.red_zones_intact()) results.wrong = "workspace overrun";
  return results;
}

// Runs attention with the problem's mask. Masks with ranges only are passed as range_mask.
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

// Returns the names of the gradients whose bits differ if they are requested alone.
template <class T, class Algorithm>
std::string changed_when_alone(attention_problem<T> p, any_exec const& exec,
                               Algorithm const& algorithm) {
  p.requested = 15;
  auto const together = run_attention(p, exec, algorithm);
  std::string changed;
  for (unsigned bit : {wants_dq, wants_dk, wants_dv, wants_dbias}) {
    p.requested = bit;
    auto const single = run_attention(p, exec, algorithm);
    if (bit == wants_dq && !same_bits(single.dq, together.dq)) changed += "dq ";
    if (bit == wants_dk && !same_bits(single.dk, together.dk)) changed += "dk ";
    if (bit == wants_dv && !same_bits(single.dv, together.dv)) changed += "dv ";
    if (bit == wants_dbias && !same_bits(single.dbias, together.dbias)) changed += "dbias ";
  }
  return changed;
}

// True if the processor has an instruction for pairs of bfloat16 and the compiler supports it.
inline bool processor_multiplies_pairs() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__) && \
    (defined(__clang__) || __GNUC__ >= 11)
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}
// True if a call uses that instruction.
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

// A problem and its expected results: for the host, for rounded weights, for kernels, and for
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

// Maximum ratios of errors to their bounds.
struct attention_shares {
  long double y = 0, state = 0, dq = 0, dk = 0, dv = 0, dbias = 0;

  void raise(attention_shares const& other) {
    for (auto share : {&attention_shares::y, &attention_shares::state, &attention_shares::dq,
                       &attention_shares::dk, &attention_shares::dv, &attention_shares::dbias})
      this->*share = std::max(this->*share, other.*share);
  }
  std::string text() const {
    std::string list;
    for (long double share : {y, state, dq, dk, dv, dbias})
      list += (list.empty() ? "" : ", ") + std::to_string(static_cast<double>(share));
    return list;
  }
};

template <class T>
std::string within(char const* name, std::vector<T> const& actual,
                   std::vector<bounded> const& expected, long double& share) {
  if (actual.size() != expected.size()) return std::string(name) + " has the wrong size";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    number const result = decode(actual[i]);
    long double const error = std::fabs(result.value - expected[i].value);
    if (result.kind != number_class::finite || !(error <= expected[i].error))
      return std::string(name) + "[" + std::to_string(i) + "] is " +
             (result.kind == number_class::finite ? std::to_string(result.value) : "not finite") +
             ", must be " + std::to_string(expected[i].value) + " (bound " +
             std::to_string(expected[i].error) + ", error " + std::to_string(error) + ")";
    if (error > 0) share = std::max(share, error / expected[i].error);
  }
  return {};
}
// Checks the state of `streaming`, which is -infinity and 0 for queries without visible keys.
template <class State>
std::string numbers_within(std::vector<State> const& state, attention_answer const& expected,
                           long double& share) {
  std::vector<State> maxima, total;
  for (std::size_t i = 0; i < expected.looks.size(); ++i) {
    State const m = state[2 * i], l = state[2 * i + 1];
    bool const none = decode(m).kind == number_class::minus_infinity && same_bits(l, State(0));
    if (!expected.looks[i] && !none)
      return "the state of query " + std::to_string(i) + ", which looks at nothing, is wrong";
    maxima.push_back(expected.looks[i] ? m : State(0));
    total.push_back(l);
  }
  std::string const wrong = within("m", maxima, expected.maxima, share);
  return wrong.empty() ? within("l", total, expected.total, share) : wrong;
}

template <class Algorithm, class T, class State>
std::string check_results(solved_attention<T> const& s, any_exec const& exec, Algorithm algorithm,
                          attention_results<T, State> const& actual, memory_layout layout = {},
                          attention_shares* shares = nullptr) {
  attention_problem<T> const& p = s.problem;
  bool const native = native_products<T>(algorithm, exec);
  attention_answer const& expected =
      s.template answer<Algorithm>(host_isa(exec).has_value(), native);
  attention_shares part;
  std::string wrong = actual.wrong;
  auto const note = [&](std::string const& error) {
    if (wrong.empty()) wrong = error;
  };
  note(within("y", actual.y, expected.y, part.y));
  if constexpr (slicesort::detail::attention_traits<Algorithm>::saves_map)
    note(within("the map", actual.state, expected.map, part.state));
  else
    note(numbers_within(actual.state, expected, part.state));
  auto const gradient = [&](char const* name, unsigned bit, std::vector<T> const& result,
                            std::vector<T> const& before, std::vector<bounded> const& bounds,
                            long double& share) {
    if ((p.requested & bit) != 0)
      note(within(name, result, bounds, share));
    else if (!same_bits(result, before))
      note(std::string(name) + " was not asked for, and is written");
  };
  gradient("dq", wants_dq, actual.dq, p.dq, expected.dq, part.dq);
  gradient("dk", wants_dk, actual.dk, p.dk, expected.dk, part.dk);
  gradient("dv", wants_dv, actual.dv, p.dv, expected.dv, part.dv);
  gradient("dbias", wants_dbias, actual.dbias, p.dbias, expected.dbias, part.dbias);
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
  linkage template support::attention_problem<T> support::random_attention(attention_size,        \
                                                                           std::uint64_t, int);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_softmax_attention)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_softmax_attention)
#endif
