// SPDX-License-Identifier: Apache-2.0
// Every operator stores the same NaN for every NaN sum, on every backend and instruction set. The
// tests of each operator check that moved values keep their NaN.
//
// Other files test the sums of three operators: sparse_mix/special_values.cpp,
// linear_attention/properties.cpp and core/matmul.cpp. softmax_attention and pointwise_attention
// are exceptions, the bits of their NaN depend on the processor. argsort has no sums.
#define SLICESORT_TEST_EVERY_BACKEND
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/pattern_order.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

using namespace support;

// -ffast-math excludes NaN.
#if !defined(__FAST_MATH__)

namespace {

template <class T>
using accumulator = ss::detail::accumulator_t<T>;
constexpr ss::grad_mode modes[] = {ss::grad_mode::overwrite, ss::grad_mode::accumulate};

// Sums stored by a call.
template <class T>
struct call_sums {
  std::vector<T> elements;
  std::vector<accumulator<T>> weight_sums;

  void append(std::vector<T> const& values) {
    elements.insert(elements.end(), values.begin(), values.end());
  }
};

template <class T>
void check_sums(std::vector<T> const& sums) {
  std::size_t nans = 0, noncanonical = 0;
  for (T const& sum : sums) {
    nans += decode(sum).kind == number_class::nan;
    noncanonical += !same_bits(sum, with_canonical_nan(sum));
  }
  CHECK((nans > 0 || sums.empty()));
  CHECK(noncanonical == 0);
}
// Checks that `run(exec)` gives the same sums on every backend.
template <class Run>
void check_call(std::uint64_t selector, Run const& run) {
  auto const expected = run(ss::exec::host{1, ss::isa::portable});
  check_sums(expected.elements);
  check_sums(expected.weight_sums);
  auto const check = [&](any_exec const& exec) {
    auto const actual = run(exec);
    CAPTURE(describe_exec(exec));
    CHECK(same_bits(actual.elements, expected.elements));
    CHECK(same_bits(actual.weight_sums, expected.weight_sums));
  };
  for (std::uint64_t i = 0; i < 3; ++i) for_each_grid(selector + i, check);
  if (!testing(backend_kind::host)) return;
  for (ss::isa set : available_isas()) check(ss::exec::host{1, set});
  check(ss::exec::host{3});
}

// Returns ordinary numbers mixed with random NaN, infinities and zeros.
template <class T>
std::vector<T> mixed_specials(std::size_t size, std::uint64_t seed) {
  random_stream random(seed);
  std::vector<T> values(size);
  for (T& value : values)
    value = random.below(3) == 0 ? random_special<T>(random) : from_double<T>(random.normal());
  return values;
}
template <class T>
tensor<T> mixed_specials(extents3 e, std::uint64_t seed) {
  tensor<T> t(e);
  t.elements() = mixed_specials<T>(t.elements().size(), seed);
  return t;
}

// Checks `backward(exec, dy, dx)` of an operator that moves values and accumulates them into dx.
template <class T, class Backward>
void check_accumulation(extents3 e, Backward const& backward) {
  tensor<T> const dy = mixed_specials<T>(e, 1), initial_dx = mixed_specials<T>(e, 2);
  check_call(static_cast<std::uint64_t>(e.length), [&](any_exec const& exec) {
    tensor<T> dx = initial_dx, in_place = dy;
    backward(exec, std::as_const(dy).view(), dx.view());
    backward(exec, std::as_const(in_place).view(), in_place.view());
    call_sums<T> sums{dx.elements(), {}};
    sums.append(in_place.elements());
    return sums;
  });
}

constexpr ss::backward_options accumulate{ss::grad_mode::accumulate};

}  // namespace

TEST_CASE_TEMPLATE("slicing_sort", T, float, double, float16, bfloat16) {
  for (extents3 e : {extents3{2, 50, 37}, extents3{1, 3000, 3}}) {
    ss::slicing_sort<pattern_order> const op(pattern_order{irregular});
    check_accumulation<T>(e, [&](any_exec const& exec, auto dy, auto dx) {
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      tensor<T> y(e);
      tensor<std::uint16_t> perm(e);
      tensor<T> const x = mixed_specials<T>(e, 3);
      op.forward(exec, x.view(), y.view(), {perm.view()}, scratch.get());
      op.backward(exec, dy, {perm.view()}, dx, scratch.get(), accumulate);
    });
  }
}

TEST_CASE_TEMPLATE("permute", T, float, double, float16, bfloat16) {
  for (extents3 e : {extents3{2, 50, 37}, extents3{1, 3000, 3}}) {
    tensor<std::uint16_t> perm(e);
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      // A permutation, because 7 is coprime to the lengths.
      perm(b, n, c) = static_cast<std::uint16_t>((7 * n + b + c) % e.length);
    });
    ss::permute const op;
    check_accumulation<T>(e, [&](any_exec const& exec, auto dy, auto dx) {
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      op.backward(exec, dy, {perm.view()}, dx, scratch.get(), accumulate);
    });
  }
}

