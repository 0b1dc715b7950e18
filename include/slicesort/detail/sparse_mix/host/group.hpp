// SPDX-License-Identifier: Apache-2.0
// Applies several factors of sparse_mix's forward pass in one pass over a tile, so that rows
// between these factors stay in the L1 cache. Sums have the same order as in mix_chain::mix, and so
// the same bits.
#pragma once

#include <slicesort/detail/sparse_mix/host/chain.hpp>
#include <slicesort/detail/sparse_mix/host/simd_table.hpp>
#include <slicesort/detail/sparse_mix/host/tile.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <numeric>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Consecutive factors of one of two kinds.
// - A window: no link leads further than a few rows. Every factor follows the one before it at the
//   distance of its links, in place.
// - Classes: all offsets are multiples of `stride`, which divides the number of rows. Rows that are
//   congruent modulo `stride` do not depend on others. mix_rows_per_run neighboring classes pass
//   through all factors together.
struct mix_group {
  static constexpr int max_factors = 16, max_links = 8;

  int factors = 1;     // 1: no group
  index_t stride = 0;  // 0: a window
  // Rows before and after an output row that each factor needs, in a window.
  index_t before[max_factors], after[max_factors];
};

template <class T>
class mix_group_chain {
 public:
  using A = accumulator_t<T>;

  // `residual` is per_factor or none; other chains have no groups.
  explicit mix_group_chain(mix_chain<T> const& chain) : chain_(chain), rows_(chain.rows()) {}

  // Returns the longest group of at most `limit` factors that starts at `first`. A window needs a
  // tile with `mix_halo_rows` free rows before and after it.
  mix_group find(index_t first, index_t limit, bool has_halo) const {
    mix_group const none{};
    mix_config const& config = chain_.call().config;
    if constexpr (!std::is_same_v<T, A>) return none;  // weights of one factor only are converted
    if (config.residual == residual_form::initial || config.links > mix_group::max_links ||
        rows_ < mix_min_grouped_rows)
      return none;
    limit = std::min<index_t>(limit, mix_group::max_factors);
    mix_group const window = has_halo ? find_window(first, limit) : none;
    mix_group const classes = find_classes(first, limit);
    return classes.factors > window.factors ? classes : window;
  }

  // Applies the group to `tile` in place and returns the first valid row of the result. `spare` has
  // memory for a tile. `stream(factor, target)` returns true if the factor's rows are also stored
  // to a tensor, and sets `target`; with `stream_only`, the last factor's rows are stored only
  // there.
  template <class Stream>
  A* apply(mix_group const& group, index_t first, A* tile, A* spare, Stream const& stream,
           bool stream_only) const {
    row_span<T> spans[mix_group::max_factors];
    index_t link_pitch[mix_group::max_factors];
    for (int m = 0; m < group.factors; ++m) {
      row_span<T>& span = spans[m] = {};
      span.width = static_cast<int>(chain_.chunk().channels);
      span.links = static_cast<int>(chain_.call().config.links);
      link_pitch[m] = chain_.load_weights(first + m, 0, span);
      tensor3<T> target;
      if (stream(first + m, target)) chain_.set_stream(target, span);
    }
    if (group.stride > 0) {
      apply_classes(group, first, spans, link_pitch, tile, spare, stream_only);
      return tile;
    }
    return apply_window(group, first, spans, link_pitch, tile, stream_only);
  }

 private:
  void compute_distances(index_t factor, index_t* distances) const {
    chain_.compute_distances(factor, 0, static_cast<int>(chain_.call().config.links), distances);
  }
  // Row offset of a link, in -rows/2 .. rows/2.
  index_t signed_distance(index_t distance) const {
    return distance > rows_ / 2 ? distance - rows_ : distance;
  }

  mix_group find_window(index_t first, index_t limit) const {
    mix_group group{};
    index_t before = 0, after = 0;
    int m = 0;
    for (; m < limit; ++m) {
      index_t distances[mix_group::max_links];
      compute_distances(first + m, distances);
      group.before[m] = group.after[m] = 0;
      for (index_t k = 0; k < chain_.call().config.links; ++k) {
        group.before[m] = std::max(group.before[m], -signed_distance(distances[k]));
        group.after[m] = std::max(group.after[m], signed_distance(distances[k]));
      }
      before += group.before[m], after += group.after[m];
      if (before > mix_halo_rows || after > mix_halo_rows) break;
    }
    group.factors = std::max(m, 1);
    return group;
  }
  mix_group find_classes(index_t first, index_t limit) const {
    mix_group group{};
    index_t stride = rows_;
    for (int m = 0; m < limit; ++m) {
      index_t distances[mix_group::max_links];
      compute_distances(first + m, distances);
      for (index_t k = 0; k < chain_.call().config.links; ++k)
        stride = std::gcd(stride, distances[k]);
      if (stride % mix_rows_per_run != 0 ||
          rows_ / stride * mix_rows_per_run > mix_max_class_rows<A>)
        break;
      group.factors = m + 1, group.stride = stride;
    }
    return group;
  }

