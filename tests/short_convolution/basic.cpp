// SPDX-License-Identifier: Apache-2.0
// Short convolution: golden values, the same bits as sums in the documented order, gradients as
// adjoints, and errors.
#define SLICESORT_TEST_EVERY_BACKEND
#include "support/error_message.hpp"
#include "support/numbers.hpp"
#include "support/variants.hpp"

#include <slicesort/short_convolution.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace support;

namespace {

template <class T>
using accumulator = typename ss::dtype_traits<T>::accumulator;

// A call and its expected results, computed in the documented order.
template <class T>
struct convolution_problem : variant_problem<T> {
  index_t shift = 0;
  tensor<T> weights, dweights;  // [1, taps, groups]
  ss::grad_mode mode = ss::grad_mode::overwrite;
  tensor<T> old_dx, old_dweights;  // values before a call that accumulates

  ss::short_convolution op() const { return {weights.extents().length, shift}; }

  void compute_expected() {
    extents3 const e = this->x.extents(), f = weights.extents();
    index_t const taps = f.length;
    tensor<T> reversed(f);
    for_each_position(
        f, [&](index_t, index_t k, index_t g) { reversed(0, taps - 1 - k, g) = weights(0, k, g); });
    this->y = convolve(this->x, weights, shift, nullptr);
    bool const accumulates = mode == ss::grad_mode::accumulate;
    this->dx = convolve(this->dy, reversed, taps - 1 - shift, accumulates ? &old_dx : nullptr);
    dweights = tensor<T>(f);
    for_each_position(f, [&](index_t, index_t k, index_t g) {
      index_t const group_channels = e.empty() ? 0 : e.channels / f.channels;
      double sum = 0;
      for (index_t c = g * group_channels; c < (g + 1) * group_channels; ++c)
        sum += correlate(k, c);
      dweights(0, k, g) =
          round(static_cast<A>(sum), accumulates ? &old_dweights(0, k, g) : nullptr);
    });
  }

 private:
  using A = accumulator<T>;

  static T round(A value, T const* old) {
    if (old != nullptr) value = static_cast<A>(*old) + value;
    return std::isnan(value) ? from_bits<T>(ss::detail::nan_bits<T>) : static_cast<T>(value);
  }
  A valid_or_zero(tensor<T> const& t, index_t b, index_t n, index_t c) const {
    return n < 0 || n >= this->rows(b) ? A(0) : static_cast<A>(t(b, n, c));
  }
  tensor<T> convolve(tensor<T> const& from, tensor<T> const& filter, index_t filter_shift,
                     tensor<T> const* old) const {
    extents3 const e = from.extents(), f = filter.extents();
    tensor<T> to(e);
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      if (n >= this->rows(b)) {
        to(b, n, c) = old != nullptr ? (*old)(b, n, c) : T(0.0F);
        return;
      }
      A sum = 0;
      for (index_t k = 0; k < f.length; ++k)
        sum = std::fma(static_cast<A>(filter(0, k, c / (e.channels / f.channels))),
                       valid_or_zero(from, b, n + k - filter_shift, c), sum);
      to(b, n, c) = round(sum, old != nullptr ? &(*old)(b, n, c) : nullptr);
    });
    return to;
  }
  double correlate(index_t k, index_t c) const {
    constexpr index_t tile = 16, segment = 1024;
    double total = 0;
    for (index_t b = 0; b < this->x.extents().batch; ++b)
      for (index_t begin = 0; begin < this->x.extents().length; begin += segment) {
        double segment_sum = 0;
        index_t const end = std::min(begin + segment, this->rows(b));
        for (index_t first = begin; first < end; first += tile) {
          A sum = 0;
          for (index_t n = first; n < std::min(first + tile, end); ++n)
            sum = std::fma(static_cast<A>(this->dy(b, n, c)),
                           valid_or_zero(this->x, b, n + k - shift, c), sum);
          segment_sum += static_cast<double>(sum);
        }
        total += segment_sum;
      }
    return total;
  }
};

