// SPDX-License-Identifier: Apache-2.0
// The list of calls of calls.hpp.
#pragma once

#include "calls.hpp"
#include "operands.hpp"

#include "support/pattern_order.hpp"

#include <slicesort/slicesort.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace support {

inline constexpr pattern_order order{irregular};

template <class T>
class call_list {
 public:
  using A = ss::detail::accumulator_t<T>;

  call_list() {
    add_moves();
    add_csp<0>("pairs", ss::csp{ss::group_size{2}, ss::shift::linear{}, order});
    add_csp<1>("groups", ss::csp{ss::group_size{24}, ss::shift::linear_step{5}, ss::reference{1}},
               accumulating);
    // Groups of more than 256 rows, aligned to a channel.
    add_csp<2>("long groups",
               ss::csp{ss::group_size{600}, ss::shift::power{1, 2}, ss::reference{0}});
    add_csp<3>("columns", ss::csp{ss::group_count{1}, ss::shift::modular{}, ss::descending{}});
    if constexpr (sizeof(T) > 2) add_sinkhorn();
    add_mix();
    add_permute();
    // Feature maps and divisors whose sums are not near 0.
    using sum_plus = ss::divisor::sum_plus;
    add_linear("", ss::linear_attention<>{}, false);
    add_linear(", causal",
               ss::linear_attention<ss::feature::random_exp, sum_plus, ss::direction::causal>{
                   ss::feature::random_exp{0.03125}, sum_plus{0.25}},
               true);
    add_merge();
  }
  std::vector<named_call<T>> calls;

 private:
  using O = operands<T>;
  using W = ss::workspace;

  // Adds a call with bytes(exec, operands) and run(exec, operands, workspace) for any policy.
  template <class Bytes, class Run>
  named_call<T>& add(std::string label, Bytes const& bytes, Run const& run) {
    calls.push_back({std::move(label),
                     [bytes](call_exec const& policy, O const& o) {
                       return std::visit([&](auto exec) { return bytes(exec, o); }, policy);
                     },
                     [run](call_exec const& policy, O const& o, W w) {
                       std::visit([&](auto exec) { run(exec, o, w); }, policy);
                     }});
    return calls.back();
  }
  template <class Op>
  static auto bytes_of(Op const& op) {
    return [op](auto exec, O const& o) -> std::size_t {
      return op.template workspace_bytes<T>(exec, o.e);
    };
  }
  static constexpr ss::grad_mode overwriting = ss::grad_mode::overwrite,
                                 accumulating = ss::grad_mode::accumulate;

  void add_moves() {
    ss::slicing_sort<pattern_order> const sort(order);
    auto const bytes = bytes_of(sort);
    add("slicing_sort.forward", bytes, [=](auto exec, O const& o, W w) {
      sort.forward(exec, o.tensor(o.x), o.tensor(o.y), {o.tensor(o.perm)}, w, {o.valid()});
    }).saves = true;
    add("slicing_sort.forward, not saved", bytes, [=](auto exec, O const& o, W w) {
      sort.forward(exec, o.tensor(o.x), o.tensor(o.y), ss::no_saved, w, {o.valid()});
    });
    for (ss::grad_mode mode : {overwriting, accumulating})
      add(mode == accumulating ? "slicing_sort.backward, accumulating" : "slicing_sort.backward",
          bytes,
          [=](auto exec, O const& o, W w) {
            sort.backward(exec, o.tensor(o.dy), {o.tensor(o.saved_perm)}, o.tensor(o.dx), w,
                          {mode, o.valid()});
          })
          .accumulates = mode == accumulating;

    ss::multi_permutation<pattern_order> const multi(components, order);
    add("multi_permutation.forward", bytes_of(multi), [=](auto exec, O const& o, W w) {
      multi.forward(exec, o.tensor(o.x), ss::tensor1<A const>(o.weights, components), o.tensor(o.y),
                    {o.tensor(o.perm)}, w, {o.valid()});
    });
    add("multi_permutation.backward", bytes_of(multi), [=](auto exec, O const& o, W w) {
      multi.backward(exec, o.tensor(o.dy), o.tensor(o.x),
                     ss::tensor1<A const>(o.weights, components), {o.tensor(o.saved_perm)},
                     o.tensor(o.dx), ss::tensor1<A>(o.dweights, components), w,
                     {overwriting, o.valid()});
    });

    ss::max_exchange const exchange(0);
    add("max_exchange.forward", bytes_of(exchange), [=](auto exec, O const& o, W w) {
      exchange.forward(exec, o.tensor(o.x), o.tensor(o.y), {o.row(o.maximum)}, w, {o.valid()});
    }).saves = true;
    add("max_exchange.backward", bytes_of(exchange), [=](auto exec, O const& o, W w) {
      exchange.backward(exec, o.tensor(o.dy), {o.row(o.saved_maximum)}, o.tensor(o.dx), w,
                        {overwriting, o.valid()});
    });

    // The filters are the first elements of x, their gradients those of the gradient of q.
    auto const convolution = ss::short_convolution::causal(4);
    auto const filters = [](T* data) { return tensor3<T>(data, {1, 4, 1}); };
    add("short_convolution.forward", bytes_of(convolution), [=](auto exec, O const& o, W w) {
      convolution.forward(exec, o.tensor(o.x), filters(o.x), o.tensor(o.y), w, {o.valid()});
    });
    add("short_convolution.backward", bytes_of(convolution), [=](auto exec, O const& o, W w) {
      convolution.backward(exec, o.tensor(o.dy), o.tensor(o.x), filters(o.x), o.tensor(o.dx),
                           filters(o.dq), w, {overwriting, o.valid()});
    });

    add_shuffle("shared", ss::shuffle<ss::shared_by_channels>(9));
    add_shuffle("own", ss::shuffle<ss::per_channel>(9));
  }

