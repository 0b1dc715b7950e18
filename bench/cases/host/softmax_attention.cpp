// SPDX-License-Identifier: Apache-2.0
// softmax_attention, streaming and materialized; the products of the latter come from a BLAS where
// the bench is linked with one. Compiled once per element type.
#include "cases/attention_jobs.hpp"

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/softmax_attention.hpp>

#ifdef SLICESORT_BENCH_BLAS
#  include <slicesort/blas.hpp>
#endif

#include <cstddef>
#include <type_traits>

namespace bench {
namespace {

#ifdef SLICESORT_BENCH_BLAS
using materialized = ss::materialized<ss::cblas>;
#else
using materialized = ss::materialized<>;
#endif

// The elements of a tensor [batch, heads, length, last].
template <class S>
ss::tensor4<S> stack(buffer<S> const& b, fields const& at, ss::index_t last) {
  ss::index_t const heads = attention_policy(at.policy, at.extents.length).heads;
  return {b.data(), {at.extents.batch, heads, at.extents.length, last}};
}

template <class T>
class attention_call_job final : public attention_job<T> {
 public:
  explicit attention_call_job(fields const& f) : attention_job<T>(f) {
    call([&](auto const& op, auto const& state) {
      this->workspace_bytes = op.template workspace_bytes<T>(
          f.exec(), heads_of(this->q->values).extents(), heads_of(this->v->values).extents(),
          distances_of(this->dbias).extents());
      scratch_ = buffer<unsigned char>(this->workspace_bytes);
      if (this->backward)
        op.forward(f.exec(), inputs(), heads_of(this->y), {state}, lend(scratch_), options());
    });
  }
  void run() override {
    call([&](auto const& op, auto const& state) {
      auto const on = this->at.exec();
      if (this->backward)
        op.backward(
            on, heads_of_const(this->dy->values), inputs(), heads_of_const(this->y), {state},
            {heads_of(this->dq), heads_of(this->dk), heads_of(this->dv), distances_of(this->dbias)},
            lend(scratch_), backward_options());
      else if (this->at.direction == "forward")
        op.forward(on, inputs(), heads_of(this->y), {state}, lend(scratch_), options());
      else
        op.forward(on, inputs(), heads_of(this->y), ss::no_saved, lend(scratch_), options());
    });
  }

 private:
  // Calls f(operator, its state). The state's buffer is made at the first call.
  template <class F>
  void call(F const& f) {
    with_attention<true>(this->at, materialized{}, [&](auto const& op) {
      if constexpr (std::is_same_v<decltype(op.algorithm()), ss::streaming const&>)
        f(op, state_in(sums_, 2));
      else
        f(op, state_in(map_, this->at.extents.length));
    });
  }
  template <class S>
  ss::tensor4<S> state_in(buffer<S>& b, ss::index_t last) {
    if (b.size() == 0) b = buffer<S>(this->saved_bytes / sizeof(S));
    return stack(b, this->at, last);
  }

  ss::tensor4<T> heads_of(buffer<T> const& b) const {
    return ss::split_heads(view(b, this->at.extents), this->policy.heads);
  }
  ss::tensor4<T const> heads_of_const(buffer<T> const& b) const { return heads_of(b); }
  ss::attention_inputs<T> inputs() const {
    return {heads_of(this->q->values), heads_of(this->k->values), heads_of(this->v->values),
            distances_of(this->bias)};
  }
  static ss::tensor4<T> distances_of(buffer<T> const& b) {
    if (b.size() == 0) return {};
    return {b.data(), {1, 1, 1, static_cast<ss::index_t>(b.size())}};
  }
  ss::attention_options options() const {
    ss::attention_options o;
    o.dropout = this->policy.dropout();
    return o;
  }
  ss::attention_backward_options backward_options() const {
    ss::attention_backward_options o;
    o.dropout = this->policy.dropout();
    return o;
  }

  buffer<ss::detail::accumulator_t<T>> sums_;
  buffer<T> map_;
  buffer<unsigned char> scratch_;
};

template <class T>
void add_softmax_attention() {
  auto const add = [](fields at) {
    for (unsigned const threads : {1u, 2u}) {
      at.threads = threads;
      add_case<attention_call_job<T>>(at);
    }
  };
  for_each_attention_setting<T>(add);
  for_each_sparse_setting<T>(add);
  for_each_variant_setting<T>(add);
  for_each_sweep_shape([&](ss::extents3 e) {
    for_each_attention_direction<T>({"streaming-full-H:4", "streaming-window-H:4",
                                     "streaming-block_local-H:4", "materialized-full-H:4"},
                                    "uniform", e, add);
  });
  // Anywhere else native products are exact ones under another name.
  if constexpr (std::is_same_v<T, ss::bfloat16>)
    if (ss::impl::has_bfloat16_pairs()) {
      for_each_native_setting<T>(add);
      for_each_sweep_shape([&](ss::extents3 e) {
        for_each_attention_direction<T>({"native-full-H:4"}, "uniform", e, add);
      });
    }
}
subject_of<SLICESORT_BENCH_DTYPE> const here("softmax_attention",
                                             add_softmax_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
