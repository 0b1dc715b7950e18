// SPDX-License-Identifier: Apache-2.0
// Attention sinks: a learned logit per head takes part in the softmax of every query, with a value
// of zeros. It is a part of merge_attention, and its gradient is one sum per head. Compared with
// difference quotients.
#include <slicesort/merge_attention.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/view.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

using doubles = std::vector<double>;

constexpr ss::index_t batch = 2, heads = 4, kv_heads = 2, length = 6, channels = 4;
constexpr ss::extents4 query_shape{batch, heads, length, channels},
    key_shape{batch, kv_heads, length, channels}, state_shape{batch, heads, length, 2};

doubles zeros(ss::extents4 e) { return doubles(static_cast<std::size_t>(e.size())); }
// Test values in [-0.9, 1.1].
doubles test_values(ss::extents4 e, std::size_t seed) {
  doubles values = zeros(e);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.25 * static_cast<double>((i * 7 + seed) % 9) - 0.9;
  return values;
}

// Attention with a sink of logits[head]. Writes y and its state.
void forward(doubles const& q, doubles const& k, doubles const& v, doubles const& logits,
             doubles& y_data, doubles& state_data) {
  ss::softmax_attention<ss::mask::causal> const attention;
  ss::merge_attention const merge;
  ss::exec::host const exec;
  ss::scratch memory;
  auto const y = ss::view(y_data, query_shape);
  auto const state = ss::view(state_data, state_shape);
  attention.forward(exec,
                    {ss::view(q, query_shape), ss::view(k, key_shape), ss::view(v, key_shape)}, y,
                    state, memory);
  // [snippet merge]
  // State of a sink: its score, and a sum of exponentials of 1, for each head. Its output is 0.
  // Strides of 0 repeat both for all samples and queries.
  doubles sinks;
  for (double const logit : logits) sinks.insert(sinks.end(), {logit, 1.0});
  double const zero = 0;
  ss::tensor4<double const> const sink_state(sinks.data(), state_shape, {0, 2, 0, 1}),
      sink_y(&zero, query_shape, {0, 0, 0, 0});
  merge.forward(exec, {{y, state}, {sink_y, sink_state}}, y, state);
  // [/snippet merge]
}

// [snippet gradient]
// The gradient of each head's logit is the sum of -p <dy, y> over its queries, where p is the
// weight of the sink.
doubles logit_gradients(doubles const& logits, ss::tensor4<double const> dy,
                        ss::tensor4<double const> y, ss::tensor4<double const> state) {
  ss::extents4 const e = y.extents();
  doubles gradients(logits.size());
  for (ss::index_t b = 0; b < e.batch; ++b)
    for (ss::index_t h = 0; h < e.heads; ++h)
      for (ss::index_t i = 0; i < e.length; ++i) {
        auto const head = static_cast<std::size_t>(h);
        double const p = std::exp(logits[head] - state(b, h, i, 0)) / state(b, h, i, 1);
        for (ss::index_t c = 0; c < e.channels; ++c)
          gradients[head] -= p * dy(b, h, i, c) * y(b, h, i, c);
      }
  return gradients;
}
// [/snippet gradient]

double dot(doubles const& a, doubles const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

int main() {
  doubles const q = test_values(query_shape, 1), dy = test_values(query_shape, 4),
                v = test_values(key_shape, 5), logits = {0.5, -1.0, 2.0, 0.0};
  doubles k = test_values(key_shape, 2), y = zeros(query_shape), state = zeros(state_shape);
  forward(q, k, v, logits, y, state);

  // [snippet backward]
  // Backward of attention takes the merged y and state; the sink has no keys to differentiate.
  ss::softmax_attention<ss::mask::causal> const attention;
  ss::scratch memory;
  doubles dq = zeros(query_shape), dk = zeros(key_shape), dv = zeros(key_shape);
  attention.backward(ss::exec::host{}, ss::view(dy, query_shape),
                     {ss::view(q, query_shape), ss::view(k, key_shape), ss::view(v, key_shape)},
                     ss::view(y, query_shape), ss::view(state, state_shape),
                     {ss::view(dq, query_shape), ss::view(dk, key_shape), ss::view(dv, key_shape)},
                     memory);
  // [/snippet backward]
  doubles const dlogits = logit_gradients(logits, ss::view(dy, query_shape),
                                          ss::view(y, query_shape), ss::view(state, state_shape));

  // Difference quotients of <dy, y>.
  double const step = 1e-5;
  double largest = 0;
  auto const check = [&](doubles& values, std::size_t i, double gradient, auto const& loss) {
    double const value = values[i];
    values[i] = value + step;
    double const above = loss();
    values[i] = value - step;
    double const below = loss();
    values[i] = value;
    largest = std::fmax(largest, std::fabs((above - below) / (2 * step) - gradient));
  };
  doubles moved_logits = logits;
  auto const loss = [&] {
    doubles moved_y = zeros(query_shape), moved_state = zeros(state_shape);
    forward(q, k, v, moved_logits, moved_y, moved_state);
    return dot(dy, moved_y);
  };
  for (std::size_t h = 0; h < logits.size(); ++h) check(moved_logits, h, dlogits[h], loss);
  for (std::size_t i = 0; i < k.size(); ++i) check(k, i, dk[i], loss);

  for (std::size_t h = 0; h < logits.size(); ++h) {
    double const m = state[h * 2 * length], l = state[h * 2 * length + 1];
    std::printf("head %d: logit %4.1f, its gradient %8.5f, its weight for query 0 %.5f\n",
                static_cast<int>(h), logits[h], dlogits[h], std::exp(logits[h] - m) / l);
  }
  std::printf(
      "no gradient of a logit or key differs from difference quotients by more than 1e-8: %s\n",
      largest <= 1e-8 ? "true" : "false");
}

// output:
// head 0: logit  0.5, its gradient -0.59553, its weight for query 0 0.64394
// head 1: logit -1.0, its gradient -0.18165, its weight for query 0 0.37872
// head 2: logit  2.0, its gradient -1.14947, its weight for query 0 0.90721
// head 3: logit  0.0, its gradient  0.78071, its weight for query 0 0.50437
// no gradient of a logit or key differs from difference quotients by more than 1e-8: true
