// SPDX-License-Identifier: Apache-2.0
// The cases of softmax attention. Their policy is a name such as streaming-window-H:4: algorithm,
// mask and heads. The algorithm `native` is streaming with native products. In the mask's place,
// `relative` is a bias by distance that all heads share, with its gradient, and `dropout` drops a
// tenth of the weights; both have all keys.
#pragma once

#include "attention_masks.hpp"
#include "attention_tensors.hpp"

#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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

// Data, the calls, and the comparison of their results with the oracle. Map: `of(policy)` is the
// algorithm called materialized.
template <class T, class Place, class Map>
class attention_job final : public attention_tensors<T, Place> {
  using base = attention_tensors<T, Place>;
  using base::at, base::backward, base::heads, base::q, base::k, base::v, base::dy, base::y;
  using base::placed_dy, base::placed_dq, base::placed_dk, base::placed_dv;
  using base::split, base::placed_q, base::placed_k, base::placed_v, base::placed_y;

 public:
  explicit attention_job(fields const& f)
      : base(f, attention_policy(f.policy, f.extents.length).heads, true),
        policy(f.policy, f.extents.length),
        bias(static_cast<std::size_t>(policy.relative() ? 2 * f.extents.length - 1 : 0)),
        dbias(backward ? bias.size() : 0),
        placed_bias(of_distances(), sloped(bias)),
        placed_dbias(of_distances(), dbias) {
    this->saved_bytes = f.direction == "forward_values" ? 0 : attention_state_bytes<T>(f);
    this->traffic_bytes = (backward ? 8 : 4) * placed_q.bytes() + this->saved_bytes;
    // Two matrix products forward; four backward, and a fifth where the map is recomputed.
    double const products = backward ? (policy.materialized() ? 4.0 : 5.0) : 2.0;
    double const pairs = policy.mask.pairs(heads) * static_cast<double>(f.extents.batch);
    this->flops = products * 2.0 * pairs * static_cast<double>(this->channels);
    this->tolerance = std::numeric_limits<double>::max();  // depends on the data: see max_error
    state = decltype(state)(this->saved_bytes);
    call([&](auto const& op, auto const& saved) {
      this->allocate(op.template workspace_bytes<T>(this->exec(), split(placed_q.view()).extents(),
                                                    split(placed_v.view()).extents(),
                                                    distances(placed_dbias.view()).extents()));
      if (!backward) return;
      op.forward(this->exec(), inputs(), split(placed_y.view()), saved, this->scratch,
                 options<ss::attention_options>());
      Place::wait();
    });
  }

  void run() override {
    call([&](auto const& op, auto const& saved) {
      auto const exec = this->exec();
      auto const out = split(placed_y.view());
      if (backward)
        op.backward(exec, split(placed_dy.const_view()), inputs(), split(placed_y.const_view()),
                    saved,
                    {split(placed_dq.view()), split(placed_dk.view()), split(placed_dv.view()),
                     distances(placed_dbias.view())},
                    this->scratch, options<ss::attention_backward_options>());
      else if (at.direction == "forward")
        op.forward(exec, inputs(), out, saved, this->scratch, options<ss::attention_options>());
      else
        op.forward(exec, inputs(), out, ss::no_saved, this->scratch,
                   options<ss::attention_options>());
    });
  }

  // Checks the last head of the last sample, relative to the sums of absolute values.
  double max_error() override {
    if (!this->fetch()) return wrong;
    attention_oracle const oracle(
        this->head_of(q->values), this->head_of(k->values), this->head_of(v->values),
        backward ? this->head_of(dy->values) : matrix(), policy.mask.of_head(heads - 1), variant());
    double const allowed =
        oracle.tolerance(unit_roundoff<ss::detail::accumulator_t<T>>(), unit_roundoff<T>());
    std::vector<std::size_t> const rows = sampled_rows();
    double error = 0.0;
    if (!backward) {
      for (std::size_t const i : rows) error = worst(error, this->error_of_row(y, i, oracle.y(i)));
    } else {
      for (std::size_t const i : rows)
        error = worst(error, this->error_of_row(this->dq, i, oracle.dq(i)));
      auto const of_keys = oracle.gradients_of(rows);
      for (std::size_t at_row = 0; at_row < rows.size(); ++at_row) {
        error = worst(error, this->error_of_row(this->dk, rows[at_row], of_keys.dk[at_row]));
        error = worst(error, this->error_of_row(this->dv, rows[at_row], of_keys.dv[at_row]));
      }
    }
    return error <= allowed ? error : wrong;
  }

