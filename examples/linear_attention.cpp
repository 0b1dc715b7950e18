// SPDX-License-Identifier: Apache-2.0
// Linear attention: forward and backward, feature maps of five papers, directions, lengths, and a
// user-defined feature map. Compares outputs with sums over all pairs, and gradients with
// finite differences.
#include <slicesort/linear_attention.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/random_rows.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

using doubles = std::vector<double>;
using const_heads = ss::tensor4<double const>;

doubles zeros(ss::index_t size) { return doubles(static_cast<std::size_t>(size)); }
// Distinct test values in [-1, 1].
doubles test_values(ss::index_t size, int seed) {
  doubles values = zeros(size);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<double>(i * 7) + 2.5 * seed);
  return values;
}
double max_difference(doubles const& a, doubles const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::fmax(largest, std::fabs(a[i] - b[i]));
  return largest;
}
double dot(doubles const& a, doubles const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
// True if the slope of f along `gradient`, at x, is the gradient's squared norm.
template <class F>
bool is_gradient(doubles const& gradient, doubles const& x, F const& f) {
  double const step = 1e-4;
  doubles forward = x, backward = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    forward[i] += step * gradient[i], backward[i] -= step * gradient[i];
  double const expected = dot(gradient, gradient);
  return std::fabs((f(forward) - f(backward)) / (2 * step) - expected) < 1e-6 * expected;
}
void print(char const* name, doubles const& y, bool is_correct) {
  std::printf("%-28s", name);
  for (std::size_t i = 0; i < 3; ++i) std::printf(" %8.5f", y[i]);
  std::printf("   %s\n", is_correct ? "true" : "false");
}

// Computes the reference output from one weight per pair of rows, and divides it by
// divisor(sum of the query's weights). phi(x, i) returns the features of row i.
template <class Phi, class Divisor>
doubles reference_output(const_heads q, const_heads k, const_heads v, Phi const& phi,
                         Divisor const& divisor, bool causal = false) {
  ss::index_t const channels = q.extents().channels, keys = k.extents().length;
  doubles y;
  for (ss::index_t head = 0; head < q.extents().heads; ++head)
    for (ss::index_t i = 0; i < q.extents().length; ++i) {
      doubles output_sums = zeros(channels), query_features = phi(&q(0, head, i, 0), i);
      double weight_sum = 0;
      for (ss::index_t j = 0; j < (causal ? i + 1 : keys); ++j) {
        doubles const key_features = phi(&k(0, head, j, 0), j);
        double weight = 0;
        for (std::size_t f = 0; f < key_features.size(); ++f)
          weight += query_features[f] * key_features[f];
        for (ss::index_t c = 0; c < channels; ++c)
          output_sums[static_cast<std::size_t>(c)] += weight * v(0, head, j, c);
        weight_sum += weight;
      }
      for (double const sum : output_sums) y.push_back(sum / divisor(weight_sum));
    }
  return y;
}

// [snippet custom]
// relu(x)^2 as a feature map.
struct squared_relu {
  ss::index_t features(ss::index_t channels) const { return channels; }
  template <class A>
  void map(ss::feature_row row, A const* x, A* phi) const {
    for (ss::index_t c = 0; c < row.channels; ++c) phi[c] = x[c] > 0 ? x[c] * x[c] : A(0);
  }
  template <class A>
  void backward(ss::feature_row row, A const* x, A const* dphi, A* dx) const {
    for (ss::index_t c = 0; c < row.channels; ++c) dx[c] = x[c] > 0 ? 2 * x[c] * dphi[c] : A(0);
  }
};
// [/snippet custom]

// Two heads of six rows and four channels.
ss::extents4 const shape{1, 2, 6, 4};
doubles const q_data = test_values(shape.size(), 1), k_data = test_values(shape.size(), 2),
              v_data = test_values(shape.size(), 3), dy_data = test_values(shape.size(), 4);
const_heads const q = ss::view(q_data, shape), k = ss::view(k_data, shape),
                  v = ss::view(v_data, shape), dy = ss::view(dy_data, shape);

double elu_plus_one(double x) { return x > 0 ? x + 1 : std::exp(x); }
double relu(double x) { return x > 0 ? x : 0; }
// Feature map that applies f to each channel.
template <class F>
auto each_channel(F const& f) {
  return [f](double const* x, ss::index_t) { return doubles{f(x[0]), f(x[1]), f(x[2]), f(x[3])}; };
}
double sum_plus_eps(double weight_sum) { return weight_sum + 1e-6; }

void run_default() {
  auto y_data = zeros(shape.size()), dq_data = y_data, dk_data = y_data, dv_data = y_data;
  auto const y = ss::view(y_data, shape), dq = ss::view(dq_data, shape),
             dk = ss::view(dk_data, shape), dv = ss::view(dv_data, shape);
  // [snippet]
  ss::linear_attention<> const op;  // elu(x) + 1, divided by the sum of the weights
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, {q, k, v}, y, memory);
  op.backward(exec, dy, {q, k, v}, {dq, dk, dv}, memory);
  // [/snippet]
  auto const expected = reference_output(q, k, v, each_channel(elu_plus_one), sum_plus_eps);
  print("linear_attention<>", y_data, max_difference(y_data, expected) < 1e-14);

  auto const loss = [&](doubles const& q_values, doubles const& k_values, doubles const& v_values) {
    return dot(dy_data, reference_output(ss::view(q_values, shape), ss::view(k_values, shape),
                                         ss::view(v_values, shape), each_channel(elu_plus_one),
                                         sum_plus_eps));
  };
  print("dq", dq_data,
        is_gradient(dq_data, q_data, [&](auto& x) { return loss(x, k_data, v_data); }));
  print("dk", dk_data,
        is_gradient(dk_data, k_data, [&](auto& x) { return loss(q_data, x, v_data); }));
  print("dv", dv_data,
        is_gradient(dv_data, v_data, [&](auto& x) { return loss(q_data, k_data, x); }));

  // [snippet causal]
  // Query i attends to keys 0 .. i.
  ss::linear_attention const causal{ss::direction::causal{}};
  causal.forward(exec, {q, k, v}, y, memory);
  // [/snippet causal]
  print("causal", y_data,
        max_difference(y_data, reference_output(q, k, v, each_channel(elu_plus_one), sum_plus_eps,
                                                true)) < 1e-14);

  // [snippet native]
  // On a GPU, multiplies bfloat16 and float16 on tensor cores: faster, but rounded differently.
  ss::linear_attention const native{ss::direction::causal{}, ss::products::native};
  // [/snippet native]
  doubles const exact = y_data;
  native.forward(exec, {q, k, v}, y, memory);
  print("native products, in double", y_data, y_data == exact);

  // [snippet lengths]
  // Three keys and four queries of this sample are valid.
  ss::index_t const keys = 3, queries = 4;
  op.forward(exec, {q, k, v}, y, memory, ss::lengths(keys, queries));
  // [/snippet lengths]
  const_heads const first_k(k_data.data(), {1, 2, 3, 4}, k.strides()),
      first_v(v_data.data(), {1, 2, 3, 4}, v.strides());
  doubles valid = reference_output(q, first_k, first_v, each_channel(elu_plus_one), sum_plus_eps);
  for (std::size_t i = 0; i < valid.size(); ++i)
    if (i % 24 >= 16) valid[i] = 0;  // queries 4 and 5 of a head
  print("3 keys, 4 queries", y_data, max_difference(y_data, valid) < 1e-14);
}

