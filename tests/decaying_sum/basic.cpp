// SPDX-License-Identifier: Apache-2.0
// decaying_sum: golden values, the bits of the documented order for every layout, and errors.
#define SLICESORT_TEST_EVERY_BACKEND
#include "problem.hpp"
#include "support/error_message.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;
using direction = ss::decay_direction;

namespace {

// Order of the axes of a call's tensors, slowest first, and gaps between them.
struct call_layout {
  std::array<int, 3> rows{0, 1, 2};
  std::array<int, 4> numbers{0, 1, 2, 3};
  index_t padding = 0;
};

// Runs forward and backward, and compares with the results of the problem.
template <class T>
void check(decay_problem<T> const& p, any_exec const& exec, call_layout const& layout = {}) {
  CAPTURE(describe_exec(exec));
  using A = typename decay_problem<T>::A;
  extents3 const e = p.x.extents();
  strides3 const rows = strides_in_order(e, layout.rows, layout.padding);
  auto const heads = [&](auto const& t) {
    using E = typename std::decay_t<decltype(t.elements)>::value_type;
    return strided_heads<E>(t.extents, t.elements,
                            strides_in_order(t.extents, layout.numbers, layout.padding));
  };
  auto const view_of_state = [](auto const& t) { return tensor4<A const>(t.view()); };
  strided_tensor<T> const x(p.x, rows, 1), dy(p.dy, rows, 2);
  auto const a = heads(p.a), w = heads(p.w);
  auto const initial = heads(p.initial), dlast = heads(p.dlast);
  bool const adds = p.mode == ss::grad_mode::accumulate;
  strided_tensor<T> y(e, rows, 3), dx(e, rows, 1);
  if (adds) dx = strided_tensor<T>(p.old_dx, rows, 1);
  auto da = heads(adds ? p.old_da : p.a), dw = heads(adds ? p.old_dw : p.w);
  auto last = heads(p.initial), dinitial = heads(p.dlast);
  ss::decaying_sum const op = p.op();
  guarded_workspace memory(op.workspace_bytes(exec, x.view()));
  ss::decay_inputs<T> const in{a.view(), w.view()};
  op.forward(exec, x.view(), in, y.view(), {view_of_state(initial), last.view()}, memory.get(),
             {view_of(p.lengths)});
  op.backward(exec, dy.view(), x.view(), in, {dx.view(), da.view(), dw.view()},
              {view_of_state(initial), view_of_state(dlast), dinitial.view()}, memory.get(),
              {p.mode, view_of(p.lengths)});
  CHECK(same_bits(y.contents().elements(), p.y.elements()));
  CHECK(same_bits(last.contents(), p.last.elements));
  CHECK(same_bits(dx.contents().elements(), p.dx.elements()));
  CHECK(same_bits(da.contents(), p.da.elements));
  CHECK(same_bits(dw.contents(), p.dw.elements));
  CHECK(same_bits(dinitial.contents(), p.dinitial.elements));
  CHECK((y.padding_intact() && dx.padding_intact() && da.padding_intact()));
  CHECK((dw.padding_intact() && last.padding_intact() && dinitial.padding_intact()));
  CHECK(memory.red_zones_intact());
}

std::vector<decay_variant> variants() {
  std::vector<decay_variant> list;
  for (bool is_complex : {false, true})
    for (bool per_row : {false, true})
      for (direction d : {direction::forward, direction::reverse, direction::both})
        for (index_t states : {1, 3}) list.push_back({states, is_complex, d, per_row});
  return list;
}

}  // namespace

