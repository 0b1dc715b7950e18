// SPDX-License-Identifier: Apache-2.0
// States of causal linear_attention: their gradients, user-defined feature maps, pieces without
// rows, strided states, and argument checks.
#define SLICESORT_TEST_EVERY_BACKEND
#include "call.hpp"
#include "oracle.hpp"
#include "pieces.hpp"
#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace support;

namespace {

using causal_call =
    linear_call<ss::feature::random_exp, ss::divisor::sum_plus, ss::direction::causal>;
using custom_op =
    ss::linear_attention<custom_feature, ss::divisor::at_least, ss::direction::causal>;

linear_problem<double> make_problem(index_t rows, std::size_t feature, index_t group = 1) {
  return normal_linear<double>({1, 2, rows, rows, 2, 3, 4, group}, make_feature(feature),
                               ss::divisor::sum_plus{8}, true, 600 + feature);
}
// Rows [first, first + count) of a problem of one sample.
linear_problem<double> rows_of(linear_problem<double> problem, index_t first, index_t count) {
  auto const cut = [&](std::vector<double>& tensor, extents4 e) {
    std::vector<double> rows;
    for (index_t h = 0; h < e.heads; ++h) {
      auto const begin =
          tensor.begin() + static_cast<std::ptrdiff_t>(linear_size::at(e, 0, h, first, 0));
      rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(count * e.channels));
    }
    tensor = rows;
  };
  for (auto* tensor : {&problem.q, &problem.dq}) cut(*tensor, problem.size.q());
  for (auto* tensor : {&problem.k, &problem.dk}) cut(*tensor, problem.size.k());
  for (auto* tensor : {&problem.v, &problem.dv}) cut(*tensor, problem.size.v());
  cut(problem.dy, problem.size.y());
  problem.size.queries = problem.size.keys = count;
  return problem;
}
linear_state<double> state_after(linear_problem<double> const& problem) {
  return run_pieces(problem, ss::exec::host{}, {0, problem.size.queries}).last;
}

// Results of one piece between two states.
piece_results<double> run_piece(linear_problem<double> const& problem, any_exec const& exec,
                                linear_state<double> const& initial,
                                linear_state<double> const& dlast) {
  piece_results<double> results;
  with_causal_operator(problem, [&](auto const& op) {
    using Op = std::decay_t<decltype(op)>;
    linear_pieces<double, Op> piece(problem, op, exec, {0, problem.size.queries});
    piece.forward(initial);
    piece.backward(dlast);
    results = piece.results();
  });
  return results;
}
double dot(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

// Central differences with a step of 2^-17, as in gradients.cpp, of <dy, y> + <dlast, last>. The
// pieces start and end within a tile, within the same tile, and at the end of a tile. Heads that
// share a head of k share its state.
TEST_CASE("gradients of states are those of finite differences") {
  double const step = std::ldexp(1.0, -17);
  struct piece_case {
    index_t before, rows;
  };
  for (auto const piece :
       {piece_case{5, 70}, piece_case{66, 3}, piece_case{60, 68}, piece_case{64, 2}})
    for (std::size_t feature : {feature_index::elu_plus_one, feature_index::random_exp,
                                feature_index::random_relu, feature_index::random_fourier}) {
      index_t const before = piece.before, rows = piece.rows;
      index_t const group = feature % 2 == 0 ? 2 : 1;
      auto const sequence = make_problem(before + rows, feature, group);
      auto const initial = state_after(rows_of(sequence, 0, before));
      auto const problem = rows_of(sequence, before, rows);
      CAPTURE(problem.describe());
      CAPTURE(group);
      CAPTURE(before);
      // Positions and maxima have no gradients.
      index_t const features = feature == feature_index::random_fourier ? 8
                               : feature == feature_index::elu_plus_one ? 2
                                                                        : 4;
      ss::detail::linear_state_layout const layout{features, 3};
      auto const size = static_cast<std::size_t>(layout.size());
      auto const differentiable = [&](std::size_t i) {
        auto const element = static_cast<index_t>(i % size);
        return element >= ss::detail::linear_state_layout::matrix && element < layout.maxima();
      };
      REQUIRE(initial.size() == static_cast<std::size_t>(2 / group) * size);
      random_stream random(7);
      linear_state<double> dlast(initial.size());
      for (double& x : dlast) x = random.normal();
      auto const loss = [&](linear_state<double> const& state) {
        auto const results = run_piece(problem, ss::exec::host{}, state, dlast);
        auto last = results.last;
        for (std::size_t i = 0; i < last.size(); ++i)
          if (!differentiable(i)) last[i] = 0;
        return dot(problem.dy, results.rows.y) + dot(dlast, last);
      };
      auto const expected = run_piece(problem, ss::exec::host{}, initial, dlast).dinitial;
      double max_error = 0, largest = 0;
      for (std::size_t i = 0; i < initial.size(); i += 3) {
        if (!differentiable(i)) {
          CHECK(expected[i] == 0);
          continue;
        }
        auto shifted = initial;
        shifted[i] += step;
        double const above = loss(shifted);
        shifted[i] = initial[i] - step;
        double const difference = (above - loss(shifted)) / (2 * step);
        max_error = max_or_nan(max_error, std::fabs(expected[i] - difference));
        largest = std::max(largest, std::fabs(difference));
      }
      CHECK(max_error <= 1e-8 * std::max(1.0, largest));
      CHECK(largest > 1e-4);
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        CHECK(same_bits(run_piece(problem, exec, initial, dlast).dinitial, expected));
      });
    }
}