// Random matrices of two heads.
ss::index_t const features = 8;
doubles random_features(ss::index_t rows) {
  doubles data = zeros(2 * rows * shape.channels);
  // [snippet rows]
  ss::extents3 const w_shape{2, rows, shape.channels};  // rows for each of two heads
  ss::random_rows{7, 2 * rows, shape.channels, ss::row_form::orthogonal_chi}.write(
      ss::view(data, w_shape));
  // [/snippet rows]
  return data;
}

template <class Op>
doubles forward(Op const& op, ss::tensor3<double const> w = {}) {
  doubles y_data = zeros(shape.size());
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, {q, k, v, w}, ss::view(y_data, shape), memory);
  return y_data;
}

void compare_papers() {
  // [snippet papers]
  namespace feature = ss::feature;
  namespace divisor = ss::divisor;
  ss::linear_attention<> const linear_transformer;
  ss::linear_attention const performer{feature::random_exp{}, divisor::sum_plus{0}};  // FAVOR+
  ss::linear_attention const cosformer{feature::cosine_reweighted{}, divisor::at_least{}};
  ss::linear_attention const rfa{feature::random_fourier{1e-3, 0.1}, divisor::sum_plus{1}};
  ss::linear_attention const lra_performer{feature::relu{1e-3}, divisor::sum_plus{0}};
  // [/snippet papers]
  auto const check = [&](char const* name, doubles const& y, doubles const& expected) {
    print(name, y, max_difference(y, expected) < 1e-13);
  };
  check("Linear Transformer", forward(linear_transformer),
        reference_output(q, k, v, each_channel(elu_plus_one), sum_plus_eps));

  doubles const w_data = random_features(features);
  // Both heads use the rows of the first head, so that one reference serves both.
  auto const w = ss::tensor3<double const>(w_data.data(), {1, features, shape.channels});
  auto const products = [&](double const* x) {
    doubles projections;
    for (ss::index_t f = 0; f < features; ++f) {
      projections.push_back(0);
      for (ss::index_t c = 0; c < shape.channels; ++c) projections.back() += w(0, f, c) * x[c];
    }
    return projections;
  };
  auto const norm = [](double const* x) {
    return std::hypot(std::hypot(x[0], x[1]), std::hypot(x[2], x[3]));
  };
  // FAVOR+ without eps, and without the maxima, which cancel in the division.
  auto const favor = [&](double const* x, ss::index_t) {
    doubles projections = products(x);
    double const root = std::pow(4.0, 0.25);
    for (double& value : projections)
      value = std::exp(value / root - norm(x) * norm(x) / (2 * root * root));
    return projections;
  };
  auto const sum = [](double weight_sum) { return weight_sum; };
  doubles const without_eps = reference_output(q, k, v, favor, sum);
  print("Performer", forward(performer, w),
        max_difference(forward(performer, w), without_eps) < 1e-5);
  ss::linear_attention const exact{feature::random_exp{0}, divisor::sum_plus{0}};
  check("Performer, eps 0", forward(exact, w), without_eps);
  auto const cosine = [](double const* x, ss::index_t i) {
    double const t = std::acos(-1.0) * static_cast<double>(i + 1) / 12;
    doubles phi;
    for (double const factor : {std::cos(t), std::sin(t)})
      for (int c = 0; c < 4; ++c) phi.push_back(relu(x[c]) * factor);
    return phi;
  };
  check("cosFormer", forward(cosformer), reference_output(q, k, v, cosine, [](double weight_sum) {
          return std::fmax(weight_sum, 1e-6);
        }));
  auto const fourier = [&](double const* x, ss::index_t) {
    doubles phi;
    for (double const projection : products(x)) {
      phi.push_back(0.1 * std::sin(projection / (norm(x) + 1e-3)));
      phi.push_back(0.1 * std::cos(projection / (norm(x) + 1e-3)));
    }
    return phi;
  };
  check("Random Feature Attention", forward(rfa, w),
        reference_output(q, k, v, fourier, [](double weight_sum) { return weight_sum + 1; }));
  check("Long Range Arena's Performer", forward(lra_performer),
        reference_output(q, k, v, each_channel([](double x) { return relu(x) + 1e-3; }), sum));
  ss::linear_attention const custom{squared_relu{}};
  check("squared_relu", forward(custom),
        reference_output(q, k, v, each_channel([](double x) { return relu(x) * relu(x); }),
                         sum_plus_eps));
}