TEST_CASE_TEMPLATE("shuffle", T, float, double, float16, bfloat16) {
  for (extents3 e : {extents3{2, 50, 37}, extents3{1, 3000, 3}}) {
    auto const check = [&](auto const& op) {
      check_accumulation<T>(e, [&](any_exec const& exec, auto dy, auto dx) {
        guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
        op.backward(exec, dy, dx, scratch.get(), accumulate);
      });
    };
    check(ss::shuffle<ss::shared_by_channels>(5));
    check(ss::shuffle<ss::per_channel>(5));
  }
}

TEST_CASE_TEMPLATE("max_exchange", T, float, double, float16, bfloat16) {
  extents3 const e{2, 50, 37};
  tensor<std::uint16_t> maximum({2, 1, 37});
  random_stream random(1);
  for (std::uint16_t& row : maximum.elements()) row = static_cast<std::uint16_t>(random.below(50));
  check_accumulation<T>(e, [&](any_exec const& exec, auto dy, auto dx) {
    ss::max_exchange(3).backward(exec, dy, {std::as_const(maximum).view()}, dx, {}, accumulate);
  });
}

TEST_CASE_TEMPLATE("top_k", T, float, double, float16, bfloat16) {
  for (index_t k : {9, 40}) {
    extents3 const e{2, 50, 37}, selected{2, k, 37};
    ss::top_k<pattern_order> const op(k, ss::top_k_output::sorted, ss::nan_order::total,
                                      pattern_order{irregular});
    tensor<T> const x = mixed_specials<T>(e, 3), dy = mixed_specials<T>(selected, 1),
                    initial_dx = mixed_specials<T>(e, 2);
    check_call(static_cast<std::uint64_t>(k), [&](any_exec const& exec) {
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      tensor<T> values(selected), dx = initial_dx;
      tensor<std::uint16_t> indices(selected);
      op.forward(exec, x.view(), values.view(), {indices.view()}, scratch.get());
      op.backward(exec, dy.view(), {indices.view()}, dx.view(), {}, ss::grad_mode::accumulate);
      call_sums<T> sums;
      for_each_position(selected, [&](index_t b, index_t n, index_t c) {
        // Other rows are not changed.
        sums.elements.push_back(dx(b, static_cast<index_t>(indices(b, n, c)), c));
      });
      return sums;
    });
  }
}

namespace {

// `x` must contain no NaN if forward moves it.
template <class T, class Op>
void check_soft_operator(Op const& op, tensor<T> const& x) {
  extents3 const e = x.extents();
  tensor<T> const dy = mixed_specials<T>(e, 5), initial_dx = mixed_specials<T>(e, 6);
  check_call(12, [&](any_exec const& exec) {
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
    tensor<T> y(e), dx = initial_dx;
    tensor<std::uint16_t> perm(e), pools(e);
    op.forward(exec, x.view(), y.view(), {perm.view(), pools.view()}, scratch.get());
    op.backward(exec, dy.view(), x.view(), {perm.view(), pools.view()}, dx.view(), scratch.get(),
                accumulate);
    call_sums<T> sums{y.elements(), {}};
    sums.append(dx.elements());
    return sums;
  });
}

}  // namespace

TEST_CASE_TEMPLATE("soft_sort and soft_rank", T, float, double, float16, bfloat16) {
  extents3 const e{2, 50, 37};
  tensor<T> const specials = mixed_specials<T>(e, 3);
  tensor<T> infinities = specials;
  for (T& value : infinities.elements())
    if (decode(value).kind == number_class::nan) value = from_double<T>(0.5);
  pattern_order const order{irregular};
  auto const check = [&](auto regularization) {
    check_soft_operator(ss::soft_sort(0.5, regularization, order), infinities);
    check_soft_operator(ss::soft_rank(0.5, regularization, order), specials);
  };
  check(ss::regularization::l2{});
  check(ss::regularization::entropic{});
}

