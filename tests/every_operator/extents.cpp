// SPDX-License-Identifier: Apache-2.0
// Extents of 0, 1 and far beyond any memory, in all combinations: constructors of views, sizes of
// workspaces and calls return or reject immediately, without signed overflow (which
// UndefinedBehaviorSanitizer reports). So do sizes for such parameters. Inputs repeat one element
// with strides of 0, or are null; outputs are null, so calls are rejected or write nothing.
#define SLICESORT_TEST_EVERY_BACKEND
#include "huge_extents.hpp"
#include "linked_operators.hpp"
#include "support/backends.hpp"
#include "support/error_message.hpp"
#include "support/pattern_mask.hpp"
#include "support/pattern_order.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace support;

namespace {

template <class Op, class... Calls>
void add_calls(outcome_counts& outcomes, Op const& op, Calls const&... calls) {
  for_each_backend_and_memory([&](any_exec const& exec, repeated_input const& x) {
    for_each_shape([&](extents3 e) {
      auto const size = [&] { return op.template workspace_bytes<float>(exec, e); };
      (outcomes.add(size, [&](ss::workspace scratch) { calls(exec, x, e, scratch); }), ...);
    });
  });
}
template <class Op, class... Calls>
void check_calls(Op const& op, Calls const&... calls) {
  outcome_counts outcomes;
  add_calls(outcomes, op, calls...);
  outcomes.check();
}

}  // namespace

TEST_CASE("views") {
  std::vector<float> element(1);
  std::size_t fitting_views = 0;
  for_each_shape([&](extents3 e) {
    ss::tensor3<float> const tensor(element.data(), e);
    ss::tensor_stack<float> const stack = tensor;
    CHECK(stack[0].extents() == e);
    bool const fits = e == extents3{1, 1, 1};
    CHECK(error_message([&] { (void)ss::view(element, e); }).empty() == fits);
    fitting_views += fits;
    for (index_t size : sizes) {
      for (ss::strides3 const s : {tensor.strides(), ss::strides3{size, size, size}})
        CHECK(ss::split_heads(ss::tensor3<float>(element.data(), e, s), size).extents().heads ==
              size);
      extents4 const four{size, e.batch, e.length, e.channels};
      CHECK(ss::tensor4<float>(element.data(), four).extents() == four);
      CHECK(error_message([&] { (void)ss::view(element, four); }).empty() == (fits && size == 1));
      stack_extents const several{size, e.batch, e.length, e.channels};
      CHECK(ss::tensor_stack<float>(element.data(), several).extents() == several);
      CHECK(error_message([&] { (void)ss::view(element, several); }).empty() ==
            (fits && size == 1));
      CHECK(ss::tensor1<float>(element.data(), e.batch, size).stride() == size);
    }
  });
  CHECK(fitting_views == 1);
}