void check_w_gradient() {
  ss::index_t const rows = features;
  doubles const w_data = random_features(rows);
  auto const w = ss::tensor3<double const>(w_data.data(), {2, rows, shape.channels});
  doubles dw_data = zeros(w.extents().size());
  auto const dw = ss::view(dw_data, w.extents());
  // [snippet gradient]
  // Learned rows of w: computes their gradient alone.
  ss::linear_attention const op{ss::feature::random_relu{}, ss::divisor::sum_plus{0}};
  ss::exec::host const exec;
  ss::scratch memory;
  op.backward(exec, dy, {q, k, v, w}, ss::grad_w(dw), memory);
  // [/snippet gradient]
  print("dw", dw_data, is_gradient(dw_data, w_data, [&](auto& x) {
          return dot(dy_data, forward(op, ss::view(x, w.extents())));
        }));
}

}  // namespace

int main() {
  std::puts("                              first numbers                as expected");
  run_default();
  compare_papers();
  check_w_gradient();
}

// output:
//                               first numbers                as expected
// linear_attention<>           -0.10406 -0.37755 -0.46521   true
// dq                            0.07233  0.06536 -0.04458   true
// dk                           -0.11487 -0.09461 -0.00464   true
// dv                           -0.12120  0.02970  0.16597   true
// causal                        0.93800  0.93489  0.47164   true
// native products, in double    0.93800  0.93489  0.47164   true
// 3 keys, 4 queries            -0.12032 -0.16091 -0.12230   true
// Linear Transformer           -0.10406 -0.37755 -0.46521   true
// Performer                    -0.09344 -0.08830 -0.03970   true
// Performer, eps 0             -0.09344 -0.08830 -0.03970   true
// cosFormer                    -0.58763 -0.92708 -0.81023   true
// Random Feature Attention     -0.03523 -0.02568 -0.00349   true
// Long Range Arena's Performer -0.45482 -0.86166 -0.84439   true
// squared_relu                 -0.54075 -0.90652 -0.82610   true
// dw                            0.64293  0.42089 -0.00831   true