TEST_CASE_TEMPLATE("csp", T, float, double, float16, bfloat16) {
  extents3 const e{2, 700, 37};
  auto const check = [&](auto const& op) {
    check_accumulation<T>(e, [&](any_exec const& exec, auto dy, auto dx) {
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      std::vector<std::uint16_t> order(static_cast<std::size_t>(e.size()));
      auto const saved = [&]() -> ss::index_tensor3 {
        if (op.saved_width(e) == ss::index_width::bits16)
          return tensor3<std::uint16_t>(order.data(), op.saved_extents(e));
        return tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(order.data()),
                                     op.saved_extents(e));
      }();
      tensor<T> y(e);
      tensor<T> const x = mixed_specials<T>(e, 3);
      op.forward(exec, x.view(), y.view(), {saved}, scratch.get());
      op.backward(exec, dy, {saved}, dx, scratch.get(), accumulate);
    });
  };
  pattern_order const order{irregular};
  check(ss::csp{ss::group_size{2}, ss::shift::none{}, order});
  check(ss::csp{ss::group_size{2}, ss::shift::linear{}, order});
  check(ss::csp{ss::group_size{24}, ss::shift::linear{}, ss::reference{1}});
  check(ss::csp{ss::group_size{300}, ss::shift::linear{}, order});
}

TEST_CASE_TEMPLATE("multi_permutation", T, float, double, float16, bfloat16) {
  using A = accumulator<T>;
  index_t constexpr component_count = 3;
  ss::multi_permutation<pattern_order> const op(component_count, pattern_order{irregular});
  std::vector<A> const weights = {A(0.7), A(-1.3), A(0)};  // 0 times infinity is a NaN
  for (extents3 e : {extents3{2, 50, 37}, extents3{1, 3000, 3}})
    for (ss::grad_mode mode : modes)
      for (bool uniform : {false, true}) {
        tensor<T> const x = mixed_specials<T>(e, 4), dy = mixed_specials<T>(e, 5),
                        initial_dx = mixed_specials<T>(e, 6);
        check_call(static_cast<std::uint64_t>(e.length) + uniform, [&](any_exec const& exec) {
          guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
          tensor<T> y(e), dx = initial_dx, dx_alone = initial_dx;
          tensor<std::uint16_t> perm(e);
          std::vector<A> dweights = mixed_specials<A>(component_count, 7);
          ss::tensor1<A> const dweights_view(dweights.data(), component_count);
          auto const call = [&](auto w) {
            op.forward(exec, x.view(), w, y.view(), {perm.view()}, scratch.get());
            op.backward(exec, dy.view(), x.view(), w, {perm.view()}, dx.view(), dweights_view,
                        scratch.get(), mode);
            op.backward(exec, dy.view(), w, {perm.view()}, dx_alone.view(), scratch.get(), mode);
          };
          if (uniform)
            call(ss::uniform_weights);
          else
            call(ss::tensor1<A const>(weights.data(), component_count));
          call_sums<T> sums{y.elements(), dweights};
          sums.append(dx.elements());
          sums.append(dx_alone.elements());
          return sums;
        });
      }
}

TEST_CASE_TEMPLATE("short_convolution", T, float, double, float16, bfloat16) {
  ss::short_convolution const op(4, 1);
  for (extents3 e : {extents3{2, 50, 37}, extents3{1, 1100, 3}})
    for (ss::grad_mode mode : modes) {
      extents3 const f{1, 4, e.channels};
      tensor<T> const x = mixed_specials<T>(e, 4), dy = mixed_specials<T>(e, 5),
                      weights = mixed_specials<T>(f, 3), before = mixed_specials<T>(e, 6),
                      weights_before = mixed_specials<T>(f, 7);
      check_call(static_cast<std::uint64_t>(e.length), [&](any_exec const& exec) {
        guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
        tensor<T> y(e), dx = before, dweights = weights_before;
        op.forward(exec, x.view(), weights.view(), y.view(), scratch.get());
        op.backward(exec, dy.view(), x.view(), weights.view(), dx.view(), dweights.view(),
                    scratch.get(), mode);
        call_sums<T> sums{y.elements(), {}};
        sums.append(dx.elements());
        sums.append(dweights.elements());
        return sums;
      });
    }
}

TEST_CASE_TEMPLATE("sinkhorn", T, float, double, float16, bfloat16) {
  for (extents3 e : {extents3{9, 4, 4}, extents3{3, 50, 37}})
    for (ss::half_steps steps : {ss::half_steps{1, ss::side::rows}, ss::half_steps{4}})
      for (ss::grad_mode mode : modes) {
        ss::sinkhorn const op{0.5, steps};
        tensor<T> logits(e), dy(e);
        tensor<T> const initial_dlogits = mixed_specials<T>(e, 8);
        // A NaN and an infinity propagate in their matrices, after one half-step in their rows.
        for_each_position(e, [&](index_t b, index_t i, index_t j) {
          logits(b, i, j) = dy(b, i, j) =
              from_double<T>(0.25 * static_cast<double>((3 * i + j) % 8));
        });
        random_stream random(1);
        logits(0, 1, 2) = random_nan<T>(random);
        logits(1, 2, 0) = from_double<T>(std::numeric_limits<double>::infinity());
        dy(2, 3, 1) = random_nan<T>(random);
        check_call(static_cast<std::uint64_t>(e.length), [&](any_exec const& exec) {
          guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
          tensor<T> y(e), dlogits = initial_dlogits;
          op.forward(exec, std::as_const(logits).view(), y.view(), scratch.get());
          op.backward(exec, std::as_const(dy).view(), std::as_const(logits).view(), dlogits.view(),
                      scratch.get(), mode);
          call_sums<T> sums{y.elements(), {}};
          sums.append(dlogits.elements());
          return sums;
        });
      }
}