  // Computes rows first..last-1 of every factor in turn. Rows -before..-1 and rows..rows+after-1
  // repeat those from the other end of the sample.
  A* apply_window(mix_group const& group, index_t first, row_span<T>* spans,
                  index_t const* link_pitch, A* tile, bool stream_only) const {
    index_t begin[mix_group::max_factors], end[mix_group::max_factors];  // rows of each factor
    index_t before = 0, after = 0;
    for (int m = group.factors; m-- > 0;) {
      begin[m] = -before, end[m] = rows_ + after;
      before += group.before[m], after += group.after[m];
    }
    std::copy_n(tile + (rows_ - before) * mix_columns, before * mix_columns,
                tile - before * mix_columns);
    std::copy_n(tile, after * mix_columns, tile + rows_ * mix_columns);
    for (int m = 0; m < group.factors; ++m) {
      row_span<T>& span = spans[m];
      index_t distances[mix_group::max_links];
      compute_distances(first + m, distances);
      for (int k = 0; k < span.links; ++k) {
        index_t const offset = signed_distance(distances[k]);
        span.row_offsets[k] = offset * mix_columns;
      }
      span.input = tile;
      span.start = has_residual() ? span.input : nullptr;
      tile -= group.before[m] * mix_columns;  // rows that are no longer needed
      span.output = stream_only && m + 1 == group.factors ? nullptr : tile;
    }
    constexpr index_t step = 4 * mix_rows_per_run;
    for (bool complete = false; !complete;) {
      index_t available = rows_ + after;  // rows of the factor before
      complete = true;
      for (int m = 0; m < group.factors; ++m) {
        index_t last = m == 0 ? begin[0] + step : available - group.after[m];
        if (last < end[m] && last > begin[m]) last -= (last - begin[m]) % mix_rows_per_run;
        last = std::min(last, end[m]);
        if (last > begin[m]) mix_window_rows(spans[m], link_pitch[m], begin[m], last);
        begin[m] = std::max(begin[m], last);
        available = begin[m];
        complete = complete && begin[m] == end[m];
      }
    }
    return tile;
  }

  // Computes rows [first, last) of a factor of a window, in parts in which no weight row wraps.
  void mix_window_rows(row_span<T>& span, index_t link_pitch, index_t first, index_t last) const {
    T* const stream = span.stream;
    for (; first < last; first = span.last) {
      span.first = first;
      span.last = std::min(last, next_wrap(first));
      index_t const wrapped = first < 0 ? first + rows_ : first < rows_ ? first : first - rows_;
      for (int k = 0; k < span.links; ++k)
        span.weight_offsets[k] = k * link_pitch + (wrapped - first) * span.weight_pitch;
      span.stream = 0 <= first && first < rows_ ? stream : nullptr;
      chain_.call().kernels.mix_rows(span);
    }
    span.stream = stream;
  }
  // First row after `row` that is a multiple of the number of rows. Requires -rows <= row < 2 rows.
  index_t next_wrap(index_t row) const { return row < 0 ? 0 : row < rows_ ? rows_ : 2 * rows_; }

  void apply_classes(mix_group const& group, index_t first, row_span<T>* spans,
                     index_t const* link_pitch, A* tile, A* spare, bool stream_only) const {
    index_t const gap = group.stride - mix_rows_per_run;
    index_t const class_rows = rows_ / group.stride * mix_rows_per_run;
    A* const buffers[] = {spare, spare + mix_max_class_rows<A> * mix_columns};
    index_t distances[mix_group::max_factors][mix_group::max_links];
    for (int m = 0; m < group.factors; ++m) {
      row_span<T>& span = spans[m];
      compute_distances(first + m, distances[m]);
      for (int k = 0; k < span.links; ++k) {
        distances[m][k] = distances[m][k] / group.stride * mix_rows_per_run;
        span.weight_offsets[k] = k * link_pitch[m];
      }
      span.input_gap = m == 0 ? gap : 0;
      span.output_gap = m + 1 == group.factors ? gap : 0;
      span.tensor_gap = gap;
    }
    for (index_t row = 0; row < group.stride; row += mix_rows_per_run) {
      A const* input = tile + row * mix_columns;
      for (int m = 0; m < group.factors; ++m) {
        row_span<T>& span = spans[m];
        bool const is_last = m + 1 == group.factors;
        A* const output = is_last ? tile + row * mix_columns : buffers[m % 2];
        span.input = input;
        span.start = has_residual() ? input : nullptr;
        span.output = is_last && stream_only ? nullptr : output;
        index_t const input_stride = m == 0 ? group.stride : mix_rows_per_run;
        for_each_row_span(distances[m], span.links, class_rows, span.row_offsets,
                          [&](index_t begin, index_t end) {
                            span.first = begin, span.last = end;
                            for (int k = 0; k < span.links; ++k) {
                              index_t const runs = span.row_offsets[k] / mix_rows_per_run;
                              span.row_offsets[k] = runs * input_stride * mix_columns;
                            }
                            chain_.call().kernels.mix_rows(span);
                          });
        span.weights += mix_rows_per_run * span.weight_pitch;
        if (span.stream != nullptr) span.stream += mix_rows_per_run * span.stream_pitch;
        input = output;
      }
    }
  }

  bool has_residual() const { return chain_.call().config.residual == residual_form::per_factor; }

  mix_chain<T> const& chain_;
  index_t const rows_;
};

SLICESORT_DETAIL_END