TEST_CASE("a piece without rows passes its state and its gradient on") {
  for (std::size_t feature : {feature_index::relu, feature_index::random_exp}) {
    auto const sequence = make_problem(70, feature);
    auto const initial = state_after(sequence);
    auto const problem = rows_of(sequence, 0, 0);
    for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const results = run_piece(problem, exec, initial, initial);
      CHECK(same_bits(results.last, initial));
      CHECK(same_bits(results.dinitial, initial));
    });
  }
}

TEST_CASE_TEMPLATE("user-defined maps", T, float, double, bfloat16) {
  auto problem = random_linear<T>({2, 2, 70, 70, 5, 6}, feature_index::relu,
                                  divisor_index::at_least, true, 620);
  problem.feature = ss::feature::relu{0.25};
  problem.lengths = problem.query_lengths = {};
  auto const divisor = std::get<ss::divisor::at_least>(problem.divisor);
  for (auto const kind : {custom_feature_kind::relu, custom_feature_kind::row_scaled})
    for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      custom_feature const feature{kind, 0.25};
      auto const whole = run_custom(feature, problem, exec);
      custom_op const op(feature, divisor, problem.multiply);
      linear_pieces<T, custom_op> pieces(problem, op, exec, {0, 7, 64, 70});
      pieces.forward();
      CHECK(same_bits(pieces.results().rows.y, whole.y));
      pieces.backward();
      if ((problem.gradients & linear_dq) != 0)
        CHECK(same_bits(pieces.results().rows.dq, whole.dq));
      // The pieces of built-in maps have the bits of whole calls (pieces.cpp).
      if (kind == custom_feature_kind::relu) CHECK(same_bits(run_linear(problem, exec).y, whole.y));
    });
}

// A call reads the position from head 0, and writes it to all heads.
TEST_CASE("heads of a sample have one position") {
  for (std::size_t feature : {feature_index::relu, feature_index::random_exp})
    for (index_t rows : {0, 9}) {
      auto const sequence = make_problem(79, feature);
      auto const initial = state_after(rows_of(sequence, 0, 70));
      auto const problem = rows_of(sequence, 70, rows);
      auto altered = initial;
      double* const head = altered.data() + altered.size() / 2;
      head[ss::detail::linear_state_layout::rows] = 63;
      head[ss::detail::linear_state_layout::tiles] = std::nan("");
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        auto const expected = run_piece(problem, exec, initial, initial),
                   actual = run_piece(problem, exec, altered, initial);
        CHECK(same_results(actual.rows, expected.rows));
        CHECK(same_bits(actual.last, expected.last));
        CHECK(same_bits(actual.dinitial, expected.dinitial));
      });
    }
}