TEST_CASE("operators on one tensor") {
  ss::slicing_sort<pattern_order> const sort;
  check_calls(
      sort,
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        sort.forward(exec, x.view<float>(e), null_output(e), {null_index_output(e)}, scratch,
                     options(x, e));
      },
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        sort.backward(exec, x.view<float>(e), {x.view<std::uint32_t>(e)}, null_output(e), scratch,
                      options(x, e));
      });
  ss::argsort<pattern_order> const argsort;
  check_calls(
      argsort, [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        argsort.forward(exec, x.view<float>(e), null_index_output(e), scratch, options(x, e));
      });
  ss::multi_permutation<pattern_order> const powers(3);
  check_calls(
      powers,
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        powers.forward(exec, x.view<float>(e), ss::uniform_weights, null_output(e),
                       {null_index_output(e)}, scratch, options(x, e));
      },
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        powers.backward(exec, x.view<float>(e), ss::uniform_weights, {x.view<std::uint32_t>(e)},
                        null_output(e), scratch, options(x, e));
      });
  ss::permute const permute;
  check_calls(
      permute,
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        permute.forward(exec, x.view<float>(e), {x.view<std::uint32_t>(e)}, null_output(e), scratch,
                        options(x, e));
      },
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        permute.backward(exec, x.view<float>(e), {x.view<std::uint32_t>(e)}, null_output(e),
                         scratch, options(x, e));
      });
  ss::max_exchange const exchange;
  check_calls(
      exchange,
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        exchange.forward(exec, x.view<float>(e), null_output(e),
                         {null_index_output({e.batch, 1, e.channels})}, scratch, options(x, e));
      },
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        exchange.backward(exec, x.view<float>(e), {x.view<std::uint32_t>({e.batch, 1, e.channels})},
                          null_output(e), scratch, options(x, e));
      });
  auto const check_shuffle = [](auto const& shuffle) {
    check_calls(
        shuffle,
        [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
          shuffle.forward(exec, x.view<float>(e), null_output(e), scratch, options(x, e));
        },
        [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
          shuffle.backward(exec, x.view<float>(e), null_output(e), scratch, options(x, e));
        });
  };
  check_shuffle(ss::shuffle<ss::shared_by_channels>(5));
  check_shuffle(ss::shuffle<ss::per_channel>(5));
  ss::short_convolution const convolution(3, 1);
  auto const filter_extents = [](extents3 e) { return extents3{1, 3, e.channels}; };
  check_calls(
      convolution,
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        convolution.forward(exec, x.view<float>(e), x.view<float>(filter_extents(e)),
                            null_output(e), scratch, options(x, e));
      },
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        convolution.backward(exec, x.view<float>(e), x.view<float>(e),
                             x.view<float>(filter_extents(e)), null_output(e),
                             null_output(filter_extents(e)), scratch, options(x, e));
      });
  ss::sinkhorn const normalization{0.5, 3};
  auto const row_and_column_lengths = [](repeated_input x, extents3 e) {
    return ss::row_and_column_lengths(x.lengths(e.batch), x.lengths(e.batch));
  };
  check_calls(
      normalization,
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        normalization.forward(exec, x.view<float>(e), null_output(e), scratch,
                              row_and_column_lengths(x, e));
      },
      [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
        normalization.backward(exec, x.view<float>(e), x.view<float>(e), null_output(e), scratch,
                               row_and_column_lengths(x, e));
      });
}

TEST_CASE("top_k") {
  outcome_counts outcomes;
  for (index_t k : sizes)
    for (auto output : {ss::top_k_output::sorted, ss::top_k_output::by_index}) {
      ss::top_k<pattern_order> const op(k, output);
      auto const selected = [=](extents3 e) { return extents3{e.batch, k, e.channels}; };
      add_calls(
          outcomes, op,
          [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
            op.forward(exec, x.view<float>(e), null_output(selected(e)),
                       {null_index_output(selected(e))}, scratch, options(x, e));
          },
          [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
            op.backward(exec, x.view<float>(selected(e)), {x.view<std::uint32_t>(selected(e))},
                        null_output(e), scratch);
          });
    }
  outcomes.check();
}

TEST_CASE("soft_sort and soft_rank") {
  auto const check = [](auto const& op) {
    check_calls(
        op,
        [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
          op.forward(exec, x.view<float>(e), null_output(e),
                     {null_index_output(e), null_index_output(e)}, scratch, options(x, e));
        },
        [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
          op.backward(exec, x.view<float>(e), x.view<float>(e),
                      {x.view<std::uint32_t>(e), x.view<std::uint32_t>(e)}, null_output(e), scratch,
                      options(x, e));
        });
  };
  check(ss::soft_sort<ss::regularization::l2, pattern_order>());
  check(ss::soft_rank<ss::regularization::entropic, pattern_order>());
}