TEST_CASE_TEMPLATE("golden values", T, float, double) {
  tensor<T> x({1, 4, 1}), dy({1, 4, 1}), y({1, 4, 1}), dx({1, 4, 1});
  x.elements() = elements_of<T>({1, 0, 2, -1});
  dy.elements() = elements_of<T>({1, -1, 0, 2});
  auto const close = [](std::vector<T> const& actual, std::vector<double> const& expected) {
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      CHECK(std::fabs(static_cast<double>(actual[i]) - expected[i]) <
            (sizeof(T) == 4 ? 1e-6 : 1e-14));
  };
  auto const run = [&](decay_variant variant, std::vector<double> const& a_values,
                       std::vector<double> const& w_values, auto const& check_results) {
    number_tensor<T> a({1, variant.op().numbers(), 1, 1}), w(a), da(a), dw(a);
    a.elements = elements_of<T>(a_values), w.elements = elements_of<T>(w_values);
    da = dw = a;
    for_each_backend_once(sizeof(T), [&](any_exec const& exec) {
      guarded_workspace memory(variant.op().workspace_bytes(exec, x.view()));
      ss::decay_inputs<T> const in{std::as_const(a).view(), std::as_const(w).view()};
      variant.op().forward(exec, x.view(), in, y.view(), {}, memory.get());
      variant.op().backward(exec, dy.view(), x.view(), in, {dx.view(), da.view(), dw.view()}, {},
                            memory.get());
      check_results(da.elements, dw.elements);
    });
  };
  run({2}, {.5, .9}, {1, -.5}, [&](auto const& da, auto const& dw) {
    close(y.elements(), {.5, .05, .845, -.6395});
    close(dx.elements(), {-.029, -.81, .1, 1});
    close(da, {4.5, -3.93});
    close(dw, {.75, 3.158});
  });
  // MEGA with lag 0 in both sums; the second state of the second direction has no weight.
  run({2, false, direction::both}, {.5, .9, .25, 0}, {1, -.5, 2, 0}, [&](auto const&, auto const&) {
    close(y.elements(), {2.71875, .925, 4.345, -2.6395});
    std::vector<T> once = y.elements();  // lag 0 in the first sum alone
    for (std::size_t i = 0; i < once.size(); ++i) once[i] -= 2 * x.elements()[i];
    close(once, {.71875, .925, .345, -.6395});
  });
  run({2, true}, {.5, .5, .8, -.3}, {1, -1, 0, .5}, [&](auto const& da, auto const& dw) {
    close(y.elements(), {2, 2.3, 5.48, 3.149});
    close(dx.elements(), {.798, .96, 4.6, 4});
    close(da, {12, 0, 2.88, -6.3});
    close(dw, {0, -4, 3.984, 3.996});
  });
}

TEST_CASE_TEMPLATE("results have the bits of the documented order", T, float, double, float16,
                   bfloat16) {
  std::uint64_t seed = 0;
  for (extents3 e : variant_shapes())
    for (decay_variant variant : variants()) {
      if (++seed % 3 != 0 && !full_suite() && e.size() > 500) continue;
      CAPTURE(e.batch);
      CAPTURE(e.length);
      CAPTURE(e.channels);
      CAPTURE(variant.states);
      CAPTURE(variant.is_complex);
      CAPTURE(variant.per_row);
      CAPTURE(variant.direction);
      auto const p = make_decay_problem<T>(
          e, variant, seed, seed % 2 != 0 ? mixed_lengths(e) : std::vector<index_t>{});
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) { check(p, exec); });
    }
}

TEST_CASE_TEMPLATE("strided views, and gradients that accumulate", T, float, double, float16,
                   bfloat16) {
  extents3 const e{2, 37, 18};
  constexpr std::array<int, 3> rows[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
  constexpr std::array<int, 4> numbers[] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 3, 1, 2}, {2, 0, 1, 3}};
  std::uint64_t seed = 100;
  for (std::size_t i = 0; i < 4; ++i)
    for (auto mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate})
      for (bool per_row : {false, true}) {
        decay_variant const variant{2, i % 2 != 0, i < 2 ? direction::both : direction::reverse,
                                    per_row};
        auto const p = make_decay_problem<T>(e, variant, ++seed, mixed_lengths(e), mode);
        call_layout const layout{rows[i], numbers[(i + seed) % 4], i % 2 == 0 ? 0 : 3};
        for_each_backend_once(p.backend_seed(),
                              [&](any_exec const& exec) { check(p, exec, layout); });
      }
}

TEST_CASE_TEMPLATE("tiles of columns, many states, and every policy", T, float, bfloat16) {
  for (extents3 e : {extents3{2, 300, 20}, extents3{1, 40, 1100}, extents3{7, 33, 65}})
    for (decay_variant variant : {decay_variant{2}, decay_variant{1, true}}) {
      if (e.channels == 20) variant.states = variant.is_complex ? 64 : 128;
      auto const p =
          make_decay_problem<T>(e, variant, static_cast<std::uint64_t>(e.length), mixed_lengths(e));
      for_each_backend(p.backend_seed(), [&](any_exec const& exec) { check(p, exec); });
      if (!testing(backend_kind::host)) continue;
      for (auto schedule :
           {test_executor::schedule::backwards, test_executor::schedule::scattered}) {
        test_executor executor{schedule};
        check(p, any_exec(executor, 5));
      }
    }
}

TEST_CASE("y may be x, dx may be dy, and states may be replaced") {
  extents3 const e{2, 40, 9};
  auto const p = make_decay_problem<float>(e, {2, true}, 3, mixed_lengths(e));
  for_each_backend_once(3, [&](any_exec const& exec) {
    auto const op = p.op();
    tensor<float> x = p.x, dy = p.dy;
    number_tensor<float> state = p.initial, gradient = p.dlast, da(p.a.extents);
    guarded_workspace memory(op.workspace_bytes(exec, x.view()));
    ss::decay_inputs<float> const in{p.a.view(), p.w.view()};
    op.backward(exec, dy.view(), x.view(), in, {dy.view(), da.view()},
                {p.initial.view(), gradient.view(), gradient.view()}, memory.get(),
                ss::lengths(view_of(p.lengths)));
    op.forward(exec, x.view(), in, x.view(), {state.view(), state.view()}, memory.get(),
               ss::lengths(view_of(p.lengths)));
    CHECK(same_bits(x.elements(), p.y.elements()));
    CHECK(same_bits(state.elements, p.last.elements));
    CHECK(same_bits(dy.elements(), p.dx.elements()));
    CHECK(same_bits(gradient.elements, p.dinitial.elements));
    CHECK(same_bits(da.elements, p.da.elements));
  });
}