// A state holds the position as numbers of rows and tiles, so no memory is needed to be there.
TEST_CASE("positions beyond 2^36 rows") {
  auto problem = make_problem(65, feature_index::relu);
  problem.feature = ss::feature::relu{0.25};
  for (double tiles : {std::ldexp(1.0, 30), std::ldexp(1.0, 40)})
    for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      custom_feature const feature{custom_feature_kind::row_scaled, 0.25};
      with_feature(feature, problem, [&](auto const& op) {
        linear_pieces<double, std::decay_t<decltype(op)>> piece(problem, op, exec, {0, 65});
        linear_state<double> initial(static_cast<std::size_t>(piece.state_extents().size()));
        ss::detail::linear_state_layout const layout{2, 3};
        REQUIRE(initial.size() == 2 * static_cast<std::size_t>(layout.size()));
        initial[ss::detail::linear_state_layout::tiles] = tiles;
        piece.forward(initial);
        auto const last = piece.results().last;
        CHECK(last[ss::detail::linear_state_layout::rows] == 1);
        CHECK(last[ss::detail::linear_state_layout::tiles] == tiles + 1);
        // The last row has index 64 * tiles + 64.
        for (index_t c = 0; c < 2; ++c) {
          double const x = problem.k[static_cast<std::size_t>(64 * 2 + c)];
          CHECK(last[static_cast<std::size_t>(layout.phi() + c)] ==
                (std::max(x, 0.0) + 0.25) * (64 * tiles + 65));
        }
      });
    });
}

// The queries of a group may have several tasks, of which none may read what another one replaces.
TEST_CASE("heads of a group whose last state replaces the initial one") {
  linear_size const size{1, 4, 9, 9, 2, 3, 4, 4};
  auto const problem = normal_linear<double>(size, make_feature(feature_index::elu_plus_one),
                                             ss::divisor::sum_plus{}, true, 630);
  linear_tensors<double> tensors(problem, {});
  ss::linear_attention const op{ss::direction::causal{}};
  std::vector<double> initial(
      static_cast<std::size_t>(op.state_extents(size.q(), size.v()).size()));
  random_stream random(8);
  for (double& x : initial) x = std::fabs(random.normal());
  initial[ss::detail::linear_state_layout::rows] = 60;  // the piece fills the tile
  initial[ss::detail::linear_state_layout::tiles] = 1;
  auto const run = [&](auto const& exec) {
    auto state = initial;
    tensor4<double> const view(state.data(), op.state_extents(size.q(), size.v()));
    guarded_workspace memory(op.workspace_bytes<double>(exec, size.q(), size.v(), {}, {}, true));
    op.forward(exec, tensors.inputs(), tensors.y.view(), memory.get(), {}, {view, view});
    CHECK(memory.red_zones_intact());
    return std::pair(tensors.y.contents(), state);
  };
  auto const expected = run(ss::exec::host{1});
  executor_of_four executor;
  executor.order = test_executor::schedule::forwards;
  auto const actual = run(ss::exec::host_on{executor});
  CHECK(same_bits(actual.first, expected.first));
  CHECK(same_bits(actual.second, expected.second));
}

// The elements of a state may have any stride, and its heads may lie within each other.
TEST_CASE("strided states") {
  auto const problem = make_problem(10, feature_index::random_exp);
  auto const expected = run_pieces(problem, ss::exec::host{}, {0, 10}).last;
  for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
    with_causal_operator(problem, [&](auto const& op) {
      linear_tensors<double> tensors(problem, {});
      auto const e = op.state_extents(problem.size.q(), problem.size.v(), problem.w_extents());
      std::vector<double> memory(static_cast<std::size_t>(e.size()) * 2, 7.0);
      strides4 const strides{0, 1, 0, 4};
      guarded_workspace scratch(op.template workspace_bytes<double>(
          exec, problem.size.q(), problem.size.v(), problem.w_extents(), {}, true));
      op.forward(exec, tensors.inputs(), tensors.y.view(), scratch.get(), {},
                 {{}, {memory.data(), e, strides}});
      bool same = true;
      for (index_t h = 0; h < 2; ++h)
        for (index_t i = 0; i < e.channels; ++i)
          same = same && memory[static_cast<std::size_t>(h + 4 * i)] ==
                             expected[static_cast<std::size_t>(h * e.channels + i)];
      CHECK(same);
    });
  });
}

