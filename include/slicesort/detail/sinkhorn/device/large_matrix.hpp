// SPDX-License-Identifier: Apache-2.0
// Kernels of large matrices. A launch computes a half-step: a thread computes the number of a row
// or a column.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/elementary.hpp>
#include <slicesort/detail/sinkhorn/device/log_ratio.hpp>
#include <slicesort/detail/sinkhorn/half_steps.hpp>
#include <slicesort/detail/sinkhorn/loops.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Arguments of the kernels.
template <class T>
struct large_matrix_args {
  using A = accumulator_t<T>;

  tensor3<T const> logits;
  tensor3<T const> dy;  // backward
  tensor1<index_t const> row_lengths, column_lengths;
  sinkhorn_steps steps;
  A inverse_tau;
  index_t first_sample, samples;  // of this launch
  step_vectors<A> vectors;        // of the first sample; pitch: row or column
  index_t vectors_per_sample;     // numbers

  SLICESORT_HD step_vectors<A> vectors_of(index_t sample) const {
    step_vectors<A> v = vectors;
    v.potentials += sample * vectors_per_sample;
    v.grads += sample * vectors_per_sample;
    return v;
  }
};

// Zeroes the initial potentials.
template <class T>
struct zero_potentials_kernel {
  static constexpr int max_threads = 256;
  large_matrix_args<T> args;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const index = block.index() * block.size() + block.rank();
    index_t const sample = index / args.vectors.pitch, number = index - sample * args.vectors.pitch;
    if (sample < args.samples) args.vectors_of(sample).potentials_of(-1)[number] = 0;
  }
};

enum class half_step_task { normalize, sum_output_grads, subtract_sums };  // half_steps.hpp

template <class T, half_step_task Task>
struct half_step_kernel {
  static constexpr int max_threads = 128;
  using A = accumulator_t<T>;

  large_matrix_args<T> args;
  index_t step;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = args.logits.extents();
    bool const rows = args.steps.normalizes_rows(step);
    index_t const numbers = rows ? e.length : e.channels;
    index_t const index = block.index() * block.size() + block.rank();
    index_t const sample = index / numbers, number = index - sample * numbers;
    if (sample >= args.samples) return;
    index_t const batch = args.first_sample + sample;
    matrix_size const size = size_of_sample(args, batch);
    if (number >= (rows ? size.rows : size.columns)) return;

    using ops_type = scalar_values<Block, A>;
    using loops = sinkhorn_loops<ops_type, 1>;
    ops_type const ops{block};
    step_vectors<A> const vectors = args.vectors_of(sample);
    bool const reads_before =
        Task == half_step_task::normalize ||
        (Task == half_step_task::sum_output_grads && step == args.steps.count - 1);
    index_t const term_step = reads_before ? step - 1 : step + 1;
    line const logits = line_of(args.logits, batch, number, rows);
    A const* const numbers_of_terms = vectors.potentials_of(term_step);
    auto const potentials = [=](index_t k, int) { return numbers_of_terms[k]; };
    typename loops::template term_axis<line, decltype(potentials)> const axis{
        {args.inverse_tau}, rows ? size.columns : size.rows, logits, potentials};
    A* const potential = vectors.potentials_of(step) + number;
    A const log_ratio = compute_log_ratio<A>(block, size);
    // E of sum_output_grads is that of the last half-step, E of subtract_sums that of the next.
    bool const e_has_rows = args.steps.normalizes_rows(
        Task == half_step_task::subtract_sums ? step + 1 : args.steps.count - 1);
    auto const exponent_offset = [=](int) { return e_has_rows ? A(0) : -log_ratio; };
    if constexpr (Task == half_step_task::normalize) {
      loops::normalize(
          ops, axis, [=](int) { return rows ? A(0) : log_ratio; }, potential);
    } else if constexpr (Task == half_step_task::sum_output_grads) {
      line const dy = line_of(args.dy, batch, number, rows);
      A const ratio = args.steps.rows_last ? A(1) : size.template ratio<A>();
      loops::sum_weighted(
          ops, axis, potential, exponent_offset,
          [&](index_t k, int l) { return elementary<ops_type>::product(ops, dy(k, l), ratio); },
          vectors.grads_of(step) + number);
    } else {
      A const* const grads = vectors.grads_of(step + 1);
      loops::subtract_weighted(
          ops, axis, potential, exponent_offset, [=](index_t k, int) { return grads[k]; },
          step == args.steps.count - 2, vectors.grads_of(step) + number);
    }
  }

 private:
  // A row or a column of a tensor.
  struct line {
    T const* first;
    index_t stride;
    SLICESORT_HD_INLINE A operator()(index_t k, int) const {
      return static_cast<A>(first[k * stride]);
    }
  };
  SLICESORT_HD static line line_of(tensor3<T const> tensor, index_t batch, index_t number,
                                   bool rows) {
    strides3 const s = tensor.strides();
    return {tensor.data() + batch * s.batch + number * (rows ? s.length : s.channels),
            rows ? s.channels : s.length};
  }
};

// Computes y or dlogits. A thread computes an element.
template <class T, bool Backward>
struct elements_kernel {
  static constexpr int max_threads = 256;
  using A = accumulator_t<T>;

  large_matrix_args<T> args;
  tensor3<T> result;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = args.logits.extents();
    index_t const index = block.index() * block.size() + block.rank();
    index_t const row = index / e.channels, j = index - row * e.channels;
    index_t const sample = row / e.length, i = row - sample * e.length;
    if (sample >= args.samples) return;
    index_t const batch = args.first_sample + sample;
    matrix_size const size = size_of_sample(args, batch);
    T& target = result(batch, i, j);
    if (i >= size.rows || j >= size.columns) {
      if (mode == grad_mode::overwrite) target = T(0.0F);
      return;
    }
    using ops_type = scalar_values<Block, A>;
    using loops = sinkhorn_loops<ops_type, 1>;
    using functions = elementary<ops_type>;
    ops_type const ops{block};
    typename loops::log_domain const domain{args.inverse_tau};
    step_vectors<A> const vectors = args.vectors_of(sample);
    auto const x = static_cast<A>(args.logits(batch, i, j));
    A const ratio = args.steps.rows_last ? A(1) : size.template ratio<A>(),
            log_ratio = compute_log_ratio<A>(block, size);
    if constexpr (Backward) {
      A const dy = functions::product(ops, static_cast<A>(args.dy(batch, i, j)), ratio);
      store_or_accumulate_sum(
          mode, target,
          loops::element_grad(
              ops, domain, x, dy, log_ratio, args.steps, vectors, [=](A const* v) { return v[i]; },
              [=](A const* v) { return v[j]; }));
    } else {
      index_t const last = args.steps.count - 1;
      A const *const current = vectors.potentials_of(last), *const previous =
                                                                vectors.potentials_of(last - 1);
      A const u = args.steps.rows_last ? current[i] : previous[i],
              w = domain.shifted(ops, args.steps.rows_last ? previous[j] : current[j],
                                 loops::exponent_offset(ops, args.steps.rows_last, log_ratio));
      store_or_accumulate_sum(mode, target,
                              functions::product(ops, domain.element(ops, x, u, w), ratio));
    }
  }
};

SLICESORT_DETAIL_END