struct convolution_window {
  index_t taps, shift;
};
constexpr convolution_window windows[] = {{1, 0}, {2, 0}, {3, 1},   {4, 3},
                                          {5, 1}, {9, 8}, {33, 16}, {64, 63}};

template <class T>
convolution_problem<T> make_problem(extents3 e, convolution_window window, index_t groups,
                                    std::uint64_t seed, std::vector<index_t> lengths = {},
                                    ss::grad_mode mode = ss::grad_mode::overwrite) {
  convolution_problem<T> p;
  p.mode = mode;
  p.lengths = std::move(lengths);
  auto const random = [&](extents3 extents, std::uint64_t stream) {
    return tensor_of_columns<T>(extents, [=](std::uint64_t column) {
      return make_column<T>(input_kind::normal, static_cast<std::size_t>(extents.length),
                            seed + stream + 7919 * column);
    });
  };
  p.x = random(e, 1), p.dy = random(e, 2), p.old_dx = random(e, 4);
  p.weights = random({1, window.taps, groups}, 3);
  p.old_dweights = random({1, window.taps, groups}, 5);
  p.shift = window.shift;
  for_each_position(e, [&](index_t b, index_t n, index_t c) {  // padding must not be read
    if (n >= p.rows(b)) p.x(b, n, c) = p.dy(b, n, c) = from_bits<T>(ss::detail::nan_bits<T>);
  });
  p.compute_expected();
  return p;
}

// Number of filters: one per channel, one for all, and one per pair of channels.
inline std::vector<index_t> group_counts(index_t channels) {
  if (channels == 0) return {0, 2};
  std::vector<index_t> counts{channels, 1};
  if (channels % 2 == 0) counts.push_back(channels / 2);
  return counts;
}

// Strides of the tensors of a call; `input` for x and dx, `output` for dy and y.
struct call_strides {
  strides3 input, output, weights;
};
inline call_strides contiguous_strides(extents3 e, extents3 f) {
  return {ss::row_major(e), ss::row_major(e), ss::row_major(f)};
}

// Runs forward and backward, and compares with the results of the problem.
template <class T>
void check(convolution_problem<T> const& p, any_exec const& exec, call_strides const& strides) {
  CAPTURE(describe_exec(exec));
  extents3 const e = p.x.extents(), f = p.weights.extents();
  strided_tensor<T> const x(p.x, strides.input, 1), dy(p.dy, strides.output, 2),
      weights(p.weights, strides.weights, 3);
  strided_tensor<T> y(e, strides.output, 3), dx(e, strides.input, 4), dx_alone(e, strides.input),
      dweights(f, strides.weights, 1);
  if (p.mode == ss::grad_mode::accumulate) {
    dx = dx_alone = strided_tensor<T>(p.old_dx, strides.input, 4);
    dweights = strided_tensor<T>(p.old_dweights, strides.weights, 1);
  }
  ss::short_convolution const op = p.op();
  guarded_workspace memory(op.workspace_bytes(exec, x.view()));
  ss::backward_options const options{p.mode, view_of(p.lengths)};
  op.forward(exec, x.view(), weights.view(), y.view(), memory.get(), {view_of(p.lengths)});
  op.backward(exec, dy.view(), x.view(), weights.view(), dx.view(), dweights.view(), memory.get(),
              options);
  op.backward(exec, dy.view(), weights.view(), dx_alone.view(), memory.get(), options);
  CHECK(same_bits(y.contents().elements(), p.y.elements()));
  CHECK(same_bits(dx.contents().elements(), p.dx.elements()));
  CHECK(same_bits(dx_alone.contents().elements(), p.dx.elements()));
  CHECK(same_bits(dweights.contents().elements(), p.dweights.elements()));
  CHECK((y.padding_intact() && dx.padding_intact() && dweights.padding_intact()));
  CHECK(memory.red_zones_intact());
}
template <class T>
void check(convolution_problem<T> const& p, any_exec const& exec) {
  check(p, exec, contiguous_strides(p.x.extents(), p.weights.extents()));
}

}  // namespace