TEST_CASE("decaying_sum") {
  for (auto direction : {ss::decay_direction::forward, ss::decay_direction::both})
    for (bool per_row : {false, true}) {
      ss::decaying_sum const op(3, ss::decay_numbers::complex, direction);
      bool const has_states = direction == ss::decay_direction::forward;
      auto const numbers = [=](extents3 e) { return extents4{1, op.numbers(), 1, e.channels}; };
      auto const decays = [=](extents3 e) {
        return per_row ? extents4{e.batch, op.numbers(), e.length, e.channels} : numbers(e);
      };
      auto const states = [=](extents3 e) {
        return extents4{e.batch, op.numbers(), 1, e.channels};
      };
      check_calls(
          op,
          [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
            ss::decay_states<float> pieces;
            if (has_states) pieces = {x.view<float>(states(e)), null_output(states(e))};
            op.forward(exec, x.view<float>(e),
                       {x.view<float>(decays(e)), x.view<float>(numbers(e))}, null_output(e),
                       pieces, scratch, options(x, e));
          },
          [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
            ss::decay_state_gradients<float> pieces;
            if (has_states)
              pieces = {x.view<float>(states(e)), x.view<float>(states(e)), null_output(states(e))};
            op.backward(exec, x.view<float>(e), x.view<float>(e),
                        {x.view<float>(decays(e)), x.view<float>(numbers(e))},
                        {null_output(e), null_output(decays(e)), null_output(numbers(e))}, pieces,
                        scratch, options(x, e));
          });
    }
}

TEST_CASE("csp and sinkhorn_csp") {
  auto const check_csp = [](auto const& csp) {
    check_calls(
        csp,
        [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
          ss::tensor3<std::uint8_t> const order(nullptr, csp.saved_extents(e));
          csp.forward(exec, x.view<float>(e), null_output(e), {order}, scratch, options(x, e));
        },
        [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
          csp.backward(exec, x.view<float>(e), {x.view<std::uint8_t>(csp.saved_extents(e))},
                       null_output(e), scratch, options(x, e));
        });
  };
  for (index_t group : {index_t{1}, index_t{2}, index_t{3}, index_t{1} << 62}) {
    check_csp(ss::csp{ss::group_size{group}});
    check_csp(ss::csp{ss::group_count{group}, ss::shift::none{}, pattern_order{}});
    ss::sinkhorn_csp const relaxed{ss::group_size{group}, ss::sinkhorn{0.5, 3}};
    check_calls(
        relaxed,
        [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
          relaxed.forward(exec, x.view<float>(e), null_output(e), scratch, options(x, e));
        },
        [&](any_exec const& exec, repeated_input x, extents3 e, ss::workspace scratch) {
          relaxed.backward(exec, x.view<float>(e), x.view<float>(e), null_output(e), scratch,
                           options(x, e));
        });
  }
}

TEST_CASE("sparse_mix") {
  outcome_counts outcomes;
  auto const check = [&](auto const& op, index_t factors, index_t links) {
    for_each_backend_and_memory([&](any_exec const& exec, repeated_input const& x) {
      for_each_shape([&](extents3 e) {
        stack_extents const w{factors, e.batch, e.length, links}, states = op.saved_extents(e, w);
        auto const size = [&] { return op.template workspace_bytes<float>(exec, e, w); };
        outcomes.add(size, [&](ss::workspace scratch) {
          op.forward(exec, x.view<float>(e), x.view<float>(w), null_output(e),
                     {null_output(states)}, scratch);
        });
        outcomes.add(size, [&](ss::workspace scratch) {
          op.backward(exec, x.view<float>(e), x.view<float>(w), null_output(e), scratch);
        });
        outcomes.add(size, [&](ss::workspace scratch) {
          op.backward(exec, x.view<float>(e), x.view<float>(e), x.view<float>(w),
                      {x.view<float>(states)}, null_output(e), null_output(w), scratch);
        });
      });
    });
  };
  for (index_t factors : sizes)
    for (index_t links : sizes) {
      check(ss::sparse_mix<ss::topology::chord>{ss::topology::chord{links}}, factors, links);
      check(ss::sparse_mix<ss::topology::cdil>{ss::topology::cdil{links}, ss::recompute}, factors,
            1);
    }
  outcomes.check();
}

