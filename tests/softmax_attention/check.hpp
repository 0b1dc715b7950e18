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
#include <stdexcept>
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

// Indices of the tensors of a call, which memory layouts depend on.
enum attention_tensor : int {
  q_tensor,
  k_tensor,
  v_tensor,
  bias_tensor,
  dy_tensor,
  y_tensor,
  dq_tensor,
  dk_tensor,
  dv_tensor,
  dbias_tensor,
  state_tensor
};

template <class T, class State>
struct attention_tensors {
  strided_heads<T> q, k, v, bias, dy, y, dq, dk, dv, dbias;
  strided_heads<State> state;

  attention_tensors(attention_problem<T> const& p, extents4 saved, memory_layout layout)
      : q(p.size.q(), p.q, layout.strides(p.size.q(), q_tensor), layout.shift(q_tensor)),
        k(p.size.k(), p.k, share_heads(p, layout.strides(p.size.k(), k_tensor)),
          layout.shift(k_tensor)),
        v(p.size.v(), p.v, share_heads(p, layout.strides(p.size.v(), v_tensor)),
          layout.shift(v_tensor)),
        bias(p.bias.empty() ? extents4{} : p.bias_shape(), p.bias,
             share_queries(p, layout.strides(p.bias_shape(), bias_tensor)),
             layout.shift(bias_tensor)),
        dy(p.size.y(), p.dy, layout.strides(p.size.y(), dy_tensor), layout.shift(dy_tensor)),
        y(p.size.y(), layout.strides(p.size.y(), y_tensor), layout.shift(y_tensor)),
        dq(p.size.q(), p.dq, layout.strides(p.size.q(), dq_tensor), layout.shift(dq_tensor)),
        dk(p.size.k(), p.dk, layout.strides(p.size.k(), dk_tensor), layout.shift(dk_tensor)),
        dv(p.size.v(), p.dv, layout.strides(p.size.v(), dv_tensor), layout.shift(dv_tensor)),
        dbias(p.dbias_shape(), p.dbias, layout.strides(p.dbias_shape(), dbias_tensor),
              layout.shift(dbias_tensor)),
        state(saved, layout.strides(saved, state_tensor), layout.shift(state_tensor)) {}

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
  bool padding_intact() const {
    return q.padding_intact() && k.padding_intact() && v.padding_intact() &&
           bias.padding_intact() && dy.padding_intact() && y.padding_intact() &&
           dq.padding_intact() && dk.padding_intact() && dv.padding_intact() &&
           dbias.padding_intact() && state.padding_intact();
  }

 private:
  static strides4 share_heads(attention_problem<T> const& p, strides4 strides) {
    if (p.shared_keys) strides.heads = 0;
    return strides;
  }
  static strides4 share_queries(attention_problem<T> const& p, strides4 strides) {
    if (p.shared_bias) strides.length = 0;
    return strides;
  }
};

// Runs forward and backward of `op`.
template <class Mask, class Algorithm, class T, class Exec>
attention_results<T, attention_state_of<Algorithm, T>> run_operator(
    ss::softmax_attention<Mask, Algorithm> const& op, attention_problem<T> const& p,
    Exec const& exec, memory_layout layout) {
  using State = attention_state_of<Algorithm, T>;
  extents4 const saved = op.saved_extents(p.size.q(), p.size.v());
  attention_tensors<T, State> tensors(p, saved, layout);
  extents4 const dbias = (p.requested & wants_dbias) != 0 ? p.dbias_shape() : extents4{};
  std::size_t const bytes = op.template workspace_bytes<T>(exec, p.size.q(), p.size.v(), dbias);
  std::size_t const offset = p.backend_seed() % 64;
  guarded_workspace first_workspace(bytes, offset, 0x7f), second_workspace(bytes, offset + 13);
  attention_results<T, State> results;

  op.forward(exec, tensors.inputs(p), tensors.y.view(), ss::no_saved, first_workspace.get(),
             p.options());
  auto const y_not_saved = tensors.y.contents();
  op.forward(exec, tensors.inputs(p), tensors.y.view(), {tensors.state.view()},
             second_workspace.get(), p.options());
  results.y = tensors.y.contents();
  results.state = tensors.state.contents();
  if (!slicesort::detail::attention_traits<Algorithm>::saves_weights &&
      !same_bits(y_not_saved, results.y))
    results.wrong = "y depends on whether the state is saved";
  op.backward(exec, tensors.dy.view(), tensors.inputs(p), tensors.y.view(), {tensors.state.view()},
              tensors.gradients(p.requested), first_workspace.get(), p.backward_options());
  results.dq = tensors.dq.contents();
  results.dk = tensors.dk.contents();
  results.dv = tensors.dv.contents();
  results.dbias = tensors.dbias.contents();
  if (!same_bits(tensors.y.contents(), results.y) ||
      !same_bits(tensors.state.contents(), results.state))
    results.wrong = "backward wrote to y or the state";
  if (!tensors.padding_intact()) results.wrong = "wrote beside a tensor";
  if (!first_workspace.red_zones_intact() || !second_workspace.red_zones_intact())
    results.wrong = "workspace overrun";
  return results;
}