TEST_CASE_TEMPLATE("golden values", T, float, double, float16, bfloat16) {
  convolution_problem<T> p;
  p.x = p.dy = p.old_dx = tensor<T>({1, 4, 2});
  p.weights = tensor<T>({1, 3, 1});
  p.shift = 1;
  p.x.elements() = elements_of<T>({1, 0, 0, 1, 2, -1, 1, 3});
  p.dy.elements() = elements_of<T>({1, 2, 0, 1, -1, 1, 2, 0});
  p.weights.elements() = elements_of<T>({.5, 1, -1});
  p.compute_expected();
  CHECK(same_bits(p.y.elements(), elements_of<T>({1, -1, -1.5, 2, 1, -3.5, 2, 2.5})));
  CHECK(same_bits(p.dx.elements(), elements_of<T>({1, 2.5, -1.5, -.5, 0, 0, 3, -1})));
  CHECK(same_bits(p.dweights.elements(), elements_of<T>({5, 1, 3})));
  for_each_backend_once(sizeof(T), [&](any_exec const& exec) { check(p, exec); });
}

TEST_CASE_TEMPLATE("results are sums in the documented order", T, float, double, float16,
                   bfloat16) {
  std::uint64_t seed = 0;
  for (extents3 e : variant_shapes())
    for (convolution_window window : windows)
      for (index_t groups : group_counts(e.channels)) {
        if (++seed % 3 != 0 && !full_suite() && e.size() > 500) continue;
        CAPTURE(e.batch);
        CAPTURE(e.length);
        CAPTURE(e.channels);
        CAPTURE(window.taps);
        CAPTURE(groups);
        auto const p = make_problem<T>(e, window, groups, seed,
                                       seed % 2 != 0 ? mixed_lengths(e) : std::vector<index_t>{});
        for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) { check(p, exec); });
      }
}

TEST_CASE_TEMPLATE("segments of rows, tiles of columns, and every policy", T, float, bfloat16) {
  for (extents3 e : {extents3{2, 1500, 20}, extents3{1, 2049, 1}, extents3{3, 40, 1100}}) {
    auto const p = make_problem<T>(e, {4, 3}, e.channels, static_cast<std::uint64_t>(e.length),
                                   mixed_lengths(e));
    for_each_backend(p.backend_seed(), [&](any_exec const& exec) { check(p, exec); });
    if (!testing(backend_kind::host)) continue;
    for (auto schedule : {test_executor::schedule::backwards, test_executor::schedule::scattered}) {
      test_executor executor{schedule};
      check(p, any_exec(executor, 5));
    }
  }
}

TEST_CASE_TEMPLATE("strided views, and gradients that accumulate", T, float, double, float16,
                   bfloat16) {
  extents3 const e{2, 37, 18};
  constexpr std::array<int, 3> orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
  for (std::size_t i = 0; i < 4; ++i)
    for (auto mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
      auto const p = make_problem<T>(e, {4, 2}, 9, i + 50, mixed_lengths(e), mode);
      index_t const padding = i % 2 == 0 ? 0 : 3, taps = p.weights.extents().length;
      call_strides const strides{strides_in_order(e, orders[i], padding),
                                 strides_in_order(e, orders[(i + 2) % 4], padding),
                                 {9 * taps, 1, taps}};  // weights: a [groups, taps] matrix
      for_each_backend_once(p.backend_seed(),
                            [&](any_exec const& exec) { check(p, exec, strides); });
    }
}

TEST_CASE("a zero stride gives all groups the same weights") {
  extents3 const e{1, 9, 6};
  auto const single = make_problem<float>(e, {3, 2}, 1, 4);
  for_each_backend_once(1, [&](any_exec const& exec) {
    ss::tensor3<float const> const weights(single.weights.elements().data(), {1, 3, 6}, {0, 1, 0});
    tensor<float> y(e);
    guarded_workspace memory(single.op().workspace_bytes<float>(exec, e));
    single.op().forward(exec, single.x.view(), weights, y.view(), memory.get());
    CHECK(same_bits(y.elements(), single.y.elements()));
  });
}

