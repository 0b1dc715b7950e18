// SPDX-License-Identifier: Apache-2.0
// Benchmark cases for any execution policy: those with a GPU target (bench/report/targets.py), and
// some more. count.cpp runs them; kernels.cu only compiles their kernels.
#pragma once

#include "support/inputs.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/linear_attention.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/sparse_mix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace counting {

namespace ss = slicesort;

// Maps zeroed memory; `map` is null if the policy only compiles.
struct memory_mapper {
  void* (*map)(std::size_t bytes, void*& address) = nullptr;
};

template <class T>
class array {
 public:
  array(memory_mapper mapper, ss::index_t size)
      : bytes_(static_cast<std::size_t>(size) * sizeof(T)) {
    if (mapper.map != nullptr) memory_ = static_cast<T*>(mapper.map(bytes_, address_));
  }

  T* address() const { return static_cast<T*>(address_); }  // the address in views
  T* memory() const { return memory_; }
  ss::workspace scratch() const { return {address_, bytes_}; }

 private:
  void* address_ = nullptr;
  T* memory_ = nullptr;
  std::size_t bytes_;
};

// Calls f with the index of the first element of each column that the first blocks may read: the
// first channels of the first sample, and channel 0, the reference of csp, of the other samples.
template <class F>
void for_each_column_read(ss::extents3 e, ss::index_t samples, F const& f) {
  constexpr ss::index_t channels = 128;
  for (ss::index_t b = 0; b < samples; ++b)
    for (ss::index_t c = 0; c < (b == 0 ? std::min(e.channels, channels) : 1); ++c)
      f(b * e.length * e.channels + c);
}

template <class Exec>
class cases {
 public:
  cases(Exec exec, memory_mapper memory) : exec_(exec), memory_(memory) {
    // Shapes as in bench/cases/cuda/settings.hpp.
    auto const shape = [](ss::index_t n) {
      return ss::extents3{n <= 64 ? 2048 : n <= 1024 ? 128 : n <= 4096 ? 32 : 16, n, 512};
    };
    for (ss::index_t const n : {64, 1024, 4096, 16384, 65536}) {
      add("slicing_sort", "forward", "f32", "ascending", shape(n),
          [=](ss::extents3 e) { return sort<float>(e); });
      add("slicing_sort", "forward", "bf16", "ascending", shape(n),
          [=](ss::extents3 e) { return sort<ss::bfloat16>(e); });
      if (n == 64) continue;
      add("slicing_sort", "backward", "f32", "ascending", shape(n),
          [=](ss::extents3 e) { return sort_backward<float>(e); });
    }
    for (ss::index_t const group : {2, 16, 64}) {
      std::string const size = std::to_string(group);
      add("csp", "forward", "f32", "linear-reference-G:" + size, shape(4096),
          [=](ss::extents3 e) { return csp<ss::reference>(e, group); });
      add("csp", "forward", "f32", "linear-ascending-G:" + size, shape(4096),
          [=](ss::extents3 e) { return csp<ss::ascending>(e, group); });
    }
    for (char const* direction : {"forward", "forward_values", "backward"}) {
      std::string const direction_name = direction;
      add("sparse_mix", direction_name, "f32", "chord-per_factor-M:12", shape(4096),
          [=](ss::extents3 e) { return mix(e, 12, ss::topology::chord{}, direction_name); });
      add("sparse_mix", direction_name, "f32", "cdil-per_factor-M:12", shape(4096),
          [=](ss::extents3 e) { return mix(e, 12, ss::topology::cdil{1}, direction_name); });
    }
    ss::extents3 const tokens{4, 4096, 2048};
    for (char const* direction : {"forward", "backward"}) {
      bool const backward = direction == std::string("backward");
      add("softmax_attention", direction, "bf16", "streaming-full-H:16", tokens,
          [=](ss::extents3 e) { return attention(e, 16, backward); });
    }
    ss::extents3 const short_rows{4, 4096, 1024};
    for (ss::products const kind : {ss::products::exact, ss::products::native}) {
      std::string const name = kind == ss::products::native ? "-native-H:16" : "-H:16";
      add("linear_attention", "forward_values", "bf16", "elu_plus_one-both" + name, short_rows,
          [=](ss::extents3 e) { return linear(linear_op<ss::direction::noncausal>(kind), e, 16); });
      add("linear_attention", "forward_values", "bf16", "elu_plus_one-causal" + name, short_rows,
          [=](ss::extents3 e) { return linear(linear_op<ss::direction::causal>(kind), e, 16); });
    }
  }