// Runs attention with the problem's mask. Masks with ranges only are passed as range_mask, if it is
// compiled for T.
template <class Algorithm, class T>
attention_results<T, attention_state_of<Algorithm, T>> run_attention(attention_problem<T> const& p,
                                                                     any_exec const& exec,
                                                                     Algorithm algorithm,
                                                                     memory_layout layout = {}) {
  if constexpr (has_every_mask<T>) {
    if (p.sparse)
      return run_operator(
          ss::softmax_attention<sparse_mask, Algorithm>(*p.sparse, p.scale, algorithm), p, exec,
          layout);
    if (is_range(p.mask)) {
      range_mask const mask{p.mask.kind, p.mask.a, p.mask.b};
      return run_operator(ss::softmax_attention<range_mask, Algorithm>(mask, p.scale, algorithm), p,
                          exec, layout);
    }
  }
  if (p.sparse) throw std::logic_error("sparse masks are not compiled for this type");
  return run_operator(p.op(algorithm), p, exec, layout);
}

// Returns the names of the gradients whose bits differ if they are requested alone.
template <class T, class Algorithm>
std::string find_gradients_changed_when_alone(attention_problem<T> p, any_exec const& exec,
                                              Algorithm const& algorithm) {
  p.requested = all_gradients;
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
inline bool processor_has_native_products() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__) && \
    (defined(__clang__) || __GNUC__ >= 11)
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}
// True if a call uses that instruction.
template <class T, class Algorithm>
bool uses_native_products(Algorithm const& algorithm, any_exec const& exec) {
  if constexpr (std::is_same_v<Algorithm, ss::streaming> && std::is_same_v<T, bfloat16>) {
    std::optional<ss::isa> const set = host_isa(exec);
    return algorithm.kind == ss::products::native && processor_has_native_products() &&
           (set == ss::isa::best || set == ss::isa::avx512);
  } else {
    return (void)algorithm, (void)exec, false;
  }
}

template <class T>
expected_attention compute_expected(attention_problem<T> const& p,
                                    attention_roundings<T> roundings) {
  return attention_oracle<T>(p, roundings).expected();
}

// Implementations whose roundings differ. For 16-bit types, all but `host` round the weights.
enum class rounding_kind { host, host_materialized, device, native_products, count };

// A problem, and its expected results for each implementation.
template <class T>
class solved_attention {
 public:
  attention_problem<T> const problem;

  explicit solved_attention(attention_problem<T> p) : problem(std::move(p)) {}

  template <class Algorithm>
  expected_attention const& expected(bool runs_on_host, bool native) const {
    constexpr bool materializes = slicesort::detail::attention_traits<Algorithm>::saves_weights;
    auto const kind = sizeof(T) > 2   ? rounding_kind::host
                      : !runs_on_host ? rounding_kind::device
                      : native        ? rounding_kind::native_products
                      : materializes  ? rounding_kind::host_materialized
                                      : rounding_kind::host;
    auto& expected = expected_[static_cast<int>(kind)];
    if (!expected)
      expected =
          compute_expected(problem, attention_roundings<T>(kind != rounding_kind::host,
                                                           kind == rounding_kind::device,
                                                           kind == rounding_kind::native_products));
    return *expected;
  }

 private:
  mutable std::optional<expected_attention> expected_[static_cast<int>(rounding_kind::count)];
};

// Maximum ratios of errors to their bounds.
struct attention_error_ratios {
  long double y = 0, state = 0, dq = 0, dk = 0, dv = 0, dbias = 0;

  void update_max(attention_error_ratios const& other) {
    for (auto ratio :
         {&attention_error_ratios::y, &attention_error_ratios::state, &attention_error_ratios::dq,
          &attention_error_ratios::dk, &attention_error_ratios::dv, &attention_error_ratios::dbias})
      this->*ratio = std::max(this->*ratio, other.*ratio);
  }
  std::string describe() const {
    std::string list;
    for (long double ratio : {y, state, dq, dk, dv, dbias})
      list += (list.empty() ? "" : ", ") + std::to_string(static_cast<double>(ratio));
    return list;
  }
};

