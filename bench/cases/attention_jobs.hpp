// SPDX-License-Identifier: Apache-2.0
// The cases of softmax attention. Their policy is a name such as streaming-window-H:4: algorithm,
// mask and heads. The algorithm `native` is streaming with native products. In the mask's place,
// `relative` is a bias by distance that all heads share, with its gradient, and `dropout` drops a
// tenth of the weights; both have all keys.
#pragma once

#include "attention_masks.hpp"
#include "attention_oracle.hpp"
#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/settings.hpp"
#include "driver/tensors.hpp"

#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/softmax_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

struct attention_policy {
  std::string algorithm, name_of_mask;
  attention_mask mask;
  ss::index_t heads;

  attention_policy(std::string const& name, ss::index_t length)
      : algorithm(name.substr(0, name.find('-'))),
        name_of_mask(name.substr(algorithm.size() + 1, name.rfind("-H:") - algorithm.size() - 1)),
        mask(name_of_mask, length),
        heads(std::stol(name.substr(name.rfind(':') + 1))) {}

  bool relative() const { return name_of_mask == "relative"; }
  ss::dropout dropout() const {
    return name_of_mask == "dropout" ? ss::dropout{0.1, 1} : ss::dropout{};
  }
  // The British spelling stays in the names of cases, so that new results compare with old ones.
  bool materialized() const { return algorithm == "materialized"; }
};

// Calls `f` with the operator of the case; `map` is the algorithm called materialized.
template <class Place, class Materialized, class F>
auto with_attention(fields const& at, Materialized map, F const& f) {
  attention_policy const p(at.policy, at.extents.length);
  if (p.materialized()) return f(ss::softmax_attention<ss::mask::full, Materialized>{map});
  if (p.algorithm == "native") return f(ss::softmax_attention<>{ss::products::native});
  auto const streaming = [&](auto mask) { f(ss::softmax_attention<decltype(mask)>{mask}); };
  if constexpr (Place::every_policy)
    return p.mask.with(streaming);
  else
    return p.mask.with_dense(streaming);
}

// Bytes that forward saves: two numbers per query, or the whole map.
template <class T>
std::size_t attention_state_bytes(fields const& at) {
  attention_policy const p(at.policy, at.extents.length);
  auto const queries = static_cast<std::size_t>(at.extents.batch * p.heads * at.extents.length);
  return p.materialized() ? queries * static_cast<std::size_t>(at.extents.length) * sizeof(T)
                          : queries * 2 * sizeof(ss::detail::accumulator_t<T>);
}

// Data, the calls, and the comparison of their results with the oracle. Queries, keys and values
// are three tensors of the same input; for a text, its bytes embedded by three tables. Map:
// `of(policy)` is the algorithm called materialized.
template <class T, class Place, class Map>
class attention_job final : public place_job<Place> {
 public:
  explicit attention_job(fields const& f)
      : place_job<Place>(f),
        policy(f.policy, f.extents.length),
        backward(f.direction == "backward"),
        q(get_dataset<T>(f.input, Place::held(f).extents)),
        k(get_dataset<T>(f.input + "#1", q->extents)),
        v(get_dataset<T>(f.input + "#2", q->extents)),
        dy(backward ? get_dataset<T>("uniform", q->extents) : nullptr),
        y(q->values.size()),
        dq(backward ? y.size() : 0),
        dk(dq.size()),
        dv(dq.size()),
        bias(static_cast<std::size_t>(policy.relative() ? 2 * f.extents.length - 1 : 0)),
        dbias(backward ? bias.size() : 0),
        placed_q(f.extents, q->values),
        placed_k(f.extents, k->values),
        placed_v(f.extents, v->values),
        placed_y(f.extents, y),
        placed_dq(f.extents, dq),
        placed_dk(f.extents, dk),
        placed_dv(f.extents, dv),
        placed_bias(of_distances(), sloped(bias)),
        placed_dbias(of_distances(), dbias) {
    this->saved_bytes = f.direction == "forward_values" ? 0 : attention_state_bytes<T>(f);
    this->traffic_bytes = (backward ? 8 : 4) * placed_q.bytes() + this->saved_bytes;
    // Two matrix products forward; four backward, and a fifth where the map is recomputed.
    double const products = backward ? (policy.materialized() ? 4.0 : 5.0) : 2.0;
    double const pairs = policy.mask.pairs(policy.heads) * static_cast<double>(f.extents.batch);
    this->flops = products * 2.0 * pairs * static_cast<double>(f.extents.channels / policy.heads);
    this->tolerance = std::numeric_limits<double>::max();  // depends on the data: see max_error
    state = decltype(state)(this->saved_bytes);
    if (backward) placed_dy = tensor(f.extents, dy->values);
    call([&](auto const& op, auto const& saved) {
      this->allocate(op.template workspace_bytes<T>(this->exec(), heads(placed_q.view()).extents(),
                                                    heads(placed_v.view()).extents(),
                                                    distances(placed_dbias.view()).extents()));
      if (!backward) return;
      op.forward(this->exec(), inputs(), heads(placed_y.view()), saved, this->scratch,
                 options<ss::attention_options>());
      Place::wait();
    });
  }