  template <class Op>
  void add_shuffle(std::string const& variant, Op const& op) {
    add("shuffle.forward, " + variant, bytes_of(op), [=](auto exec, O const& o, W w) {
      op.forward(exec, o.tensor(o.x), o.tensor(o.y), w, {o.valid()});
    });
    add("shuffle.backward, " + variant, bytes_of(op), [=](auto exec, O const& o, W w) {
      op.backward(exec, o.tensor(o.dy), o.tensor(o.dx), w, {overwriting, o.valid()});
    });
  }

  // The view of csp's saved order.
  template <class Op>
  static ss::index_tensor3 order_view(Op const& op, std::uint32_t* data, extents3 e) {
    extents3 const saved = op.saved_extents(e);
    switch (op.saved_width(e)) {
      case ss::index_width::bits8:
        return tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(data), saved);
      case ss::index_width::bits16:
        return tensor3<std::uint16_t>(reinterpret_cast<std::uint16_t*>(data), saved);
      default:
        return tensor3<std::uint32_t>(data, saved);
    }
  }
  template <int Number, class Op>
  void add_csp(std::string const& variant, Op const& op, ss::grad_mode mode = overwriting) {
    add("csp.forward, " + variant, bytes_of(op), [=](auto exec, O const& o, W w) {
      op.forward(exec, o.tensor(o.x), o.tensor(o.y), {order_view(op, o.new_orders[Number], o.e)}, w,
                 {o.valid()});
    }).saves = true;
    add("csp.backward, " + variant + (mode == accumulating ? ", accumulating" : ""), bytes_of(op),
        [=](auto exec, O const& o, W w) {
          ss::const_index_tensor3 const saved = order_view(op, o.saved_orders[Number], o.e);
          op.backward(exec, o.tensor(o.dy), {saved}, o.tensor(o.dx), w, {mode, o.valid()});
        })
        .accumulates = mode == accumulating;
  }

  void add_sinkhorn() {
    ss::sinkhorn_csp<> const op{ss::group_size{12}, {0.5, 3}};
    add("sinkhorn_csp.forward", bytes_of(op), [=](auto exec, O const& o, W w) {
      op.forward(exec, o.tensor(o.x), o.tensor(o.y), w, {o.valid()});
    });
    add("sinkhorn_csp.backward", bytes_of(op), [=](auto exec, O const& o, W w) {
      op.backward(exec, o.tensor(o.dy), o.tensor(o.x), o.tensor(o.dx), w, {overwriting, o.valid()});
    });
  }

  void add_mix() {
    auto const bytes_of_mix = [](auto const& op) {
      return [op](auto exec, O const& o) -> std::size_t {
        return op.template workspace_bytes<T>(exec, o.e, o.of_mixing());
      };
    };
    ss::sparse_mix<ss::topology::cdil> const saving;
    auto const states = [=](T* data, O const& o) {
      return ss::tensor_stack<T>(data, saving.saved_extents(o.e, o.of_mixing()));
    };
    add("sparse_mix.forward", bytes_of_mix(saving), [=](auto exec, O const& o, W w) {
      saving.forward(exec, o.tensor(o.x), o.mixing(o.mix_weights), o.tensor(o.y),
                     {states(o.new_states, o)}, w, {o.valid()});
    }).saves = true;
    add("sparse_mix.backward", bytes_of_mix(saving), [=](auto exec, O const& o, W w) {
      saving.backward(exec, o.tensor(o.dy), o.tensor(o.x), o.mixing(o.mix_weights),
                      {states(o.saved_states, o)}, o.tensor(o.dx), o.mixing(o.dmix_weights), w,
                      {overwriting, o.valid()});
    });
    ss::sparse_mix<ss::topology::cdil, ss::residual::none> const recomputing{ss::recompute};
    add("sparse_mix.forward, recomputing", bytes_of_mix(recomputing),
        [=](auto exec, O const& o, W w) {
          recomputing.forward(exec, o.tensor(o.x), o.mixing(o.mix_weights), o.tensor(o.y),
                              ss::no_saved, w, {o.valid()});
        });
    add("sparse_mix.backward, of x, accumulating", bytes_of_mix(recomputing),
        [=](auto exec, O const& o, W w) {
          recomputing.backward(exec, o.tensor(o.dy), o.mixing(o.mix_weights), o.tensor(o.dx), w,
                               {accumulating, o.valid()});
        })
        .accumulates = true;
  }

  // permute, with the permutation that slicing_sort saves.
  void add_permute() {
    ss::permute const op;
    add("permute.forward", bytes_of(op), [=](auto exec, O const& o, W w) {
      op.forward(exec, o.tensor(o.x), {o.tensor(o.saved_perm)}, o.tensor(o.y), w, {o.valid()});
    });
    add("permute.backward, accumulating", bytes_of(op), [=](auto exec, O const& o, W w) {
      op.backward(exec, o.tensor(o.dy), {o.tensor(o.saved_perm)}, o.tensor(o.dx), w,
                  {accumulating, o.valid()});
    }).accumulates = true;
  }

  // `random`: the features have a random matrix, which has a gradient.
  template <class Op>
  void add_linear(std::string const& variant, Op const& op, bool random) {
    auto const extents_of_w = [=](O const& o) { return random ? o.attention.of_w() : extents3{}; };
    auto const bytes = [=](bool backward) {
      return [=](auto exec, O const& o) -> std::size_t {
        ss::extents4 const heads = o.attention.of_heads();
        return op.template workspace_bytes<T>(exec, heads, heads, extents_of_w(o),
                                              backward ? extents_of_w(o) : extents3{});
      };
    };
    auto const matrix = [=](T* data, O const& o) {
      return ss::tensor3<T>(random ? data : nullptr, extents_of_w(o));
    };
    auto const inputs = [=](O const& o) {
      return ss::linear_attention_inputs<T>{o.heads(o.q), o.heads(o.k), o.heads(o.v),
                                            matrix(o.random_rows, o)};
    };
    add("linear_attention.forward" + variant, bytes(false), [=](auto exec, O const& o, W w) {
      auto const rows = o.valid_in_attention();
      op.forward(exec, inputs(o), o.heads(o.attended), w, ss::lengths(rows, rows));
    });
    add("linear_attention.backward" + variant, bytes(true), [=](auto exec, O const& o, W w) {
      auto const rows = o.valid_in_attention();
      op.backward(exec, o.heads(o.dattended), inputs(o),
                  {o.heads(o.dq), o.heads(o.dk), o.heads(o.dv), matrix(o.drandom_rows, o)}, w,
                  ss::lengths(rows, rows));
    });
  }

  // merge_attention of two splits.
  void add_merge() {
    auto const bytes = [](auto exec, O const& o) -> std::size_t {
      return ss::merge_attention::workspace_bytes<T>(exec, o.attention.of_heads());
    };
    auto const splits = [](O const& o) {
      ss::extents4 const e = o.attention.of_state();
      return ss::attention_parts<T>{
          {o.heads(o.k), ss::tensor4<A const>(o.softmax_state, e)},
          {o.heads(o.v), ss::tensor4<A const>(o.softmax_state + e.size(), e)}};
    };
    add("merge_attention.forward", bytes, [=](auto exec, O const& o, W w) {
      ss::merge_attention().forward(exec, splits(o), o.heads(o.attended),
                                    {ss::tensor4<A>(o.merged_state, o.attention.of_state())}, w);
    });
    add("merge_attention.forward, not saved", bytes, [=](auto exec, O const& o, W w) {
      ss::merge_attention().forward(exec, splits(o), o.heads(o.attended), ss::no_saved, w);
    });
  }
};

}  // namespace support