  // A case makes one call, or a representative part of it, and returns the number of elements of x.
  std::map<std::string, std::function<ss::index_t()>> const& by_name() const { return cases_; }

 private:
  template <class F>
  void add(std::string const& subject, std::string const& direction, std::string const& dtype,
           std::string const& policy, ss::extents3 e, F const& run) {
    std::string const shape = "/B:" + std::to_string(e.batch) + "/N:" + std::to_string(e.length) +
                              "/C:" + std::to_string(e.channels);
    cases_[subject + "/cuda/" + direction + '/' + dtype + '/' + policy + "/normal" + shape] = [=] {
      return run(e);
    };
  }

  template <class T>
  array<T> zeros(ss::index_t size) const {
    return {memory_, size};
  }
  array<unsigned char> scratch(std::size_t bytes) const {
    return {memory_, static_cast<ss::index_t>(bytes)};
  }
  template <class T>
  array<T> normal(ss::extents3 e, ss::index_t samples) const {
    array<T> const x(memory_, samples * e.length * e.channels);
    if (x.memory() != nullptr)
      for_each_column_read(e, samples, [&](ss::index_t first) {
        for (ss::index_t n = 0; n < e.length; ++n) {
          ss::index_t const i = first + n * e.channels;
          auto const counter = static_cast<std::uint64_t>(i);
          x.memory()[i] = support::from_double<T>(support::random_normals(2024, counter).even);
        }
      });
    return x;
  }
  // Returns normal values in the first rows of every sample. Linear attention processes groups of
  // heads, so the first block of each launch reads another head, possibly of another sample.
  template <class T>
  array<T> first_rows(ss::extents3 e) const {
    constexpr ss::index_t rows = 256;
    array<T> const x = zeros<T>(e.size());
    ss::index_t const sample = e.length * e.channels;
    if (x.memory() != nullptr)
      for (ss::index_t b = 0; b < e.batch; ++b)
        for (ss::index_t i = 0; i < std::min(e.length, rows) * e.channels; ++i) {
          auto const counter = static_cast<std::uint64_t>(b * sample + i);
          x.memory()[b * sample + i] =
              support::from_double<T>(support::random_normals(2024, counter).even);
        }
    return x;
  }
  // Random permutations for one sample.
  array<std::uint16_t> permutations(ss::extents3 e) const {
    array<std::uint16_t> const perm(memory_, e.length * e.channels);
    std::vector<std::uint16_t> rows(static_cast<std::size_t>(e.length));
    if (perm.memory() != nullptr)
      for_each_column_read(e, 1, [&](ss::index_t first) {
        std::iota(rows.begin(), rows.end(), std::uint16_t{0});
        for (std::size_t n = rows.size(); n > 1; --n)
          std::swap(rows[n - 1],
                    rows[support::random_bits(static_cast<std::uint64_t>(first), n) % n]);
        for (std::size_t n = 0; n < rows.size(); ++n)
          perm.memory()[first + static_cast<ss::index_t>(n) * e.channels] = rows[n];
      });
    return perm;
  }
  template <class T>
  static ss::tensor3<T> view(array<T> const& a, ss::extents3 e) {
    return {a.address(), e};
  }
  template <class T>
  static ss::tensor3<T const> const_view(array<T> const& a, ss::extents3 e) {
    return {a.address(), e};
  }

  template <class T>
  ss::index_t sort(ss::extents3 e) const {
    ss::slicing_sort<> const op;
    auto const x = normal<T>(e, 1);
    auto const y = zeros<T>(e.length * e.channels);
    auto const perm = zeros<std::uint16_t>(e.length * e.channels);
    auto const work = scratch(op.workspace_bytes<T>(exec_, e));
    op.forward(exec_, const_view(x, e), view(y, e), {view(perm, e)}, work.scratch());
    return e.size();
  }
  template <class T>
  ss::index_t sort_backward(ss::extents3 e) const {
    ss::slicing_sort<> const op;
    auto const dy = normal<T>(e, 1);
    auto const dx = zeros<T>(e.length * e.channels);
    auto const perm = permutations(e);
    auto const work = scratch(op.workspace_bytes<T>(exec_, e));
    op.backward(exec_, const_view(dy, e), {const_view(perm, e)}, view(dx, e), work.scratch());
    return e.size();
  }

  template <class Alignment>
  ss::index_t csp(ss::extents3 e, ss::index_t group) const {
    using T = float;
    ss::csp<ss::shift::linear, Alignment> const op{ss::group_size{group}};
    ss::extents3 const saved = op.saved_extents(e);
    auto const x = normal<T>(e, e.batch);
    auto const y = zeros<T>(e.size());
    auto const order = zeros<std::uint8_t>(saved.size());
    auto const work = scratch(op.template workspace_bytes<T>(exec_, e));
    op.forward(exec_, const_view(x, e), view(y, e), {view(order, saved)}, work.scratch());
    return e.size();
  }