TEST_CASE("invalid states are rejected") {
  causal_call call;
  auto const op = call.op();
  extents4 const e = op.state_extents(call.q_shape, call.v_shape, call.w_shape);
  CHECK(e == extents4(2, 3, 1, 3 + 8 * 8 + 63 * 16));
  std::vector<float> a(static_cast<std::size_t>(e.size())), b(a), memory(1 << 19);
  ss::workspace const scratch{memory.data(), memory.size() * sizeof(float)};
  using view = tensor4<float>;
  view const first(a.data(), e), second(b.data(), e);
  auto const forward_error = [&](view initial, view last) {
    return error_message(
        op.forward(ss::exec::dry_run{call.exec}, call.in, call.y, scratch, {}, {initial, last}),
        [&] {
          op.forward(call.exec, call.in, call.y, scratch, {}, {initial, last});
        });
  };
  auto const backward_error = [&](view initial, view dlast, view dinitial) {
    return error_message(op.backward(ss::exec::dry_run{call.exec}, call.dy, call.in, call.grads,
                                     scratch, {}, {initial, dlast, dinitial}),
                         [&] {
                           op.backward(call.exec, call.dy, call.in, call.grads, scratch, {},
                                       {initial, dlast, dinitial});
                         });
  };
  CHECK(forward_error(first, second) == "");
  CHECK(forward_error(first, first) == "");
  CHECK(backward_error(first, second, second) == "");
  std::string const forward = "linear_attention.forward: ",
                    backward = "linear_attention.backward: ";
  CHECK(forward_error({a.data(), {1, 3, 1, 8}}, {}) == forward + "initial.batch is 1, must be 2");
  CHECK(forward_error({}, {a.data(), {2, 2, 1, 8}}) == forward + "last.heads is 2, must be 3");
  CHECK(forward_error({}, {a.data(), {2, 3, 1, 8}}) ==
        forward + "last.elements is 8, must be " + std::to_string(e.channels));
  CHECK(backward_error({}, {a.data(), {2, 3, 2, 8}}, {}) ==
        backward + "dlast.length is 2, must be 1");
  CHECK(forward_error(first, {a.data() + 1, e}).find("last overlaps initial") != std::string::npos);
  CHECK(forward_error({}, {call.y.data(), e}).find("last overlaps y") != std::string::npos);
  CHECK(backward_error(first, {}, first).find("dinitial overlaps initial") != std::string::npos);
  CHECK(backward_error({call.grads.dq.data(), e}, {}, {}).find("dq overlaps initial") !=
        std::string::npos);

  std::vector<index_t> const lengths{5, 5};
  auto const with_lengths = [&](ss::tensor1<index_t const> query_lengths) {
    ss::attention_options const options = ss::lengths(view_of(lengths), query_lengths);
    return error_message(
        op.forward(ss::exec::dry_run{call.exec}, call.in, call.y, scratch, options, {{}, first}),
        [&] {
          op.forward(call.exec, call.in, call.y, scratch, options, {{}, first});
        });
  };
  CHECK(with_lengths(view_of(lengths)) == "");
  for (ss::tensor1<index_t const> other :
       {ss::tensor1<index_t const>{}, ss::tensor1<index_t const>(lengths.data(), 2, 0)})
    CHECK(with_lengths(other) ==
          forward + "query_lengths must be the same view as lengths where a call has states");
}

TEST_CASE("calls without a causal order of keys have no states") {
  auto const state_error = [](auto& call) {
    call.remove_w();
    auto const op = call.op();
    extents4 const e = op.state_extents(call.q_shape, call.v_shape);
    std::vector<float> state(static_cast<std::size_t>(e.size()));
    tensor4<float> const view(state.data(), e);
    std::string const message = error_message(
        op.forward(ss::exec::dry_run{call.exec}, call.in, call.y, call.scratch, {}, {{}, view}),
        [&] {
          op.forward(call.exec, call.in, call.y, call.scratch, {}, {{}, view});
        });
    std::string const size_message =
        error_message(op.template workspace_bytes<float>(ss::exec::dry_run{call.exec}, call.q_shape,
                                                         call.v_shape, {}, {}, true),
                      [&] {
                        (void)op.template workspace_bytes<float>(call.exec, call.q_shape,
                                                                 call.v_shape, {}, {}, true);
                      });
    std::string const prefix = "linear_attention.forward: ";
    CHECK(message.substr(prefix.size()) ==
          size_message.substr(std::string("linear_attention.workspace_bytes: ").size()));
    return message.substr(prefix.size());
  };
  linear_call<ss::feature::elu_plus_one> noncausal;
  CHECK(state_error(noncausal) ==
        "states must be left out unless the direction is causal: noncausal queries see the keys of "
        "all pieces");
  linear_call<ss::feature::cosine_reweighted, ss::divisor::sum_plus, ss::direction::causal> cosine;
  CHECK(state_error(cosine) ==
        "states must be left out for cosine_reweighted: its features depend on the length of the "
        "whole sequence");
}