TEST_CASE("omitted weights are 1, and omitted gradients are not computed") {
  extents3 const e{2, 21, 5};
  for (bool is_complex : {false, true}) {
    auto p = make_decay_problem<float>(e, {2, is_complex}, 8);
    for (index_t j = 0; j < p.op().numbers(); ++j)
      for (index_t c = 0; c < e.channels; ++c)
        p.w(0, j, 0, c) = is_complex && j % 2 != 0 ? 0.f : 1.f;
    std::fill(p.initial.elements.begin(), p.initial.elements.end(), 0.f);
    std::fill(p.dlast.elements.begin(), p.dlast.elements.end(), 0.f);
    p.compute_expected();
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      tensor<float> y(e);
      number_tensor<float> dw(p.w.extents);
      guarded_workspace memory(p.op().workspace_bytes(exec, p.x.view()));
      p.op().forward(exec, p.x.view(), {p.a.view()}, y.view(), {}, memory.get());
      p.op().backward(exec, p.dy.view(), p.x.view(), {p.a.view()}, {{}, {}, dw.view()}, {},
                      memory.get());
      CHECK(same_bits(y.elements(), p.y.elements()));
      CHECK(same_bits(dw.elements, p.dw.elements));
    });
  }
}

TEST_CASE("rejected calls") {
  extents3 const e{2, 8, 6};
  auto const p = make_decay_problem<float>(e, {2}, 1);
  tensor<float> y(e), dx(e);
  number_tensor<float> wrong({1, 3, 1, 6}), per_row({2, 2, 7, 6}), gradient({1, 2, 1, 6});
  ss::scratch memory;
  using inputs = ss::decay_inputs<float>;
  auto const forward = [&](ss::decaying_sum op, inputs const& in, tensor3<float> out,
                           tensor4<float> last = {}) {
    ss::decay_states<float> const states{{}, last};
    auto const status =
        op.forward(ss::exec::dry_run{ss::exec::host{}}, p.x.view(), in, out, states, memory);
    return error_message(
        status, [&] { op.forward(ss::exec::host{}, p.x.view(), in, out, states, memory); });
  };
  inputs const in{p.a.view(), p.w.view()};
  CHECK(forward(p.op(), in, y.view()) == "");
  CHECK(forward(ss::decaying_sum(0), in, y.view()) ==
        "decaying_sum.forward: states is 0, must be in 1..128");
  CHECK(forward(ss::decaying_sum(65, ss::decay_numbers::complex), in, y.view()) ==
        "decaying_sum.forward: states is 65, must be in 1..64");
  CHECK(forward(p.op(), {{}, p.w.view()}, y.view()) ==
        "decaying_sum.forward: a.data is null, must point to the decays");
  CHECK(forward(p.op(), {wrong.view(), p.w.view()}, y.view()) ==
        "decaying_sum.forward: a.numbers is 3, must be 2");
  CHECK(forward(p.op(), {per_row.view(), p.w.view()}, y.view()) ==
        "decaying_sum.forward: a.length is 7, must be 8");
  CHECK(forward(p.op(), {p.a.view(), wrong.view()}, y.view()) ==
        "decaying_sum.forward: w.numbers is 3, must be 2");
  CHECK(forward(p.op(), in, y.view(), gradient.view()) ==
        "decaying_sum.forward: last.batch is 1, must be 2");
  ss::decaying_sum const both(1, ss::decay_numbers::real, direction::both);
  tensor<float> x = p.x;
  CHECK(says(error_message([&] { both.forward(ss::exec::host{}, x.view(), in, x.view()); }),
             "y overlaps x"));
  CHECK(says(error_message([&] {
               p.op().backward(ss::exec::host{}, y.view(), x.view(), in, {x.view()}, {}, memory);
             }),
             "dx overlaps x"));
  CHECK(says(error_message([&] {
               p.op().backward(ss::exec::host{}, y.view(), x.view(), in,
                               {dx.view(), per_row.view()}, {}, memory);
             }),
             "da.batch is 2, must be 1"));
  CHECK(says(error_message(
                 [&] { (void)ss::decaying_sum(129).workspace_bytes<float>(ss::exec::host{}, e); }),
             "decaying_sum.workspace_bytes: states is 129"));
}