namespace {

// Calls f(q, v) for shapes of attention: every fifth of the 6^6 combinations. Since 5 and 6 are
// coprime, any five of the six extents have all combinations. No size depends on all six.
template <class F>
void for_each_pair_of_shapes(F const& f) {
  int combination = 0;
  for_each_shape([&](extents3 q) {
    for (index_t heads : sizes)
      for (index_t keys : sizes)
        for (index_t values : sizes)
          if (combination++ % 5 == 0 || full_suite())
            f(extents4{q.batch, heads, q.length, q.channels},
              extents4{q.batch, heads, keys, values});
  });
}
extents4 key_extents(extents4 q, extents4 v) { return {q.batch, q.heads, v.length, q.channels}; }
extents4 output_extents(extents4 q, extents4 v) { return {q.batch, q.heads, q.length, v.channels}; }

template <class Op>
void check_softmax(Op const& op) {
  outcome_counts outcomes;
  for_each_backend_and_memory([&](any_exec const& exec, repeated_input const& x) {
    for_each_pair_of_shapes([&](extents4 q, extents4 v) {
      extents4 const k = key_extents(q, v), y = output_extents(q, v),
                     state = op.saved_extents(q, v);
      ss::attention_inputs<float> const inputs{
          x.view<float>(q), x.view<float>(k), x.view<float>(v), {}};
      auto const size = [&] { return op.template workspace_bytes<float>(exec, q, v); };
      outcomes.add(size, [&](ss::workspace scratch) {
        op.forward(exec, inputs, null_output(y), {null_output(state)}, scratch);
      });
      outcomes.add(size, [&](ss::workspace scratch) {
        op.forward(exec, inputs, null_output(y), ss::no_saved, scratch);
      });
      auto const backward = [&](ss::attention_gradients<float> const& grads) {
        outcomes.add(size, [&](ss::workspace scratch) {
          op.backward(exec, x.view<float>(y), inputs, x.view<float>(y), {x.view<float>(state)},
                      grads, scratch);
        });
      };
      backward({null_output(q), null_output(k), null_output(v)});
      backward({null_output(q), {}, {}});
      backward({{}, null_output(k), {}});
    });
  });
  outcomes.check();
}

template <template <class> class Inputs, template <class> class Gradients, class Op>
void check_without_state(Op const& op) {
  outcome_counts outcomes;
  for_each_backend_and_memory([&](any_exec const& exec, repeated_input const& x) {
    for_each_pair_of_shapes([&](extents4 q, extents4 v) {
      extents4 const k = key_extents(q, v), y = output_extents(q, v);
      Inputs<float> const inputs{x.view<float>(q), x.view<float>(k), x.view<float>(v), {}};
      auto const size = [&] { return op.template workspace_bytes<float>(exec, q, v); };
      outcomes.add(
          size, [&](ss::workspace scratch) { op.forward(exec, inputs, null_output(y), scratch); });
      auto const backward = [&](Gradients<float> const& grads) {
        outcomes.add(size, [&](ss::workspace scratch) {
          op.backward(exec, x.view<float>(y), inputs, grads, scratch);
        });
      };
      backward({null_output(q), null_output(k), null_output(v)});
      backward({{}, {}, null_output(v)});
    });
  });
  outcomes.check();
}

}  // namespace