TEST_CASE("a mode or lengths alone are options") {
  extents3 const e{2, 9, 6};
  auto const p = make_problem<float>(e, {3, 2}, 6, 4, {9, 4});
  for_each_backend_once(3, [&](any_exec const& exec) {
    guarded_workspace memory(p.op().workspace_bytes<float>(exec, e));
    tensor<float> dx(e);
    p.op().backward(exec, p.dy.view(), p.weights.view(), dx.view(), memory.get(),
                    ss::lengths(view_of(p.lengths)));
    CHECK(same_bits(dx.elements(), p.dx.elements()));
    p.op().backward(exec, p.dy.view(), p.weights.view(), dx.view(), memory.get(),
                    ss::grad_mode::accumulate);
  });
}

TEST_CASE("an empty batch gives zero weight gradients") {
  for (extents3 e : {extents3{0, 5, 4}, extents3{2, 0, 4}})
    for_each_backend_once(2, [&](any_exec const& exec) {
      check(make_problem<float>(e, {3, 1}, 4, 1), exec);
    });
}

TEST_CASE("rejected calls") {
  extents3 const e{2, 8, 6};
  tensor<float> x(e), y(e), dx(e), weights({1, 4, 6}), dweights({1, 4, 6});
  ss::scratch memory;
  auto const forward = [&](ss::short_convolution op, ss::tensor3<float const> filter,
                           ss::tensor3<float> out) {
    auto const status =
        op.forward(ss::exec::dry_run{ss::exec::host{}}, x.view(), filter, out, memory);
    return error_message(status,
                         [&] { op.forward(ss::exec::host{}, x.view(), filter, out, memory); });
  };
  auto const backward = [&](ss::tensor3<float const> filter, ss::tensor3<float> filter_gradient) {
    auto const op = ss::short_convolution::causal(4);
    auto const status = op.backward(ss::exec::dry_run{ss::exec::host{}}, y.view(), x.view(), filter,
                                    dx.view(), filter_gradient, memory);
    return error_message(status, [&] {
      op.backward(ss::exec::host{}, y.view(), x.view(), filter, dx.view(), filter_gradient, memory);
    });
  };
  CHECK(forward(ss::short_convolution::causal(4), weights.view(), y.view()) == "");
  CHECK(forward({0, 0}, weights.view(), y.view()) ==
        "short_convolution.forward: taps is 0, must be in 1..64");
  CHECK(forward({65, 0}, weights.view(), y.view()) ==
        "short_convolution.forward: taps is 65, must be in 1..64");
  for (index_t shift : {-1, 4})
    CHECK(forward({4, shift}, weights.view(), y.view()) == "short_convolution.forward: shift is " +
                                                               std::to_string(shift) +
                                                               ", must be in 0..3 (taps - 1)");
  CHECK(forward({3, 0}, weights.view(), y.view()) ==
        "short_convolution.forward: weights.length is 4, must be 3 (taps)");
  CHECK(forward({4, 0}, {weights.view().data(), {1, 4, 4}}, y.view()) ==
        "short_convolution.forward: weights.channels is 4, must divide 6 (x.channels): a filter "
        "for each group of channels");
  CHECK(forward({4, 0}, {weights.view().data(), {2, 4, 3}}, y.view()) ==
        "short_convolution.forward: weights.batch is 2, must be 1: one filter for all samples");
  CHECK(says(forward({4, 0}, weights.view(), x.view()), "overlap"));
  CHECK(says(backward(weights.view(), weights.view()), "overlap"));
  CHECK(backward(weights.view(), {dweights.view().data(), {1, 4, 3}}) ==
        "short_convolution.backward: dweights.channels is 3, must be 6 (weights.channels)");
  CHECK(says(error_message([&] {
               (void)ss::short_convolution(4, 4).workspace_bytes<float>(ss::exec::host{}, e);
             }),
             "short_convolution.workspace_bytes: shift is 4"));
}
