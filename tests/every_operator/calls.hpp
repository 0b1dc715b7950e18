// SPDX-License-Identifier: Apache-2.0
// A list of every call of every operator, as functions of the memory of its tensors.
#pragma once

#include "support/backends.hpp"
#include "support/error_message.hpp"
#include "support/pattern_mask.hpp"
#include "support/pattern_order.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace support {

using ss::extents3;
using ss::extents4;
using ss::index_t;

// Arguments of a call: tensors of floats, which every suite compiles, each between red zones, a
// workspace and lengths. A test can redirect a tensor to other memory.
class arguments {
 public:
  static constexpr std::size_t tensor_distance = 4608, red_zone = 512, max_tensors = 16;
  static constexpr std::size_t max_tensor_bytes = 3200;
  static constexpr std::byte red_zone_byte{0x5a};

  ss::workspace scratch;
  ss::tensor1<index_t const> lengths, query_lengths;

  explicit arguments(std::size_t tensors) : memory_(tensors * tensor_distance + 64, red_zone_byte) {
    auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
    for (std::size_t i = 0; i < tensors; ++i) {
      tensors_[i] = memory_.data() + (64 - address % 64) + i * tensor_distance + red_zone;
      std::fill(tensors_[i], tensors_[i] + max_tensor_bytes, std::byte{0});
    }
  }

  std::byte*& operator[](std::size_t i) { return tensors_[i]; }
  // Returns tensor `i` as a view of elements T.
  template <class T = float>
  ss::tensor3<T> view(std::size_t i, extents3 e) const {
    return {reinterpret_cast<T*>(tensors_[i]), e};
  }
  template <class T = float>
  ss::tensor4<T> view(std::size_t i, extents4 e) const {
    return {reinterpret_cast<T*>(tensors_[i]), e};
  }
  template <class T = float>
  ss::tensor_stack<T> view(std::size_t i, ss::stack_extents e) const {
    return {reinterpret_cast<T*>(tensors_[i]), e};
  }
  bool red_zones_intact() const {
    std::byte const* next = memory_.data();
    auto const is_intact = [](std::byte b) { return b == red_zone_byte; };
    for (std::byte const* tensor : tensors_) {
      std::byte const* const end = tensor == nullptr ? &memory_.back() + 1 : tensor;
      if (!std::all_of(next, end, is_intact)) return false;
      if (tensor == nullptr) return true;
      next = tensor + max_tensor_bytes;
    }
    return false;
  }

 private:
  std::vector<std::byte> memory_;
  std::byte* tensors_[max_tensors + 1] = {};
};

inline constexpr extents3 shape{2, 5, 40};
inline constexpr extents4 heads{2, 2, 5, 3}, state_shape{2, 2, 5, 2};
inline constexpr ss::stack_extents mix_weights_shape{2, 2, 5, 3};
// A call of an operator and the names of its tensors; the first `outputs` are written.
struct call {
  std::string name;
  std::vector<char const*> tensors;
  std::size_t outputs;
  bool takes_lengths, takes_query_lengths;
  std::function<std::size_t(any_exec const&)> workspace_bytes;
  std::function<void(any_exec const&, arguments const&)> run;

  // Returns the message of the rejected call without its name; "" if it is accepted.
  std::string error_of(any_exec const& exec, arguments const& args) const {
    std::string const message = error_message([&] { run(exec, args); });
    std::size_t const colon = message.find(": ");
    if (message.empty()) return message;
    CHECK(message.substr(0, colon) == name);
    return message.substr(colon + 2);
  }
};

template <class Op>
auto workspace_bytes_of(Op const& op) {
  return [op](any_exec const& exec) { return op.template workspace_bytes<float>(exec, shape); };
}