  void run() override {
    call([&](auto const& op, auto const& saved) {
      auto const on = this->exec();
      auto const out = heads(placed_y.view());
      if (backward)
        op.backward(on, heads(placed_dy.const_view()), inputs(), heads(placed_y.const_view()),
                    saved,
                    {heads(placed_dq.view()), heads(placed_dk.view()), heads(placed_dv.view()),
                     distances(placed_dbias.view())},
                    this->scratch, options<ss::attention_backward_options>());
      else if (this->at.direction == "forward")
        op.forward(on, inputs(), out, saved, this->scratch, options<ss::attention_options>());
      else
        op.forward(on, inputs(), out, ss::no_saved, this->scratch,
                   options<ss::attention_options>());
    });
  }

  // Checks the last head of the last sample, relative to the sums of absolute values.
  double max_error() override {
    bool const alike = backward ? placed_dq.fetch(dq) && placed_dk.fetch(dk) && placed_dv.fetch(dv)
                                : placed_y.fetch(y);
    if (!alike) return wrong;
    attention_oracle const oracle(head_of(q->values), head_of(k->values), head_of(v->values),
                                  backward ? head_of(dy->values) : matrix(),
                                  policy.mask.of_head(policy.heads - 1), variant());
    double const allowed =
        oracle.tolerance(unit_roundoff<ss::detail::accumulator_t<T>>(), unit_roundoff<T>());
    std::vector<std::size_t> const rows = sampled_rows();
    double error = 0.0;
    if (!backward) {
      for (std::size_t const i : rows) error = worst(error, error_of(y, i, oracle.y(i)));
    } else {
      for (std::size_t const i : rows) error = worst(error, error_of(dq, i, oracle.dq(i)));
      auto const of_keys = oracle.gradients_of(rows);
      for (std::size_t at_row = 0; at_row < rows.size(); ++at_row) {
        error = worst(error, error_of(dk, rows[at_row], of_keys.dk[at_row]));
        error = worst(error, error_of(dv, rows[at_row], of_keys.dv[at_row]));
      }
    }
    return error <= allowed ? error : wrong;
  }

 private:
  using tensor = typename Place::template tensor<T>;

  // Calls f(operator, its state).
  template <class F>
  void call(F const& f) {
    with_attention<Place>(this->at, Map::of(policy), [&](auto const& op) {
      if constexpr (std::is_same_v<decltype(op.algorithm()), ss::streaming const&>)
        f(op, state_of<ss::detail::accumulator_t<T>>(2));
      else
        f(op, state_of<T>(this->at.extents.length));
    });
  }
  template <class S>
  ss::tensor4<S> state_of(ss::index_t last) const {
    return {reinterpret_cast<S*>(state.data()),
            {this->at.extents.batch, policy.heads, this->at.extents.length, last}};
  }
  template <class E>
  ss::tensor4<E> heads(ss::tensor3<E> x) const {
    return ss::split_heads(x, policy.heads);
  }
  ss::attention_inputs<T> inputs() const {
    return {heads(placed_q.view()), heads(placed_k.view()), heads(placed_v.view()),
            distances(placed_bias.view())};
  }
  template <class Options>
  Options options() const {
    Options o;
    o.dropout = policy.dropout();
    return o;
  }

  // A bias by distance: ALiBi's, of a slope that leaves far keys some weight.
  ss::extents3 of_distances() const { return {1, 1, static_cast<ss::index_t>(bias.size())}; }
  static ss::tensor4<T> distances(ss::tensor3<T> b) {
    if (b.data() == nullptr) return {};
    return {b.data(), {1, 1, 1, b.extents().channels}};
  }
  static buffer<T> const& sloped(buffer<T> const& b) {
    double const middle = static_cast<double>(b.size() / 2);
    for (std::size_t n = 0; n < b.size(); ++n)
      b[n] = from_double<T>(-std::abs(static_cast<double>(n) - middle) / 1024);
    return b;
  }
  attention_oracle::variant variant() const {
    attention_oracle::variant of;
    if (policy.relative())
      of.bias = [this](std::size_t i, std::size_t j) {
        return decoded(bias[j + static_cast<std::size_t>(q->extents.length) - 1 - i]);
      };
    ss::dropout const drop = policy.dropout();
    if (drop.rate > 0)
      of.factor = [this, drop](std::size_t i, std::size_t j) {
        auto const last = static_cast<std::uint64_t>(q->extents.batch * policy.heads - 1);
        std::uint64_t const number = i * static_cast<std::uint64_t>(q->extents.length) + j;
        return ss::detail::counter_hash32(drop.seed, last, number) >= drop.rate * 4294967296.0
                   ? 1 / (1 - drop.rate)
                   : 0.0;
      };
    return of;
  }
  std::size_t channels() const {
    return static_cast<std::size_t>(q->extents.channels / policy.heads);
  }
  std::size_t start(std::size_t row) const {
    auto const all = static_cast<std::size_t>(q->extents.channels),
               rows = static_cast<std::size_t>(q->extents.length),
               batch = static_cast<std::size_t>(q->extents.batch);
    return ((batch - 1) * rows + row) * all + (all - channels());
  }
  matrix head_of(buffer<T> const& from) const {
    matrix m(static_cast<std::size_t>(q->extents.length), channels());
    for (std::size_t i = 0; i < m.rows; ++i)
      for (std::size_t c = 0; c < m.columns; ++c) m.row(i)[c] = decoded(from[start(i) + c]);
    return m;
  }
  std::vector<std::size_t> sampled_rows() const {
    auto const n = static_cast<std::size_t>(q->extents.length);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < n; i += n / 24 | 1) rows.push_back(i);
    if (rows.back() != n - 1) rows.push_back(n - 1);
    return rows;
  }
  double error_of(buffer<T> const& is, std::size_t row, row_and_size const& want) const {
    double error = 0.0;
    for (std::size_t c = 0; c < want.value.size(); ++c) {
      double const off = std::abs(decoded(is[start(row) + c]) - want.value[c]);
      error = worst(error, off / (want.size[c] + std::numeric_limits<double>::min()));
    }
    return error;
  }

  attention_policy const policy;
  bool const backward;
  std::shared_ptr<dataset<T>> q, k, v, dy;
  buffer<T> y, dq, dk, dv;
  buffer<T> bias, dbias;  // [distances], if the policy has one
  tensor placed_q, placed_k, placed_v, placed_y, placed_dy, placed_dq, placed_dk, placed_dv,
      placed_bias, placed_dbias;
  typename Place::template memory<unsigned char> state;
};

