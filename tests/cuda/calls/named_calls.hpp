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
    add_permutations();
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
  using call_operands = operands<T>;

  // Adds a call with bytes(exec, operands) and run(exec, operands, workspace) for any policy.
  template <class Bytes, class Run>
  named_call<T>& add(std::string label, Bytes const& bytes, Run const& run) {
    calls.push_back(
        {std::move(label),
         [bytes](call_exec const& policy, call_operands const& ops) {
           return std::visit([&](auto exec) { return bytes(exec, ops); }, policy);
         },
         [run](call_exec const& policy, call_operands const& ops, ss::workspace scratch) {
           std::visit([&](auto exec) { run(exec, ops, scratch); }, policy);
         }});
    return calls.back();
  }
  template <class Op>
  static auto bytes_of(Op const& op) {
    return [op](auto exec, call_operands const& ops) -> std::size_t {
      return op.template workspace_bytes<T>(exec, ops.e);
    };
  }
  static constexpr ss::grad_mode overwriting = ss::grad_mode::overwrite,
                                 accumulating = ss::grad_mode::accumulate;

  void add_permutations() {
    ss::slicing_sort<pattern_order> const sort(order);
    auto const bytes = bytes_of(sort);
    add("slicing_sort.forward", bytes,
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          sort.forward(exec, ops.view(ops.x), ops.view(ops.y), {ops.view(ops.perm)}, scratch,
                       {ops.valid_lengths()});
        })
        .saves_state = true;
    add("slicing_sort.forward, not saved", bytes,
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          sort.forward(exec, ops.view(ops.x), ops.view(ops.y), ss::no_saved, scratch,
                       {ops.valid_lengths()});
        });
    for (ss::grad_mode mode : {overwriting, accumulating})
      add(mode == accumulating ? "slicing_sort.backward, accumulating" : "slicing_sort.backward",
          bytes,
          [=](auto exec, call_operands const& ops, ss::workspace scratch) {
            sort.backward(exec, ops.view(ops.dy), {ops.view(ops.saved_perm)}, ops.view(ops.dx),
                          scratch, {mode, ops.valid_lengths()});
          })
          .accumulates = mode == accumulating;

    ss::top_k<pattern_order> const largest(1, ss::top_k_output::sorted, ss::nan_order::total,
                                           order);
    add("top_k.forward", bytes_of(largest),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          largest.forward(exec, ops.view(ops.x), ops.row_view(ops.y),
                          {ops.row_view(ops.max_indices)}, scratch, {ops.valid_lengths()});
        })
        .saves_state = true;
    add("top_k.backward", bytes_of(largest),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          largest.backward(exec, ops.row_view(ops.dy), {ops.row_view(ops.saved_max_indices)},
                           ops.view(ops.dx), scratch);
        });

    ss::multi_permutation<pattern_order> const multi(components, order);
    add("multi_permutation.forward", bytes_of(multi),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          multi.forward(exec, ops.view(ops.x), ss::tensor1<A const>(ops.weights, components),
                        ops.view(ops.y), {ops.view(ops.perm)}, scratch, {ops.valid_lengths()});
        });
    add("multi_permutation.backward", bytes_of(multi),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          multi.backward(exec, ops.view(ops.dy), ops.view(ops.x),
                         ss::tensor1<A const>(ops.weights, components), {ops.view(ops.saved_perm)},
                         ops.view(ops.dx), ss::tensor1<A>(ops.dweights, components), scratch,
                         {overwriting, ops.valid_lengths()});
        });

    ss::soft_sort<ss::regularization::entropic, pattern_order> const soft(0.5, {}, order);
    add("soft_sort.forward", bytes_of(soft),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          soft.forward(exec, ops.view(ops.x), ops.view(ops.y), ss::no_saved, scratch,
                       {ops.valid_lengths()});
        });
    add("soft_sort.backward", bytes_of(soft),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          // The permutation serves as pools too; most rows are alone in theirs.
          soft.backward(exec, ops.view(ops.dy), ops.view(ops.x),
                        {ops.view(ops.saved_perm), ops.view(ops.saved_perm)}, ops.view(ops.dx),
                        scratch, {overwriting, ops.valid_lengths()});
        });

    ss::max_exchange const exchange(0);
    add("max_exchange.forward", bytes_of(exchange),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          exchange.forward(exec, ops.view(ops.x), ops.view(ops.y), {ops.row_view(ops.max_indices)},
                           scratch, {ops.valid_lengths()});
        })
        .saves_state = true;
    add("max_exchange.backward", bytes_of(exchange),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          exchange.backward(exec, ops.view(ops.dy), {ops.row_view(ops.saved_max_indices)},
                            ops.view(ops.dx), scratch, {overwriting, ops.valid_lengths()});
        });

    auto const convolution = ss::short_convolution::causal(taps);
    add("short_convolution.forward", bytes_of(convolution),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          convolution.forward(exec, ops.view(ops.x), ops.filter_view(ops.filters), ops.view(ops.y),
                              scratch, {ops.valid_lengths()});
        });
    add("short_convolution.backward", bytes_of(convolution),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          convolution.backward(exec, ops.view(ops.dy), ops.view(ops.x),
                               ops.filter_view(ops.filters), ops.view(ops.dx),
                               ops.filter_view(ops.dfilters), scratch,
                               {overwriting, ops.valid_lengths()});
        });

    ss::decaying_sum const decaying(decay_states);
    add("decaying_sum.forward", bytes_of(decaying),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          decaying.forward(exec, ops.view(ops.x), {ops.decay_view(ops.decays)}, ops.view(ops.y), {},
                           scratch, {ops.valid_lengths()});
        });
    add("decaying_sum.backward", bytes_of(decaying),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          decaying.backward(exec, ops.view(ops.dy), ops.view(ops.x), {ops.decay_view(ops.decays)},
                            {ops.view(ops.dx), ops.decay_view(ops.ddecays)}, {}, scratch,
                            {overwriting, ops.valid_lengths()});
        });

    add_shuffle("shared", ss::shuffle<ss::shared_by_channels>(9));
    add_shuffle("own", ss::shuffle<ss::per_channel>(9));
  }

  template <class Op>
  void add_shuffle(std::string const& variant, Op const& op) {
    add("shuffle.forward, " + variant, bytes_of(op),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          op.forward(exec, ops.view(ops.x), ops.view(ops.y), scratch, {ops.valid_lengths()});
        });
    add("shuffle.backward, " + variant, bytes_of(op),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          op.backward(exec, ops.view(ops.dy), ops.view(ops.dx), scratch,
                      {overwriting, ops.valid_lengths()});
        });
  }

  // Returns a view of csp's saved order.
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
  template <int OrderIndex, class Op>
  void add_csp(std::string const& variant, Op const& op, ss::grad_mode mode = overwriting) {
    add("csp.forward, " + variant, bytes_of(op),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          op.forward(exec, ops.view(ops.x), ops.view(ops.y),
                     {order_view(op, ops.new_orders[OrderIndex], ops.e)}, scratch,
                     {ops.valid_lengths()});
        })
        .saves_state = true;
    add("csp.backward, " + variant + (mode == accumulating ? ", accumulating" : ""), bytes_of(op),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          ss::const_index_tensor3 const saved = order_view(op, ops.saved_orders[OrderIndex], ops.e);
          op.backward(exec, ops.view(ops.dy), {saved}, ops.view(ops.dx), scratch,
                      {mode, ops.valid_lengths()});
        })
        .accumulates = mode == accumulating;
  }

  void add_sinkhorn() {
    ss::sinkhorn const plain{0.5, 3};
    add("sinkhorn.forward", bytes_of(plain),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          plain.forward(exec, ops.view(ops.x), ops.view(ops.y), scratch,
                        {ss::row_and_column_lengths(ops.valid_lengths())});
        });
    add("sinkhorn.backward", bytes_of(plain),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          plain.backward(exec, ops.view(ops.dy), ops.view(ops.x), ops.view(ops.dx), scratch,
                         {overwriting, ss::row_and_column_lengths(ops.valid_lengths())});
        });
    ss::sinkhorn_csp<> const op{ss::group_size{12}, {0.5, 3}};
    add("sinkhorn_csp.forward", bytes_of(op),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          op.forward(exec, ops.view(ops.x), ops.view(ops.y), scratch, {ops.valid_lengths()});
        });
    add("sinkhorn_csp.backward", bytes_of(op),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          op.backward(exec, ops.view(ops.dy), ops.view(ops.x), ops.view(ops.dx), scratch,
                      {overwriting, ops.valid_lengths()});
        });
  }

  void add_mix() {
    auto const bytes_of_mix = [](auto const& op) {
      return [op](auto exec, call_operands const& ops) -> std::size_t {
        return op.template workspace_bytes<T>(exec, ops.e, ops.mixing_extents());
      };
    };
    ss::sparse_mix<ss::topology::cdil> const saving;
    auto const states = [=](T* data, call_operands const& ops) {
      return ss::tensor_stack<T>(data, saving.saved_extents(ops.e, ops.mixing_extents()));
    };
    add("sparse_mix.forward", bytes_of_mix(saving),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          saving.forward(exec, ops.view(ops.x), ops.mixing_view(ops.mix_weights), ops.view(ops.y),
                         {states(ops.new_states, ops)}, scratch, {ops.valid_lengths()});
        })
        .saves_state = true;
    add("sparse_mix.backward", bytes_of_mix(saving),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          saving.backward(exec, ops.view(ops.dy), ops.view(ops.x), ops.mixing_view(ops.mix_weights),
                          {states(ops.saved_states, ops)}, ops.view(ops.dx),
                          ops.mixing_view(ops.dmix_weights), scratch,
                          {overwriting, ops.valid_lengths()});
        });
    ss::sparse_mix<ss::topology::cdil, ss::residual::none> const recomputing{ss::recompute};
    add("sparse_mix.forward, recomputing", bytes_of_mix(recomputing),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          recomputing.forward(exec, ops.view(ops.x), ops.mixing_view(ops.mix_weights),
                              ops.view(ops.y), ss::no_saved, scratch, {ops.valid_lengths()});
        });
    add("sparse_mix.backward, of x, accumulating", bytes_of_mix(recomputing),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          recomputing.backward(exec, ops.view(ops.dy), ops.mixing_view(ops.mix_weights),
                               ops.view(ops.dx), scratch, {accumulating, ops.valid_lengths()});
        })
        .accumulates = true;
  }

  // permute, with the permutation that slicing_sort saves.
  void add_permute() {
    ss::permute const op;
    add("permute.forward", bytes_of(op),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          op.forward(exec, ops.view(ops.x), {ops.view(ops.saved_perm)}, ops.view(ops.y), scratch,
                     {ops.valid_lengths()});
        });
    add("permute.backward, accumulating", bytes_of(op),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          op.backward(exec, ops.view(ops.dy), {ops.view(ops.saved_perm)}, ops.view(ops.dx), scratch,
                      {accumulating, ops.valid_lengths()});
        })
        .accumulates = true;
  }

  // `has_random_rows`: the features have a random matrix, which has a gradient.
  template <class Op>
  void add_linear(std::string const& variant, Op const& op, bool has_random_rows) {
    auto const random_rows_extents = [=](call_operands const& ops) {
      return has_random_rows ? ops.attention.w_extents() : extents3{};
    };
    auto const bytes = [=](bool backward) {
      return [=](auto exec, call_operands const& ops) -> std::size_t {
        ss::extents4 const heads = ops.attention.heads_extents();
        return op.template workspace_bytes<T>(exec, heads, heads, random_rows_extents(ops),
                                              backward ? random_rows_extents(ops) : extents3{});
      };
    };
    auto const matrix = [=](T* data, call_operands const& ops) {
      return ss::tensor3<T>(has_random_rows ? data : nullptr, random_rows_extents(ops));
    };
    auto const inputs = [=](call_operands const& ops) {
      return ss::linear_attention_inputs<T>{ops.heads_view(ops.q), ops.heads_view(ops.k),
                                            ops.heads_view(ops.v), matrix(ops.random_rows, ops)};
    };
    add("linear_attention.forward" + variant, bytes(false),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          auto const lengths = ops.attention_valid_lengths();
          op.forward(exec, inputs(ops), ops.heads_view(ops.attention_output), scratch,
                     ss::lengths(lengths, lengths));
        });
    add("linear_attention.backward" + variant, bytes(true),
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          auto const lengths = ops.attention_valid_lengths();
          op.backward(exec, ops.heads_view(ops.dattention_output), inputs(ops),
                      {ops.heads_view(ops.dq), ops.heads_view(ops.dk), ops.heads_view(ops.dv),
                       matrix(ops.drandom_rows, ops)},
                      scratch, ss::lengths(lengths, lengths));
        });
  }

  // merge_attention of two splits.
  void add_merge() {
    auto const bytes = [](auto exec, call_operands const& ops) -> std::size_t {
      return ss::merge_attention::workspace_bytes<T>(exec, ops.attention.heads_extents());
    };
    auto const splits = [](call_operands const& ops) {
      ss::extents4 const e = ops.attention.state_extents();
      return ss::attention_parts<T>{
          {ops.heads_view(ops.k), ss::tensor4<A const>(ops.softmax_state, e)},
          {ops.heads_view(ops.v), ss::tensor4<A const>(ops.softmax_state + e.size(), e)}};
    };
    add("merge_attention.forward", bytes,
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          ss::merge_attention().forward(
              exec, splits(ops), ops.heads_view(ops.attention_output),
              {ss::tensor4<A>(ops.merged_state, ops.attention.state_extents())}, scratch);
        });
    add("merge_attention.forward, not saved", bytes,
        [=](auto exec, call_operands const& ops, ss::workspace scratch) {
          ss::merge_attention().forward(exec, splits(ops), ops.heads_view(ops.attention_output),
                                        ss::no_saved, scratch);
        });
  }
};

}  // namespace support
