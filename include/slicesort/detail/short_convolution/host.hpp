// SPDX-License-Identifier: Apache-2.0
// short_convolution on the host. A task convolves a segment of rows of some neighboring columns,
// tile by tile. Kernels read rows in place through pointers; rows that are not valid point to
// zeros, and rows with strided channels to a copy.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/short_convolution/host/rows.hpp>
#include <slicesort/detail/short_convolution/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Columns per task, at most those of a sample: wide, so rows are read in long pieces, unless the
// weights would not fit in the L1 cache.
inline index_t convolution_columns(convolution_shape const& shape) {
  return std::min(shape.extents.channels,
                  std::clamp<index_t>(4096 / shape.taps / 64 * 64, 64, 1024));
}

// Memory of a thread, for `width` columns.
template <class T>
struct convolution_buffers {
  T *rows, *x_rows;           // [tile rows + taps - 1], copies of strided rows
  T* output;                  // [tile rows]
  T* zeros;                   // [1]
  accumulator_t<T>* weights;  // [taps]
  double* weight_sums;        // [taps]

  convolution_buffers(arena& memory, index_t taps, index_t width)
      : rows(memory.take<T>(amount(convolution_tile_rows + taps - 1) * width)),
        x_rows(memory.take<T>(amount(convolution_tile_rows + taps - 1) * width)),
        output(memory.take<T>(amount(convolution_tile_rows) * width)),
        zeros(memory.take<T>(amount(width))),
        weights(memory.take<accumulator_t<T>>(amount(taps) * width)),
        weight_sums(memory.take<double>(amount(taps) * width)) {}
};

template <class T>
struct convolution_layout {
  column_chunks chunks;
  per_thread<convolution_buffers<T>, index_t, index_t> thread_buffers;
  double* weight_sums;  // [sample][segment][tap][channel]

  convolution_layout(arena& memory, host_exec const& exec, convolution_shape const& shape)
      : chunks(shape.extents, std::max<index_t>(convolution_columns(shape), 1)),
        thread_buffers(memory, exec.threads, amount(chunks.count()) * shape.segments(), shape.taps,
                       chunks.channels()),
        weight_sums(shape.take_weight_sums(memory)) {}
};

// Pointers to the rows that a tile of output rows [first, first + count) reads: from `shift` before
// the first one to taps - 1 - shift past the last one.
template <class T>
class convolved_rows {
 public:
  convolved_rows(tensor3<T const> from, column_chunk chunk, convolution_window window,
                 index_t valid, T* copies, T const* zeros)
      : from_(from.data() + from.offset(chunk.batch, 0, chunk.channel)),
        strides_(from.strides()),
        channels_(chunk.channels),
        window_(window),
        valid_(valid),
        copies_(copies),
        zeros_(zeros) {}

  void load(index_t first, index_t count) {
    index_t const end = count + window_.taps - 1;
    for (index_t i = 0; i < end + prefetched_rows; ++i) {
      index_t const row = first - window_.shift + i;
      bool const is_valid = row >= 0 && row < valid_ && (i < end || strides_.channels == 1);
      rows_[i] = is_valid ? load_row(row, copies_ + i * channels_) : zeros_;
    }
  }
  // Returns pointers to the input rows, starting at row i of the tile's input.
  T const* const* operator[](index_t i) const { return rows_ + i; }

 private:
  static constexpr index_t prefetched_rows = convolution_kernels<T>::prefetched_rows;

  T const* load_row(index_t row, T* copy) const {
    T const* const from = from_ + row * strides_.length;
    if (strides_.channels == 1) return from;
    for (index_t c = 0; c < channels_; ++c) copy[c] = from[c * strides_.channels];
    return copy;
  }

  T const* from_;
  strides3 strides_;
  index_t channels_;
  convolution_window window_;
  index_t valid_;
  T* copies_;
  T const* zeros_;
  static constexpr std::size_t max_rows{convolution_tile_rows + convolution_window::max_taps - 1 +
                                        prefetched_rows};
  T const* rows_[max_rows] = {};
};