  // The tensors of one sample are contiguous, as in the benchmarks.
  template <class T>
  static ss::tensor_stack<T> stack(array<T> const& a, ss::stack_extents e) {
    ss::index_t const size = e.length * e.channels;
    return {a.address(), e, {size, e.outer * size, e.channels, 1}};
  }
  template <class Topology>
  ss::index_t mix(ss::extents3 tensor, ss::index_t factors, Topology topology,
                  std::string const& direction) const {
    using T = float;
    // The workspace holds 8 samples, and every 8 samples take the same launches.
    ss::extents3 const e{std::min<ss::index_t>(tensor.batch, 8), tensor.length, tensor.channels};
    ss::index_t const links = topology.links(factors), sample = e.length * e.channels;
    ss::stack_extents const weight_extents{factors, e.batch, e.length, links};
    ss::stack_extents const state_extents{factors - 1, e.batch, e.length, e.channels};
    ss::sparse_mix<Topology> const op{topology};
    auto const x = zeros<T>(sample), y = zeros<T>(sample), dy = zeros<T>(sample);
    auto const w = zeros<T>(factors * e.length * links), dw = zeros<T>(factors * e.length * links);
    auto const states = zeros<T>((factors - 1) * sample);
    auto const work = scratch(op.template workspace_bytes<T>(exec_, e, weight_extents));
    ss::tensor_stack<T const> const weights = stack(w, weight_extents);
    ss::tensor_stack<T> const saved_states = stack(states, state_extents);
    if (direction == "forward")
      op.forward(exec_, const_view(x, e), weights, view(y, e), {saved_states}, work.scratch());
    else if (direction == "forward_values")
      op.forward(exec_, const_view(x, e), weights, view(y, e), ss::no_saved, work.scratch());
    else
      op.backward(exec_, const_view(dy, e), const_view(x, e), weights,
                  {ss::tensor_stack<T const>(saved_states)}, view(y, e), stack(dw, weight_extents),
                  work.scratch());
    return e.size();
  }

  ss::index_t attention(ss::extents3 e, ss::index_t heads, bool backward) const {
    using T = ss::bfloat16;
    ss::softmax_attention<> const op;
    ss::index_t const sample = e.length * e.channels;
    auto const q = normal<T>(e, 1), k = normal<T>(e, 1), v = normal<T>(e, 1);
    auto const y = zeros<T>(sample), dy = zeros<T>(sample);
    auto const dq = zeros<T>(sample), dk = zeros<T>(sample), dv = zeros<T>(sample);
    auto const state_values = zeros<float>(heads * e.length * 2);
    auto const split = [&](array<T> const& a) { return ss::split_heads(view(a, e), heads); };
    ss::tensor4<float> const state(state_values.address(), {e.batch, heads, e.length, 2});
    ss::attention_inputs<T> const in{split(q), split(k), split(v)};
    ss::extents4 const head_extents = split(q).extents();
    auto const work = scratch(op.workspace_bytes<T>(exec_, head_extents, head_extents));
    if (backward)
      op.backward(exec_, split(dy), in, split(y), {state}, {split(dq), split(dk), split(dv)},
                  work.scratch());
    else
      op.forward(exec_, in, split(y), {state}, work.scratch());
    return e.size();
  }

  template <class Direction>
  static auto linear_op(ss::products kind) {
    return ss::linear_attention{ss::feature::elu_plus_one{}, ss::divisor::sum_plus{}, Direction{},
                                kind};
  }
  template <class Op>
  ss::index_t linear(Op const& op, ss::extents3 e, ss::index_t heads) const {
    using T = ss::bfloat16;
    auto const q = first_rows<T>(e), k = first_rows<T>(e), v = first_rows<T>(e);
    auto const y = zeros<T>(e.size());
    auto const split = [&](array<T> const& a) { return ss::split_heads(view(a, e), heads); };
    ss::extents4 const head_extents = split(q).extents();
    auto const work = scratch(op.template workspace_bytes<T>(exec_, head_extents, head_extents));
    op.forward(exec_, {split(q), split(k), split(v)}, split(y), work.scratch());
    return e.size();
  }

  Exec exec_;
  memory_mapper memory_;
  std::map<std::string, std::function<ss::index_t()>> cases_;
};

}  // namespace counting