template <class T>
std::string bounds_error(char const* name, std::vector<T> const& actual,
                         std::vector<bounded> const& expected, long double& ratio) {
  if (actual.size() != expected.size()) return std::string(name) + " has the wrong size";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    number const result = decode(actual[i]);
    long double const error = std::fabs(result.value - expected[i].value);
    if (result.kind != number_class::finite || !(error <= expected[i].error))
      return std::string(name) + "[" + std::to_string(i) + "] is " +
             (result.kind == number_class::finite ? std::to_string(result.value) : "not finite") +
             ", must be " + std::to_string(expected[i].value) + " (bound " +
             std::to_string(expected[i].error) + ", error " + std::to_string(error) + ")";
    if (error > 0) ratio = std::max(ratio, error / expected[i].error);
  }
  return {};
}
// Checks the state of `streaming`, which is -infinity and 0 for queries without visible keys.
template <class State>
std::string state_error(std::vector<State> const& state, expected_attention const& expected,
                        long double& ratio) {
  std::vector<State> row_max, row_sum;
  for (std::size_t i = 0; i < expected.has_visible_key.size(); ++i) {
    State const m = state[2 * i], l = state[2 * i + 1];
    bool const sees_no_key =
        decode(m).kind == number_class::minus_infinity && same_bits(l, State(0));
    if (!expected.has_visible_key[i] && !sees_no_key)
      return "the state of query " + std::to_string(i) + ", which sees no key, is wrong";
    row_max.push_back(expected.has_visible_key[i] ? m : State(0));
    row_sum.push_back(l);
  }
  std::string const error = bounds_error("m", row_max, expected.row_max, ratio);
  return error.empty() ? bounds_error("l", row_sum, expected.row_sum, ratio) : error;
}

// Checks y and the requested gradients.
template <class T, class State>
std::string output_error(attention_problem<T> const& p, attention_results<T, State> const& actual,
                         expected_attention const& expected, attention_error_ratios& ratios) {
  std::string error = actual.wrong;
  auto const keep_first_error = [&](std::string const& new_error) {
    if (error.empty()) error = new_error;
  };
  keep_first_error(bounds_error("y", actual.y, expected.y, ratios.y));
  auto const check_gradient = [&](char const* name, unsigned bit, std::vector<T> const& result,
                                  std::vector<T> const& before, std::vector<bounded> const& bounds,
                                  long double& ratio) {
    if ((p.requested & bit) != 0)
      keep_first_error(bounds_error(name, result, bounds, ratio));
    else if (!same_bits(result, before))
      keep_first_error(std::string(name) + " is not requested, but was written");
  };
  check_gradient("dq", wants_dq, actual.dq, p.dq, expected.dq, ratios.dq);
  check_gradient("dk", wants_dk, actual.dk, p.dk, expected.dk, ratios.dk);
  check_gradient("dv", wants_dv, actual.dv, p.dv, expected.dv, ratios.dv);
  check_gradient("dbias", wants_dbias, actual.dbias, p.dbias, expected.dbias, ratios.dbias);
  return error;
}

template <class Algorithm, class T, class State>
std::string check_results(solved_attention<T> const& solved, any_exec const& exec,
                          Algorithm algorithm, attention_results<T, State> const& actual,
                          memory_layout layout = {}, attention_error_ratios* ratios = nullptr) {
  attention_problem<T> const& p = solved.problem;
  bool const native = uses_native_products<T>(algorithm, exec);
  expected_attention const& expected =
      solved.template expected<Algorithm>(host_isa(exec).has_value(), native);
  attention_error_ratios call_ratios;
  std::string error = output_error(p, actual, expected, call_ratios);
  auto const keep_first_error = [&](std::string const& new_error) {
    if (error.empty()) error = new_error;
  };
  if constexpr (slicesort::detail::attention_traits<Algorithm>::saves_weights)
    keep_first_error(bounds_error("the map", actual.state, expected.weights, call_ratios.state));
  else
    keep_first_error(state_error(actual.state, expected, call_ratios.state));
  if (ratios != nullptr) ratios->update_max(call_ratios);
  if (!error.empty())
    error += std::string(": ") +
             (slicesort::detail::attention_traits<Algorithm>::saves_weights ? "materialized "
              : native                                                      ? "native streaming "
                                                                            : "streaming ") +
             p.describe() + " layout=" + std::to_string(layout.number) + describe_exec(exec);
  return error;
}
template <class Algorithm, class T>
std::string check_attention(solved_attention<T> const& solved, any_exec const& exec,
                            Algorithm algorithm, memory_layout layout = {},
                            attention_error_ratios* ratios = nullptr) {
  return check_results(solved, exec, algorithm,
                       run_attention(solved.problem, exec, algorithm, layout), layout, ratios);
}
// Checks a problem with both algorithms.
template <class T>
std::string check_attention(solved_attention<T> const& solved, any_exec const& exec,
                            memory_layout layout = {}, attention_error_ratios* ratios = nullptr) {
  std::string const error = check_attention(solved, exec, ss::streaming{}, layout, ratios);
  return error.empty() ? check_attention(solved, exec, ss::materialized<>{}, layout, ratios)
                       : error;
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
  linkage template support::expected_attention support::compute_expected(                         \
      attention_problem<T> const&, attention_roundings<T>);                                       \
  linkage template std::string support::check_attention(solved_attention<T> const&,               \
                                                        any_exec const&, slicesort::streaming,    \
                                                        memory_layout, attention_error_ratios*);  \
  linkage template std::string support::check_attention(                                          \
      solved_attention<T> const&, any_exec const&, slicesort::materialized<>, memory_layout,      \
      attention_error_ratios*);                                                                   \
  linkage template support::attention_problem<T> support::random_attention(                       \
      attention_size, std::uint64_t, std::optional<mask_kind>);
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_softmax_attention)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_softmax_attention)
#endif