TEST_CASE_TEMPLATE("decaying_sum", T, float, double, float16, bfloat16) {
  for (auto numbers : {ss::decay_numbers::real, ss::decay_numbers::complex})
    for (ss::grad_mode mode : modes) {
      ss::decaying_sum const op(2, numbers, ss::decay_direction::both);
      extents3 const e{2, 50, 37}, n{1, op.numbers(), e.channels};
      tensor<T> const x = mixed_specials<T>(e, 4), dy = mixed_specials<T>(e, 5),
                      a = mixed_specials<T>(n, 3), w = mixed_specials<T>(n, 8),
                      before = mixed_specials<T>(e, 6), numbers_before = mixed_specials<T>(n, 7);
      ss::extents4 const shape{1, n.length, 1, n.channels};
      check_call(static_cast<std::uint64_t>(mode), [&](any_exec const& exec) {
        guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
        tensor<T> y(e), dx = before, da = numbers_before, dw = numbers_before;
        ss::decay_inputs<T> const in{{a.view().data(), shape}, {w.view().data(), shape}};
        op.forward(exec, x.view(), in, y.view(), {}, scratch.get());
        op.backward(exec, dy.view(), x.view(), in,
                    {dx.view(), {da.view().data(), shape}, {dw.view().data(), shape}}, {},
                    scratch.get(), mode);
        call_sums<T> sums{y.elements(), {}};
        for (auto const* gradient : {&dx, &da, &dw}) sums.append(gradient->elements());
        return sums;
      });
    }
}

TEST_CASE_TEMPLATE("sinkhorn_csp", T, float, double) {
  extents3 const e{2, 40, 21};
  constexpr index_t reference = 1;
  ss::sinkhorn_csp const op{ss::group_size{8}, ss::sinkhorn{0.5, 2}, ss::shift::linear{},
                            ss::reference{reference}};
  tensor<T> x = mixed_specials<T>(e, 8), dy = mixed_specials<T>(e, 9);
  tensor<T> const initial_dx = mixed_specials<T>(e, 10);
  // A NaN propagates in its group, and from the reference channel to all channels.
  for_each_position(e, [&](index_t b, index_t n, index_t c) {
    if (b == 0 || c == reference)
      x(b, n, c) = dy(b, n, c) = from_double<T>(0.01 * static_cast<double>(n + c));
  });
  random_stream random(1);
  x(1, 3, reference) = random_nan<T>(random);
  dy(0, 30, 5) = random_nan<T>(random);
  for (ss::grad_mode mode : modes)
    check_call(11, [&](any_exec const& exec) {
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      tensor<T> y(e), dx = initial_dx;
      op.forward(exec, std::as_const(x).view(), y.view(), scratch.get());
      op.backward(exec, std::as_const(dy).view(), std::as_const(x).view(), dx.view(), scratch.get(),
                  mode);
      call_sums<T> sums{dx.elements(), {}};
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        if (c != reference)
          sums.elements.push_back(y(b, n, c));  // the reference channel is only moved
      });
      return sums;
    });
}

TEST_CASE_TEMPLATE("merge_attention", T, float, double, float16, bfloat16) {
  using A = accumulator<T>;
  ss::extents4 const e{2, 2, 50, 37}, numbers{2, 2, 50, 2};
  auto const elements = static_cast<std::size_t>(e.size()),
             statistics = static_cast<std::size_t>(numbers.size());
  std::vector<T> const values[] = {mixed_specials<T>(elements, 1), mixed_specials<T>(elements, 2)};
  std::vector<A> states[] = {mixed_specials<A>(statistics, 3), mixed_specials<A>(statistics, 4)};
  for (std::vector<A>& state : states)  // half of the rows have an ordinary state
    for (std::size_t i = 0; i < statistics; i += 4) state[i] = A(0.25), state[i + 1] = A(2);
  check_call(13, [&](any_exec const& exec) {
    std::vector<T> y(elements);
    std::vector<A> state(statistics);
    auto const part = [&](std::size_t i) {
      return ss::attention_part<T>{{values[i].data(), e}, {states[i].data(), numbers}};
    };
    ss::merge_attention{}.forward(exec, {part(0), part(1)}, ss::tensor4<T>(y.data(), e),
                                  {ss::tensor4<A>(state.data(), numbers)});
    return call_sums<T>{y, state};
  });
}

#endif