// A segment of rows of a chunk of columns.
template <class T>
class convolution_task {
 public:
  using A = accumulator_t<T>;

  convolution_task(convolution_kernels<T> const& kernels, column_chunk chunk, index_t segment,
                   index_t valid, index_t length, convolution_buffers<T> const& buffers)
      : kernels_(kernels),
        chunk_(chunk),
        first_(segment * convolution_segment_rows),
        end_(std::min(first_ + convolution_segment_rows, length)),
        valid_(valid),
        valid_end_(std::clamp(valid, first_, end_)),
        buffers_(buffers) {
    std::fill_n(buffers.zeros, chunk.channels, T(0.0F));
  }

  void load_weights(tensor3<T const> weights, index_t channels, bool reversed) const {
    index_t const taps = weights.extents().length,
                  group_channels = channels / weights.extents().channels;
    for (index_t c = 0; c < chunk_.channels; ++c) {
      index_t const group = (chunk_.channel + c) / group_channels;
      for (index_t k = 0; k < taps; ++k)
        buffers_.weights[k * chunk_.channels + c] =
            static_cast<A>(weights(0, reversed ? taps - 1 - k : k, group));
    }
  }

  void convolve(tensor3<T const> from, tensor3<T> to, convolution_window window,
                grad_mode mode) const {
    convolve(from, to, window, mode, [](index_t, index_t, convolved_rows<T> const&) {});
  }

  // Computes dx and, if requested, the segment's sums of dweights, [tap][channel of the tensor].
  void backward(short_convolution_backward<T> const& params, double* sums) const {
    convolution_window const window = params.window, reversed = window.reversed();
    if (!params.needs_weight_gradient) return convolve(params.dy, params.dx, reversed, params.mode);
    std::fill_n(buffers_.weight_sums, window.taps * chunk_.channels, 0.0);
    convolved_rows<T> x(params.x, chunk_, window, valid_, buffers_.x_rows, buffers_.zeros);
    convolve(params.dy, params.dx, reversed, params.mode,
             [&](index_t first, index_t count, convolved_rows<T> const& dy) {
               x.load(first, count);
               kernels_.correlate(dy[reversed.shift], x[0], window.taps, count, chunk_.channels,
                                  buffers_.weight_sums);
             });
    for (index_t k = 0; k < window.taps; ++k)
      std::copy_n(buffers_.weight_sums + k * chunk_.channels, chunk_.channels,
                  sums + k * params.dy.extents().channels + chunk_.channel);
  }

 private:
  // Calls each_tile(first, count, rows) for every tile of valid rows, after its convolution.
  template <class F>
  void convolve(tensor3<T const> from, tensor3<T> to, convolution_window window, grad_mode mode,
                F const& each_tile) const {
    convolved_rows<T> rows(from, chunk_, window, valid_, buffers_.rows, buffers_.zeros);
    T* const target = to.data() + to.offset(chunk_.batch, 0, chunk_.channel);
    index_t const pitch = to.strides().length;
    auto const kernel = mode == grad_mode::accumulate                     ? kernels_.add
                        : should_stream_rows(to, target, chunk_.channels) ? kernels_.stream
                                                                          : kernels_.store;
    for (index_t first = first_, count; first < valid_end_; first += count) {
      count = std::min(convolution_tile_rows, valid_end_ - first);
      rows.load(first, count);
      if (to.strides().channels == 1) {
        kernel(rows[0], buffers_.weights, window.taps, count, chunk_.channels,
               target + first * pitch, pitch);
      } else {
        auto const for_each_output = [&](auto const& f) {
          for_each_element(to, chunk_, first, first + count, [&](index_t c, index_t i, T& element) {
            f(element, buffers_.output[(i - first) * chunk_.channels + c]);
          });
        };
        if (mode == grad_mode::accumulate)
          for_each_output([](T const& element, T& output) { output = element; });
        kernel(rows[0], buffers_.weights, window.taps, count, chunk_.channels, buffers_.output,
               chunk_.channels);
        for_each_output([](T& element, T const& output) { element = output; });
      }
      each_tile(first, count, rows);
    }
    if (mode == grad_mode::overwrite)
      for_each_element(to, chunk_, valid_end_, end_,
                       [](index_t, index_t, T& element) { element = T(0.0F); });
  }