// Every direction of some policies. `f(fields)` adds the case; backend and threads are still to be
// set.
template <class T, class F>
void for_each_attention_direction(std::vector<std::string> const& policies,
                                  std::string const& input, ss::extents3 e, F const& f) {
  fields at;
  at.subject = "softmax_attention";
  at.dtype = ss::dtype_traits<T>::name;
  for (std::string const& policy : policies)
    for (char const* const direction : {"forward", "forward_values", "backward"}) {
      at.policy = policy, at.input = input, at.direction = direction, at.extents = e;
      f(at);
    }
}

// The text task, with every number of heads that divides the channels.
template <class T, class F>
void for_each_attention_task(std::vector<std::string> const& forms, F const& f) {
  for_each_task_shape([&](std::string const& input, ss::extents3 e) {
    for (ss::index_t const heads : the_task().heads) {
      if (e.channels % heads != 0) continue;
      std::vector<std::string> policies;
      for (std::string const& form : forms) policies.push_back(form + std::to_string(heads));
      for_each_attention_direction<T>(policies, input, e, f);
    }
  });
}

template <class T, class F>
void for_each_attention_setting(F const& f) {
  for_each_attention_task<T>({"streaming-full-H:", "streaming-window-H:",
                              "streaming-block_local-H:", "materialized-full-H:"},
                             f);
  // The promised shapes: heads of 64 channels.
  for_each_attention_direction<T>({"streaming-full-H:8", "materialized-full-H:8"}, "normal",
                                  {1, 4096, 512}, f);
  // Small enough to run everything once.
  for (char const* const input : {"normal", "text"})
    for_each_attention_direction<T>({"streaming-full-H:4", "streaming-window-H:4",
                                     "streaming-block_local-H:4", "materialized-full-H:4"},
                                    input, {2, 37, 24}, f);
}

// A relative bias and dropout, at the promised shape, and small enough to run everything once.
template <class T, class F>
void for_each_variant_setting(F const& f) {
  for_each_attention_direction<T>({"streaming-relative-H:8", "streaming-dropout-H:8"}, "normal",
                                  {1, 4096, 512}, f);
  for_each_attention_direction<T>({"streaming-relative-H:4", "streaming-dropout-H:4"}, "normal",
                                  {2, 37, 24}, f);
}

// The same settings of the other masks, and the promised ones of some.
template <class T, class F>
void for_each_sparse_setting(F const& f) {
  for_each_attention_task<T>(
      {"streaming-causal-H:", "streaming-strided-H:", "streaming-window_globals-H:",
       "streaming-causal_fixed-H:", "streaming-bigbird-H:"},
      f);
  for_each_attention_direction<T>(
      {"streaming-window_globals-H:8", "streaming-fixed-H:8", "streaming-bigbird-H:8"}, "normal",
      {1, 4096, 512}, f);
  for_each_attention_direction<T>(
      {"streaming-causal-H:4", "streaming-strided-H:4", "streaming-window_globals-H:4",
       "streaming-fixed-H:4", "streaming-causal_fixed-H:4", "streaming-bigbird-H:4"},
      "normal", {2, 37, 24}, f);
}

// The same settings, where they have all keys and no map.
template <class T, class F>
void for_each_native_setting(F const& f) {
  for_each_attention_task<T>({"native-full-H:"}, f);
  for_each_attention_direction<T>({"native-full-H:8"}, "normal", {1, 4096, 512}, f);
  for (char const* const input : {"normal", "text"})
    for_each_attention_direction<T>({"native-full-H:4"}, input, {2, 37, 24}, f);
}

}  // namespace bench
