// SPDX-License-Identifier: Apache-2.0
// The gated attention of MEGA (Ma et al., Mega: Moving Average Equipped Gated Attention, 2022).
// `moving_average` and the projections come before it:
//   q, k = gamma SiLU(z) + beta,  h = attention(q, k, SiLU(v), bias),  y = h SiLU(r)
// The bias is relative. With a `chunk`, rows see those of their chunk only (MEGA-chunk).
#pragma once

#include "../attend.hpp"
#include "../support.hpp"
#include "gates.hpp"

#include <slicesort/attention_tensors.hpp>
#include <slicesort/options.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <utility>

namespace recipes {

template <class T>
struct mega_params {
  tensor4<T const> z, r, v;      // projections, [batch, 1, length, channels or values]
  tensor4<T const> gamma, beta;  // [1, 2, 1, channels]: of queries, of keys
  tensor4<T const> bias{};  // [1, 1, 1, 2 * size - 1], size at least the rows of a chunk; or empty
};
template <class T>
struct mega_grads {
  tensor4<T> dz, dr, dv, dgamma, dbeta, dbias{};
};

// Queries and keys, zeros past the lengths.
template <class T>
struct write_queries_and_keys {
  mega_params<T> params;
  ss::row_lengths rows;
  tensor4<T> q, k;

  RECIPES_HD bool is_row(position const& p) const {
    return p.row < params.z.extents().length && is_valid(rows, p);
  }
  // gamma or beta, of queries or keys.
  static RECIPES_HD row_elements<T const> scales(tensor4<T const> const& x, index_t i) {
    return row_of(x, position(0, i, 0, 0));
  }

  static constexpr int gates = 1;
  struct gate_row {
    row_numbers<T> z;
    row_elements<T const> q_gamma, k_gamma, q_beta, k_beta;
    row_elements<T> q, k;

    RECIPES_HD double argument(index_t c, int) const { return z[c]; }
    RECIPES_HD T scaled(double value, T const& gamma, T const& beta) const {
      return z.is_zero ? rounded<T>(0) : rounded<T>(to_double(gamma) * value + to_double(beta));
    }
    RECIPES_HD void operator()(index_t c, gate const* z_gate) const {
      q[c] = scaled(z_gate->silu(), q_gamma[c], q_beta[c]);
      k[c] = scaled(z_gate->silu(), k_gamma[c], k_beta[c]);
    }
  };
  RECIPES_HD gate_row row(position const& p) const {
    return {numbers_of(params.z, rows, p),
            scales(params.gamma, 0),
            scales(params.gamma, 1),
            scales(params.beta, 0),
            scales(params.beta, 1),
            row_of(q, p),
            row_of(k, p)};
  }
};
// Gradients of z, and SiLU(z), which those of gamma multiply.
template <class T>
struct write_shared_gradient {
  write_queries_and_keys<T> shared;  // of q and k, their gradients
  tensor4<T> dz;
  tensor4<double> value;  // SiLU(z)

  static constexpr int gates = 1;
  struct gate_row {
    typename write_queries_and_keys<T>::gate_row shared;
    row_elements<T> dz;
    row_elements<double> value;

    RECIPES_HD double argument(index_t c, int i) const { return shared.argument(c, i); }
    RECIPES_HD void operator()(index_t c, gate const* z_gate) const {
      double d = 0;
      if (!shared.z.is_zero)
        d = z_gate->silu_slope() * (to_double(shared.q_gamma[c]) * to_double(shared.q[c]) +
                                    to_double(shared.k_gamma[c]) * to_double(shared.k[c]));
      dz[c] = rounded<T>(d);
      value[c] = z_gate->silu();
    }
  };
  RECIPES_HD gate_row row(position const& p) const {
    return {shared.row(p), row_of(dz, p), row_of(value, p)};
  }
};
// Gradients of gamma and beta.
template <class T>
struct sum_scale_gradients {
  write_queries_and_keys<T> shared;
  tensor4<double const> value;
  tensor4<T> dgamma, dbeta;

  static constexpr int terms = 4;
  RECIPES_HD void add(position const& p, double* sums) const {
    if (!shared.is_row(p)) return;
    for (index_t i = 0; i < 2; ++i) {
      double const d = to_double(element(i == 0 ? shared.q : shared.k, p));
      sums[2 * i] += d * element(value, p), sums[2 * i + 1] += d;
    }
  }
  RECIPES_HD void store(index_t channel, double const* sums) const {
    for (index_t i = 0; i < 2; ++i) {
      dgamma(0, i, 0, channel) = rounded<T>(sums[2 * i]);
      dbeta(0, i, 0, channel) = rounded<T>(sums[2 * i + 1]);
    }
  }
};

// Rows of every sample as samples of `rows` rows, [batch, 1, chunks * rows, channels] -> [batch *
// chunks, 1, rows, channels]. Requires packed rows.
template <class T>
tensor4<T> as_chunks(tensor4<T> x, index_t rows) {
  extents4 const e = x.extents();
  return {x.data(), {e.batch * (e.length / rows), 1, rows, e.channels}};
}
struct count_chunk_rows {
  ss::row_lengths rows;
  index_t length, chunk, chunks;
  tensor4<index_t> counts;