inline std::vector<call> calls() {
  constexpr bool with_lengths = true, without_lengths = false, with_query_lengths = true,
                 without_query_lengths = false;
  std::vector<call> list;
  // Adds backward of an operator with saved state; `saved(arguments, i)` views tensor i as the
  // state.
  auto const add_backward_with_state = [&](std::string const& name, char const* saved_name,
                                           auto const& op, auto const& saved) {
    list.push_back({name + ".backward",
                    {"dx", saved_name, "dy"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(2, shape), {saved(a, 1)}, a.view(0, shape),
                                  a.scratch, {ss::grad_mode::overwrite, a.lengths});
                    }});
  };
  auto const add_saving_state = [&](std::string const& name, char const* saved_name, auto const& op,
                                    auto const& saved) {
    list.push_back({name + ".forward",
                    {"y", saved_name, "x"},
                    2,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(2, shape), a.view(0, shape), {saved(a, 1)}, a.scratch,
                                 {a.lengths});
                    }});
    add_backward_with_state(name, saved_name, op, saved);
  };
  // Adds forward of an operator without saved state.
  auto const add_forward = [&](std::string const& name, auto const& op) {
    list.push_back({name + ".forward",
                    {"y", "x"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(1, shape), a.view(0, shape), a.scratch, {a.lengths});
                    }});
  };
  auto const perm = [](arguments const& a, std::size_t i) {
    return a.view<std::uint32_t>(i, shape);
  };
  add_saving_state("slicing_sort", "perm", ss::slicing_sort<pattern_order>{}, perm);
  {
    ss::argsort<pattern_order> const op;
    list.push_back({"argsort.forward",
                    {"indices", "x"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(1, shape), perm(a, 0), a.scratch, {a.lengths});
                    }});
  }
  {
    ss::top_k<pattern_order> const op(2);
    extents3 const selected{shape.batch, 2, shape.channels};
    auto const rows = [=](arguments const& a, std::size_t i) {
      return a.view<std::uint32_t>(i, selected);
    };
    list.push_back({"top_k.forward",
                    {"values", "indices", "x"},
                    2,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(2, shape), a.view(0, selected), rows(a, 1), a.scratch,
                                 {a.lengths});
                    }});
    list.push_back({"top_k.backward",
                    {"dx", "indices", "dy"},
                    1,
                    without_lengths,
                    without_query_lengths,
                    [](any_exec const&) { return std::size_t{0}; },
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(2, selected), rows(a, 1), a.view(0, shape),
                                  a.scratch);
                    }});
  }
  {
    ss::multi_permutation<pattern_order> const op(3);
    auto const weights_view = [](arguments const& a, std::size_t i) {
      return ss::tensor1<float>(a.view(i, shape).data(), 3);
    };
    list.push_back({"multi_permutation.forward",
                    {"y", "perm", "x", "weights"},
                    2,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(2, shape), weights_view(a, 3), a.view(0, shape),
                                 {perm(a, 1)}, a.scratch, {a.lengths});
                    }});
    list.push_back({"multi_permutation.backward",
                    {"dx", "dweights", "dy", "x", "weights", "perm"},
                    2,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(2, shape), a.view(3, shape), weights_view(a, 4),
                                  {perm(a, 5)}, a.view(0, shape), weights_view(a, 1), a.scratch,
                                  {ss::grad_mode::overwrite, a.lengths});
                    }});
  }
  {
    ss::permute const op;
    list.push_back({"permute.forward",
                    {"y", "perm", "x"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(2, shape), {perm(a, 1)}, a.view(0, shape), a.scratch,
                                 {a.lengths});
                    }});
    add_backward_with_state("permute", "perm", op, perm);
  }
  add_saving_state("max_exchange", "maximum", ss::max_exchange{},
                   [](arguments const& a, std::size_t i) {
                     return a.view<std::uint32_t>(i, extents3{2, 1, 40});
                   });
  {
    ss::soft_sort<ss::regularization::entropic, pattern_order> const op(0.5);
    list.push_back({"soft_sort.forward",
                    {"y", "perm", "pools", "x"},
                    3,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(3, shape), a.view(0, shape), {perm(a, 1), perm(a, 2)},
                                 a.scratch, {a.lengths});
                    }});
    list.push_back({"soft_sort.backward",
                    {"dx", "perm", "pools", "dy", "x"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(3, shape), a.view(4, shape),
                                  {perm(a, 1), perm(a, 2)}, a.view(0, shape), a.scratch,
                                  {ss::grad_mode::overwrite, a.lengths});
                    }});
  }
  auto const add_shuffle = [&](auto const& op) {
    add_forward("shuffle", op);
    list.push_back({"shuffle.backward",
                    {"dx", "dy"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(1, shape), a.view(0, shape), a.scratch,
                                  {ss::grad_mode::overwrite, a.lengths});
                    }});
  };
  add_shuffle(ss::shuffle<ss::shared_by_channels>(5));
  add_shuffle(ss::shuffle<ss::per_channel>(5));
  {
    ss::short_convolution const op(3, 1);
    auto const filter = [](arguments const& a, std::size_t i) {
      return a.view(i, extents3{1, 3, shape.channels});
    };
    list.push_back({"short_convolution.forward",
                    {"y", "x", "weights"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(1, shape), filter(a, 2), a.view(0, shape), a.scratch,
                                 {a.lengths});
                    }});
    list.push_back({"short_convolution.backward",
                    {"dx", "dweights", "dy", "x", "weights"},
                    2,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(2, shape), a.view(3, shape), filter(a, 4),
                                  a.view(0, shape), filter(a, 1), a.scratch,
                                  {ss::grad_mode::overwrite, a.lengths});
                    }});
  }
  {
    ss::decaying_sum const op(2);
    constexpr extents4 numbers{1, 2, 1, shape.channels}, states{shape.batch, 2, 1, shape.channels};
    list.push_back({"decaying_sum.forward",
                    {"y", "last", "x", "a", "w", "initial"},
                    2,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(2, shape), {a.view(3, numbers), a.view(4, numbers)},
                                 a.view(0, shape), {a.view(5, states), a.view(1, states)},
                                 a.scratch, {a.lengths});
                    }});
    list.push_back({"decaying_sum.backward",
                    {"dx", "dinitial", "da", "dw", "dy", "dlast", "x", "initial", "a", "w"},
                    4,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(4, shape), a.view(6, shape),
                                  {a.view(8, numbers), a.view(9, numbers)},
                                  {a.view(0, shape), a.view(2, numbers), a.view(3, numbers)},
                                  {a.view(7, states), a.view(5, states), a.view(1, states)},
                                  a.scratch, {ss::grad_mode::overwrite, a.lengths});
                    }});
  }
  auto const add_csp = [&](auto const& op) {
    add_saving_state("csp", "order", op, [op](arguments const& a, std::size_t i) {
      return a.view<std::uint8_t>(i, op.saved_extents(shape));
    });
  };
  for (index_t rows : {2, 4}) {
    add_csp(ss::csp{ss::group_size{rows}, ss::shift::linear{}, pattern_order{irregular}});
    add_csp(ss::csp{ss::group_size{rows}, ss::shift::linear{}, ss::reference{1}});
  }
  {
    ss::sinkhorn const op{0.5, 3};
    auto const lengths = [](arguments const& a) { return ss::row_and_column_lengths(a.lengths); };
    list.push_back({"sinkhorn.forward",
                    {"y", "logits"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(1, shape), a.view(0, shape), a.scratch, lengths(a));
                    }});
    list.push_back({"sinkhorn.backward",
                    {"dlogits", "dy", "logits"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(1, shape), a.view(2, shape), a.view(0, shape),
                                  a.scratch, {ss::grad_mode::overwrite, lengths(a)});
                    }});
  }
  {
    ss::sinkhorn_csp const op{ss::group_size{3}, ss::sinkhorn{0.5, 2}};
    add_forward("sinkhorn_csp", op);
    list.push_back({"sinkhorn_csp.backward",
                    {"dx", "dy", "x"},
                    1,
                    with_lengths,
                    without_query_lengths,
                    workspace_bytes_of(op),
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(1, shape), a.view(2, shape), a.view(0, shape),
                                  a.scratch, {ss::grad_mode::overwrite, a.lengths});
                    }});
  }
  {
    ss::sparse_mix<ss::topology::cdil> const op;
    auto const size = [=](any_exec const& exec) {
      return op.workspace_bytes<float>(exec, shape, mix_weights_shape);
    };
    auto const states = [=](arguments const& a, std::size_t i) {
      return a.view(i, op.saved_extents(shape, mix_weights_shape));
    };
    list.push_back({"sparse_mix.forward",
                    {"y", "states", "x", "w"},
                    2,
                    with_lengths,
                    without_query_lengths,
                    size,
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, a.view(2, shape), a.view(3, mix_weights_shape),
                                 a.view(0, shape), {states(a, 1)}, a.scratch, {a.lengths});
                    }});
    list.push_back({"sparse_mix.backward",
                    {"dx", "dw", "dy", "x", "w", "states"},
                    2,
                    with_lengths,
                    without_query_lengths,
                    size,
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(2, shape), a.view(3, shape),
                                  a.view(4, mix_weights_shape), {states(a, 5)}, a.view(0, shape),
                                  a.view(1, mix_weights_shape), a.scratch,
                                  {ss::grad_mode::overwrite, a.lengths});
                    }});
  }
  auto const add_softmax = [&](auto const& op) {
    auto const state = [=](arguments const& a, std::size_t i) {
      return a.view(i, op.saved_extents(heads, heads));
    };
    auto const size = [=](any_exec const& exec) {
      return op.template workspace_bytes<float>(exec, heads, heads);
    };
    auto const inputs = [](arguments const& a, std::size_t i) {
      return ss::attention_inputs<float>{
          a.view(i, heads), a.view(i + 1, heads), a.view(i + 2, heads), {}};
    };
    list.push_back({"softmax_attention.forward",
                    {"y", "state", "q", "k", "v"},
                    2,
                    with_lengths,
                    with_query_lengths,
                    size,
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, inputs(a, 2), a.view(0, heads), {state(a, 1)}, a.scratch,
                                 ss::lengths(a.lengths, a.query_lengths));
                    }});
    list.push_back({"softmax_attention.backward",
                    {"dq", "dk", "dv", "q", "k", "v", "dy", "y", "state"},
                    3,
                    with_lengths,
                    with_query_lengths,
                    size,
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(6, heads), inputs(a, 3), a.view(7, heads),
                                  {state(a, 8)},
                                  {a.view(0, heads), a.view(1, heads), a.view(2, heads)}, a.scratch,
                                  ss::lengths(a.lengths, a.query_lengths));
                    }});
  };
  add_softmax(ss::softmax_attention<pattern_mask>{});
  add_softmax(ss::softmax_attention<pattern_mask, ss::materialized<>>{});
  // Adds the calls of an attention operator that saves nothing.
  auto const add_stateless = [&](std::string const& name, auto const& op, auto empty_inputs) {
    using inputs_type = decltype(empty_inputs);
    auto const inputs = [](arguments const& a, std::size_t i) {
      return inputs_type{a.view(i, heads), a.view(i + 1, heads), a.view(i + 2, heads), {}};
    };
    auto const size = [=](any_exec const& exec) {
      return op.template workspace_bytes<float>(exec, heads, heads);
    };
    list.push_back({name + ".forward",
                    {"y", "q", "k", "v"},
                    1,
                    with_lengths,
                    with_query_lengths,
                    size,
                    [=](any_exec const& exec, arguments const& a) {
                      op.forward(exec, inputs(a, 1), a.view(0, heads), a.scratch,
                                 ss::lengths(a.lengths, a.query_lengths));
                    }});
    list.push_back({name + ".backward",
                    {"dq", "dk", "dv", "q", "k", "v", "dy"},
                    3,
                    with_lengths,
                    with_query_lengths,
                    size,
                    [=](any_exec const& exec, arguments const& a) {
                      op.backward(exec, a.view(6, heads), inputs(a, 3),
                                  {a.view(0, heads), a.view(1, heads), a.view(2, heads)}, a.scratch,
                                  ss::lengths(a.lengths, a.query_lengths));
                    }});
  };
  using linear_inputs = ss::linear_attention_inputs<float>;
  add_stateless("pointwise_attention", ss::pointwise_attention<pattern_mask>{},
                ss::attention_inputs<float>{});
  add_stateless("linear_attention", ss::linear_attention<>{}, linear_inputs{});
  add_stateless(
      "linear_attention",
      ss::linear_attention{ss::feature::relu{}, ss::divisor::none{}, ss::direction::causal{}},
      linear_inputs{});
  list.push_back({"merge_attention.forward",
                  {"y", "state", "parts[0].y", "parts[0].state"},
                  2,
                  without_lengths,
                  without_query_lengths,
                  [](any_exec const& exec) {
                    return ss::merge_attention::workspace_bytes<float>(exec, heads);
                  },
                  [](any_exec const& exec, arguments const& a) {
                    ss::merge_attention{}.forward(
                        exec, {{a.view(2, heads), a.view(3, state_shape)}}, a.view(0, heads),
                        {a.view(1, state_shape)}, a.scratch);
                  }});
  return list;
}

}  // namespace support