  convolution_kernels<T> const& kernels_;
  column_chunk chunk_;
  index_t first_, end_;  // rows of the segment
  index_t valid_;        // valid rows of the sample
  index_t valid_end_;    // end of the segment's valid rows
  convolution_buffers<T> buffers_;
};

template <>
struct host_implementation<short_convolution_op> {
  template <class T>
  static void plan(host_exec const& exec, convolution_shape const& shape, arena& memory) {
    (void)convolution_layout<T>(memory, exec, shape);
  }

  template <class T>
  static void forward(host_exec const& exec, short_convolution_forward<T> const& params,
                      workspace memory) {
    for_each_segment(exec, params, memory, [&](convolution_task<T> const& task, double*) {
      task.load_weights(params.weights, params.x.extents().channels, false);
      task.convolve(params.x, params.y, params.window, grad_mode::overwrite);
    });
  }

  template <class T>
  static void backward(host_exec const& exec, short_convolution_backward<T> const& params,
                       workspace memory) {
    double* const sums = for_each_segment(
        exec, params, memory, [&](convolution_task<T> const& task, double* segment_sums) {
          task.load_weights(params.weights, params.dy.extents().channels, true);
          task.backward(params, segment_sums);
        });
    if (params.needs_weight_gradient) sum_segments(params, sums);
  }

 private:
  // Calls f(task, sums) for every segment of every chunk of columns, where `sums` are those of the
  // segment. Returns the sums of all segments.
  template <class Params, class F>
  static double* for_each_segment(host_exec const& exec, Params const& params, workspace w,
                                  F const& f) {
    using T = typename Params::element;
    convolution_shape const shape = params.shape();
    index_t const segments = shape.segments();
    arena memory(w);
    convolution_layout<T> const layout(memory, exec, shape);
    convolution_kernels<T> const kernels = convolution_kernels_of<T>(exec.instructions);
    for_each_task(exec, layout.chunks.count() * segments, [&](unsigned thread, index_t index) {
      column_chunk const chunk = layout.chunks[index / segments][0];
      index_t const segment = index % segments;
      f(convolution_task<T>(kernels, chunk, segment,
                            valid_rows(params.lengths, chunk.batch, shape.extents.length),
                            shape.extents.length, layout.thread_buffers[thread]),
        layout.weight_sums +
            (chunk.batch * segments + segment) * shape.taps * shape.extents.channels);
    });
    return layout.weight_sums;
  }

  // Computes dweights from the sums of all segments. Overwrites those of the first one.
  template <class T>
  static void sum_segments(short_convolution_backward<T> const& params, double* sums) {
    convolution_shape const shape = params.shape();
    extents3 const e = shape.extents;
    index_t const groups = params.dweights.extents().channels, size = shape.taps * e.channels;
    index_t const segments = e.empty() ? 0 : e.batch * shape.segments(),
                  group_channels = segments == 0 ? 0 : e.channels / groups;
    for (index_t s = 1; s < segments; ++s)
      for (index_t i = 0; i < size; ++i) sums[i] += sums[s * size + i];
    with_store<T>(params.mode, [&](auto store) {
      for (index_t k = 0; k < shape.taps; ++k)
        for (index_t g = 0; g < groups; ++g) {
          double sum = 0;
          for (index_t c = 0; c < group_channels; ++c)
            sum += sums[k * e.channels + g * group_channels + c];
          store.sum(params.dweights(0, k, g), static_cast<accumulator_t<T>>(sum));
        }
    });
  }
};

SLICESORT_DETAIL_END