  RECIPES_HD void operator()(index_t i) const {
    index_t const n =
        (rows.lengths.data() == nullptr ? length : rows.lengths(i / chunks)) - i % chunks * chunk;
    counts(0, 0, 0, i) = n < 0 ? 0 : n < chunk ? n : chunk;
  }
};

template <class T, class Exec, class Attention = ss::softmax_attention<>>
class mega {
 public:
  using params_type = mega_params<T>;
  using grads_type = mega_grads<T>;

  // The chunk is a number of rows, or 0 for all.
  explicit mega(Exec const& exec, index_t chunk = 0, Attention attention = Attention())
      : exec_(exec), memory_(exec), attention_(attention), chunk_(chunk) {}

  void forward(mega_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.v.extents();
    memory_.clear();
    lengths_ = lengths;
    rows_ = std::max<index_t>(1, chunk_ > 0 ? std::min(chunk_, e.length) : e.length);
    auto const counts = count_rows(e);
    q_ = padded(params.z), k_ = padded(params.z), v_ = padded(params.v);
    for_each_gate(exec_, q_.extents(), write_queries_and_keys<T>{params, lengths, q_, k_});
    for_each_gate(exec_, v_.extents(), write_silu<T>{params.v, lengths, v_});
    step_ = attend<T>(
        exec_, memory_, attention_,
        {as_chunks(q_, rows_), as_chunks(k_, rows_), as_chunks(v_, rows_), offsets(params.bias)},
        {counts, counts});
    for_each_gate(exec_, e, write_gated<T>{attended(), params.r, lengths, y});
  }

  void backward(tensor4<T const> dy, mega_params<T> const& params, tensor4<T const>,
                mega_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    auto const dh = padded(params.v), dv = padded(params.v), dq = padded(params.z),
               dk = padded(params.z);
    for_each_gate(exec_, dh.extents(),
                  write_gated_gradients<T>{attended(), params.r, lengths_, dy, dh, grads.dr});
    if (grads.dbias.data() != nullptr) fill(exec_, grads.dbias, 0);
    step_.backward(
        exec_, memory_, as_chunks(dh, rows_),
        {as_chunks(dq, rows_), as_chunks(dk, rows_), as_chunks(dv, rows_), offsets(grads.dbias)});
    write_queries_and_keys<T> const shared{params, lengths_, dq, dk};
    extents4 const e = params.z.extents();
    auto const value = memory_.template tensor<double>(e);
    for_each_gate(exec_, e, write_shared_gradient<T>{shared, grads.dz, value});
    sum_rows(exec_, e, sum_scale_gradients<T>{shared, value, grads.dgamma, grads.dbeta});
    for_each_gate(exec_, params.v.extents(),
                  write_silu_gradient<T>{params.v, dv, lengths_, grads.dv});
  }

 private:
  index_t chunks(index_t length) const { return (length + rows_ - 1) / rows_; }
  // A tensor with the rows of whole chunks.
  tensor4<T> padded(tensor4<T const> x) {
    extents4 const e = x.extents();
    return memory_.template tensor<T>({e.batch, 1, chunks(e.length) * rows_, e.channels});
  }
  // The output of attention, with the rows of whole chunks.
  tensor4<T const> attended() const { return {step_.y.data(), v_.extents()}; }
  ss::tensor1<index_t const> count_rows(extents4 e) {
    index_t const count = e.batch * chunks(e.length);
    auto const counts = memory_.template tensor<index_t>({1, 1, 1, count});
    for_each_index(exec_, count,
                   count_chunk_rows{lengths_, e.length, rows_, chunks(e.length), counts});
    return {counts.data(), count};
  }
  // The biases of the offsets within a chunk.
  template <class U>
  tensor4<U> offsets(tensor4<U> bias) const {
    if (bias.data() == nullptr) return bias;
    extents4 const e = bias.extents();
    return {bias.data() + ((e.channels + 1) / 2 - rows_) * bias.strides().channels,
            {1, 1, 1, 2 * rows_ - 1},
            bias.strides()};
  }

  Exec exec_;
  memory<Exec> memory_;
  Attention attention_;
  index_t chunk_, rows_ = 1;  // of a chunk
  ss::row_lengths lengths_;
  tensor4<T> q_, k_, v_;
  decltype(attend<T>(std::declval<Exec const&>(), std::declval<memory<Exec>&>(),
                     std::declval<Attention const&>(), ss::attention_inputs<T>(),
                     ss::key_and_query_lengths())) step_;
};

}  // namespace recipes
