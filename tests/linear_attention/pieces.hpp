// SPDX-License-Identifier: Apache-2.0
// Feeds a sequence to causal linear_attention in pieces, with states between them.
#pragma once

#include "run.hpp"
#include "support/buffers.hpp"

#include <slicesort/linear_attention.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace support {

template <class T>
using linear_state = std::vector<ss::detail::accumulator_t<T>>;

// Results of all pieces, and the last state and its gradient.
template <class T>
struct piece_results {
  linear_results<T> rows;
  linear_state<T> last, dinitial;
};

// Pieces of a problem: piece i has the rows from boundaries[i] to boundaries[i + 1]. `op` is the
// operator. Without an initial state, the first piece starts the sequence.
template <class T, class Op>
class linear_pieces {
 public:
  using A = ss::detail::accumulator_t<T>;

  linear_pieces(linear_problem<T> const& problem, Op const& op, any_exec const& exec,
                std::vector<index_t> boundaries)
      : problem_(problem),
        op_(op),
        exec_(exec),
        boundaries_(std::move(boundaries)),
        tensors_(problem, {}),
        extents_(op.state_extents(problem.size.q(), problem.size.v(), problem.w_extents())) {}

  extents4 state_extents() const { return extents_; }
  std::size_t count() const { return boundaries_.size() - 1; }

  // Runs forward of all pieces in order. The states after a piece replace those before it.
  void forward(linear_state<T> const& initial = {}) {
    states_.assign(1, initial);
    for (std::size_t i = 0; i < count(); ++i) {
      states_.push_back(states_.back());
      states_.back().resize(static_cast<std::size_t>(extents_.size()), A(7));
      bool const has_initial = !states_[i].empty();
      for_piece(i, extents3{}, [&](auto const& rows, ss::workspace memory) {
        // The last state has the memory of the initial one.
        op_.forward(exec_, rows.inputs, rows.view(tensors_.y.view()), memory, rows.options(),
                    {has_initial ? view(states_[i + 1]) : tensor4<A>{}, view(states_[i + 1])});
      });
    }
  }
  // Runs backward of all pieces from the last to the first. Requires forward.
  void backward(linear_state<T> dlast = {}) {
    dlast.resize(static_cast<std::size_t>(extents_.size()), A(0));
    dstate_ = dlast;
    dw_.clear();
    extents3 const dw = problem_.computes_dw() ? problem_.w_extents() : extents3{};
    for (std::size_t i = count(); i-- > 0;)
      for_piece(i, dw, [&](auto const& rows, ss::workspace memory) {
        auto grads = tensors_.gradients(problem_.gradients);
        auto const piece_of = [&](tensor4<T> t) { return t.data() == nullptr ? t : rows.view(t); };
        grads.dq = piece_of(grads.dq), grads.dk = piece_of(grads.dk), grads.dv = piece_of(grads.dv);
        op_.backward(
            exec_, rows.view(tensors_.dy.view()), rows.inputs, grads, memory,
            rows.backward_options(problem_.mode),
            {states_[i].empty() ? tensor4<A>{} : view(states_[i]), view(dstate_), view(dstate_)});
        add_dw();
      });
  }

  piece_results<T> results() {
    piece_results<T> r;
    r.rows = {tensors_.y.contents(),
              tensors_.dq.contents(),
              tensors_.dk.contents(),
              tensors_.dv.contents(),
              dw_,
              {}};
    if (!tensors_.padding_intact()) r.rows.wrong = "wrote beside a tensor";
    if (overran_) r.rows.wrong = "workspace overrun";
    r.last = states_.back();
    r.dinitial = dstate_;
    return r;
  }

 private:
  struct rows_of_piece {
    index_t first, count;
    ss::linear_attention_inputs<T> inputs;
    std::vector<index_t> lengths;

    template <class E>
    tensor4<E> view(tensor4<E> t) const {
      extents4 const e = t.extents();
      return {t.data() + first * t.strides().length,
              {e.batch, e.heads, count, e.channels},
              t.strides()};
    }
    ss::attention_options options() const {
      return ss::lengths(view_of(lengths), view_of(lengths));
    }
    ss::attention_backward_options backward_options(ss::grad_mode mode) const {
      return {mode, ss::lengths(view_of(lengths), view_of(lengths))};
    }
  };

  tensor4<A> view(linear_state<T>& state) const { return {state.data(), extents_}; }

  // Calls f(piece, workspace) with exactly as much workspace as the operator requires.
  template <class F>
  void for_piece(std::size_t i, extents3 dw, F const& f) {
    rows_of_piece p{boundaries_[i], boundaries_[i + 1] - boundaries_[i], tensors_.inputs(), {}};
    p.inputs.q = p.view(p.inputs.q), p.inputs.k = p.view(p.inputs.k);
    p.inputs.v = p.view(p.inputs.v);
    for (index_t n : problem_.lengths)
      p.lengths.push_back(std::clamp<index_t>(n - p.first, 0, p.count));
    guarded_workspace memory(
        op_.template workspace_bytes<T>(exec_, p.inputs.q.extents(), p.inputs.v.extents(),
                                        problem_.w_extents(), dw, true),
        i % 64);
    f(p, memory.get());
    overran_ = overran_ || !memory.red_zones_intact();
  }

  // Adds dw of a piece to that of the later pieces.
  void add_dw() {
    auto const added = tensors_.dw.contents();
    if (dw_.empty()) return void(dw_ = added);
    for (std::size_t i = 0; i < added.size() && problem_.computes_dw(); ++i)
      dw_[i] =
          from_double<T>(static_cast<double>(static_cast<A>(dw_[i]) + static_cast<A>(added[i])));
  }

  linear_problem<T> const& problem_;
  Op const& op_;
  any_exec const& exec_;
  std::vector<index_t> boundaries_;
  linear_tensors<T> tensors_;
  extents4 extents_;
  std::vector<linear_state<T>> states_;  // before each piece, and after the last one
  linear_state<T> dstate_;
  std::vector<T> dw_;
  bool overran_ = false;
};

// Calls f(operator) for the policies of a causal problem whose feature map has states. Compiles f
// for no other operator.
template <class T, class F>
void with_causal_operator(linear_problem<T> const& problem, F const& f) {
  std::visit(
      [&](auto const& feature, auto const& divisor) {
        using Feature = std::decay_t<decltype(feature)>;
        using Divisor = std::decay_t<decltype(divisor)>;
        if constexpr (!std::is_same_v<Feature, ss::feature::cosine_reweighted>)
          f(ss::linear_attention<Feature, Divisor, ss::direction::causal>(feature, divisor,
                                                                          problem.multiply));
        else
          throw std::logic_error("cosine_reweighted has no states");
      },
      problem.feature, problem.divisor);
}

// Runs both directions of a problem in pieces.
template <class T>
piece_results<T> run_pieces(linear_problem<T> const& problem, any_exec const& exec,
                            std::vector<index_t> const& boundaries) {
  piece_results<T> results;
  with_causal_operator(problem, [&](auto const& op) {
    linear_pieces<T, std::decay_t<decltype(op)>> pieces(problem, op, exec, boundaries);
    pieces.forward();
    pieces.backward();
    results = pieces.results();
  });
  return results;
}

}  // namespace support