 private:
  // Calls f(operator, its state).
  template <class F>
  void call(F const& f) {
    with_attention<Place>(at, Map::of(policy), [&](auto const& op) {
      if constexpr (std::is_same_v<decltype(op.algorithm()), ss::streaming const&>)
        f(op, state_of<ss::detail::accumulator_t<T>>(2));
      else
        f(op, state_of<T>(this->at.extents.length));
    });
  }
  template <class S>
  ss::tensor4<S> state_of(ss::index_t last) const {
    return {reinterpret_cast<S*>(state.data()), {at.extents.batch, heads, at.extents.length, last}};
  }
  ss::attention_inputs<T> inputs() const {
    return {split(placed_q.view()), split(placed_k.view()), split(placed_v.view()),
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
        auto const last = static_cast<std::uint64_t>(q->extents.batch * heads - 1);
        std::uint64_t const number = i * static_cast<std::uint64_t>(q->extents.length) + j;
        return ss::detail::counter_hash32(drop.seed, last, number) >= drop.rate * 4294967296.0
                   ? 1 / (1 - drop.rate)
                   : 0.0;
      };
    return of;
  }
  std::vector<std::size_t> sampled_rows() const {
    auto const n = static_cast<std::size_t>(q->extents.length);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < n; i += n / 24 | 1) rows.push_back(i);
    if (rows.back() != n - 1) rows.push_back(n - 1);
    return rows;
  }

  attention_policy const policy;
  buffer<T> bias, dbias;  // [distances], if the policy has one
  typename base::tensor placed_bias, placed_dbias;
  typename Place::template memory<unsigned char> state;
};

template <class T, class F>
void for_each_attention_setting(F const& f) {
  for_each_task_direction<T>("softmax_attention",
                             {"streaming-full-H:", "streaming-window-H:",
                              "streaming-block_local-H:", "materialized-full-H:"},
                             f);
  // The promised shapes: heads of 64 channels.
  for_each_direction<T>("softmax_attention", {"streaming-full-H:8", "materialized-full-H:8"},
                        "normal", {1, 4096, 512}, f);
  // Small enough to run everything once.
  for (char const* const input : {"normal", "text"})
    for_each_direction<T>("softmax_attention",
                          {"streaming-full-H:4", "streaming-window-H:4",
                           "streaming-block_local-H:4", "materialized-full-H:4"},
                          input, {2, 37, 24}, f);
}

// A relative bias and dropout, at the promised shape, and small enough to run everything once.
template <class T, class F>
void for_each_variant_setting(F const& f) {
  for_each_direction<T>("softmax_attention", {"streaming-relative-H:8", "streaming-dropout-H:8"},
                        "normal", {1, 4096, 512}, f);
  for_each_direction<T>("softmax_attention", {"streaming-relative-H:4", "streaming-dropout-H:4"},
                        "normal", {2, 37, 24}, f);
}

// The same settings of the other masks, and the promised ones of some.
template <class T, class F>
void for_each_sparse_setting(F const& f) {
  for_each_task_direction<T>(
      "softmax_attention",
      {"streaming-causal-H:", "streaming-strided-H:", "streaming-window_globals-H:",
       "streaming-causal_fixed-H:", "streaming-bigbird-H:"},
      f);
  for_each_direction<T>(
      "softmax_attention",
      {"streaming-window_globals-H:8", "streaming-fixed-H:8", "streaming-bigbird-H:8"}, "normal",
      {1, 4096, 512}, f);
  for_each_direction<T>(
      "softmax_attention",
      {"streaming-causal-H:4", "streaming-strided-H:4", "streaming-window_globals-H:4",
       "streaming-fixed-H:4", "streaming-causal_fixed-H:4", "streaming-bigbird-H:4"},
      "normal", {2, 37, 24}, f);
}

// The same settings, where they have all keys and no map.
template <class T, class F>
void for_each_native_setting(F const& f) {
  for_each_task_direction<T>("softmax_attention", {"native-full-H:"}, f);
  for_each_direction<T>("softmax_attention", {"native-full-H:8"}, "normal", {1, 4096, 512}, f);
  for (char const* const input : {"normal", "text"})
    for_each_direction<T>("softmax_attention", {"native-full-H:4"}, input, {2, 37, 24}, f);
}

}  // namespace bench