TEST_CASE("softmax_attention") {
  check_softmax(ss::softmax_attention<pattern_mask>{});
  check_softmax(ss::softmax_attention<pattern_mask, ss::materialized<>>{});
}
TEST_CASE("pointwise_attention") {
  check_without_state<ss::attention_inputs, ss::attention_gradients>(
      ss::pointwise_attention<pattern_mask>{});
}
TEST_CASE("linear_attention") {
  auto const check_linear = [](auto const& op) {
    check_without_state<ss::linear_attention_inputs, ss::linear_attention_gradients>(op);
  };
  check_linear(ss::linear_attention<>{});
  check_linear(ss::linear_attention<ss::feature::cosine_reweighted>{});
  check_linear(
      ss::linear_attention{ss::feature::relu{}, ss::divisor::none{}, ss::direction::causal{}});
}
TEST_CASE_TEMPLATE("linear_attention with random features", Feature, ss::feature::random_exp,
                   ss::feature::random_fourier) {
  ss::linear_attention<Feature> const op;
  outcome_counts outcomes;
  for_each_backend_and_memory([&](any_exec const& exec, repeated_input const& x) {
    for_each_shape([&](extents3 w) {
      for (index_t length : sizes)
        for (index_t values : sizes) {
          extents4 const q{1, w.batch, length, w.channels}, v{1, w.batch, length, values};
          ss::linear_attention_inputs<float> const inputs{x.view<float>(q), x.view<float>(q),
                                                          x.view<float>(v), x.view<float>(w)};
          auto const size = [&] { return op.template workspace_bytes<float>(exec, q, v, w, w); };
          outcomes.add(size, [&](ss::workspace scratch) {
            op.forward(exec, inputs, null_output(v), scratch);
          });
          outcomes.add(size, [&](ss::workspace scratch) {
            op.backward(exec, x.view<float>(v), inputs,
                        {null_output(q), null_output(q), null_output(v), null_output(w)}, scratch);
          });
        }
    });
  });
  outcomes.check();
}

TEST_CASE("merge_attention") {
  ss::merge_attention const op;
  outcome_counts outcomes;
  for_each_backend_and_memory([&](any_exec const& exec, repeated_input const& x) {
    for_each_shape([&](extents3 e) {
      for (index_t heads : sizes) {
        extents4 const y{e.batch, heads, e.length, e.channels}, state{e.batch, heads, e.length, 2};
        ss::attention_part<float> const part{x.view<float>(y), x.view<float>(state)};
        outcomes.add(
            [&] { return op.workspace_bytes<float>(exec, y); },
            [&](ss::workspace scratch) {
              op.forward(exec, {part, part}, null_output(y), {null_output(state)}, scratch);
            });
      }
    });
  });
  outcomes.check();
}

TEST_CASE("parameters") {
  using limits = std::numeric_limits<index_t>;
  ss::exec::host const host;
  ss::exec::dry_run const exec{host};
  extents3 const e{2, 8, 4};
  auto const is_accepted = [&](auto const& op) {
    return static_cast<bool>(op.template workspace_bytes<float>(exec, e));
  };
  for (index_t n : {limits::min(), limits::min() + 1, index_t{-1}, limits::max() / 2 + 1,
                    limits::max() - 1, limits::max()}) {
    CAPTURE(n);
    for (auto direction : {ss::decay_direction::reverse, ss::decay_direction::both})
      for (auto numbers : {ss::decay_numbers::real, ss::decay_numbers::complex})
        CHECK_FALSE(is_accepted(ss::decaying_sum(n, numbers, direction)));
    CHECK_FALSE(is_accepted(ss::short_convolution(n, n)));
    CHECK_FALSE(is_accepted(ss::short_convolution(3, n)));
    CHECK_FALSE(is_accepted(ss::short_convolution::causal(n)));
    CHECK_FALSE(is_accepted(ss::short_convolution::centered(n)));
    CHECK_FALSE(is_accepted(ss::top_k<>(n)));
    CHECK_FALSE(is_accepted(ss::sinkhorn(1.0, n)));
    CHECK_FALSE(is_accepted(ss::sinkhorn(1.0, ss::half_steps{n})));
    CHECK_FALSE(is_accepted(ss::sinkhorn_csp(ss::group_size{2}, ss::sinkhorn(1.0, n))));
    CHECK_FALSE(is_accepted(ss::csp(ss::group_size{2}, ss::reference{n})));
    // Groups and components may be more than the rows.
    CHECK(is_accepted(ss::csp(ss::group_size{n})) == (n > 0));
    CHECK(is_accepted(ss::csp(ss::group_count{n})) == (n > 0));
    CHECK(is_accepted(ss::multi_permutation<>(n)) == (n > 0));
  }
}
