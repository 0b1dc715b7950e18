// SPDX-License-Identifier: Apache-2.0
// Memory and elementwise loops of the recipes, on the host and on a GPU.
//
// A recipe is an attention layer without its projections, made of calls of the library. All recipes
// have the same form:
// - Tensors are views [batch, heads, length, channels] with any strides, as in softmax_attention.
//   `ss::split_heads` views [batch, length, heads * channels] in this form.
// - `<recipe>_params<T>` holds the inputs and the learned parameters, `<recipe>_grads<T>` their
//   gradients (`layer::params_type` and `layer::grads_type`). Parameters that samples or heads
//   share have an extent of 1 there, and gradients are summed over them.
// - `layer.forward(params, y)` writes y, and keeps what backward needs until the next forward.
//   `layer.backward(dy, params, y, grads)` overwrites every gradient, and may be called repeatedly.
// - `recipes::linformer<float, ss::exec::host> layer(exec)` runs on any policy. For `exec::cuda` it
//   is compiled by a CUDA compiler, and views must point to memory of the device.
// - `layer.forward(params, y, ss::lengths(rows))` takes the number of valid rows of each sample.
//   Backward reads them again.
// - Layers throw the errors of the calls that they are made of. A layer runs one call at a time.
#pragma once

#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__CUDACC__)
#  include "../support/device_array.hpp"
#  define RECIPES_HD __host__ __device__
#else
#  define RECIPES_HD
#endif

namespace recipes {

namespace ss = slicesort;
using ss::extents3, ss::extents4, ss::index_t, ss::strides4, ss::tensor3, ss::tensor4;

// Type in which intermediate results of few elements are stored.
template <class T>
using accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Memory of one tensor: on the heap, or on a CUDA stream.
template <class Exec>
struct bytes_of {
  using type = ss::host_bytes;
  static type make(Exec const&) { return {}; }
};
#if defined(__CUDACC__)
template <class... Selectors>
struct bytes_of<ss::exec::basic_cuda<Selectors...>> {
  using type = stream_bytes;
  static type make(ss::exec::basic_cuda<Selectors...> const& exec) {
    return stream_bytes(exec.stream);
  }
};
#endif

// Intermediate tensors of a layer, and the workspace of its calls.
template <class Exec>
class memory {
  using bytes = typename bytes_of<Exec>::type;

 public:
  explicit memory(Exec const& exec) : exec_(exec), scratch_(bytes_of<Exec>::make(exec)) {}

  // Returns a tensor with undefined contents, which lives until `clear`.
  template <class T>
  tensor4<T> tensor(extents4 e) {
    if (used_ == tensors_.size()) tensors_.push_back(bytes_of<Exec>::make(exec_));
    bytes& buffer = tensors_[used_++];
    auto const size = static_cast<std::size_t>(e.size()) * sizeof(T);
    if (buffer.size() < size) buffer.resize(size);
    return {reinterpret_cast<T*>(buffer.data()), e};
  }
  // Keeps the memory for the next tensors, in order, since systems clear every page of new memory.
  void clear() { used_ = 0; }

  // Frees the tensors that were made during its lifetime.
  class scope {
   public:
    explicit scope(memory& owner) : owner_(owner), count_(owner.used_) {}
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;
    ~scope() {
      while (owner_.tensors_.size() > count_) owner_.tensors_.pop_back();
      owner_.used_ = count_;
    }

   private:
    memory& owner_;
    std::size_t count_;
  };

  ss::workspace workspace() { return scratch_; }

 private:
  Exec exec_;
  std::vector<bytes> tensors_;
  std::size_t used_ = 0;  // of tensors_
  ss::basic_scratch<bytes> scratch_;
};

// Calls f(i) for every i in [0, count), in any order. `f` is a struct, because CUDA compilers need
// an option for lambdas.
template <class Exec, class F>
void for_each_index(Exec const&, index_t count, F const& f) {
  for (index_t i = 0; i < count; ++i) f(i);
}
#if defined(__CUDACC__)
template <class F>
__global__ void call_for_index(index_t count, F f) {
  index_t const i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) f(i);
}
template <class... Selectors, class F>
void for_each_index(ss::exec::basic_cuda<Selectors...> const& exec, index_t count, F const& f) {
  constexpr unsigned threads = 128;
  if (count == 0) return;
  call_for_index<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0,
                   exec.stream>>>(count, f);
  check(cudaGetLastError());
}
#endif

// Indices of an element.
// Passed by reference: with AVX, -O1 and -fno-math-errno, g++ 12 reuses the stack of a position
// that is passed by value after a call of exp has overwritten it.
struct position {
  index_t batch, head, row, channel;

  RECIPES_HD position(index_t b, index_t h, index_t n, index_t c)
      : batch(b), head(h), row(n), channel(c) {}
  // Element i in row-major order.
  RECIPES_HD position(extents4 e, index_t i)
      : position(i / e.channels / e.length / e.heads, i / e.channels / e.length % e.heads,
                 i / e.channels % e.length, i % e.channels) {}
};
template <class T>
RECIPES_HD T& element(tensor4<T> const& x, position const& p) {
  return x(p.batch, p.head, p.row, p.channel);
}
// The elements of a row.
template <class T>
struct row_elements {
  T* data;
  index_t stride;

  RECIPES_HD T& operator[](index_t channel) const { return data[channel * stride]; }
};
template <class T>
RECIPES_HD row_elements<T> row_of(tensor4<T> const& x, position const& p) {
  strides4 const s = x.strides();
  return {x.data() + p.batch * s.batch + p.head * s.heads + p.row * s.length, s.channels};
}
template <class F>
struct call_for_position {
  extents4 e;
  F f;

  RECIPES_HD void operator()(index_t i) const { f(position(e, i)); }
};
// Calls f(position) with the first element of every row, in any order, on the host. Threads share
// the rows of large tensors.
template <class Exec, class F>
void for_each_row(Exec const& exec, extents4 e, F const& f) {
  index_t const rows = e.batch * e.heads * e.length,
                threads = e.size() < 100000 ? 1 : static_cast<index_t>(exec.threads);
  exec.parallel_for(static_cast<unsigned>(threads), [&](unsigned thread) {
    index_t const first = rows * static_cast<index_t>(thread) / threads,
                  last = rows * (static_cast<index_t>(thread) + 1) / threads;
    for (index_t row = first; row < last; ++row)
      f(position{row / e.length / e.heads, row / e.length % e.heads, row % e.length, 0});
  });
}
// Calls f(position) for every element of a tensor, in any order.
template <class Exec, class F>
void for_each_position(Exec const& exec, extents4 e, F const& f) {
  if constexpr (Exec::backend::host_memory) {
    for_each_row(exec, e, [&](position p) {
      for (; p.channel < e.channels; ++p.channel) f(p);
    });
  } else {
    for_each_index(exec, e.size(), call_for_position<F>{e, f});
  }
}
// Calls `f.row(position)(channel)` for every element of a tensor, in any order. On the host, the
// tensors of a row are found once.
template <class F>
struct call_for_element {
  F f;

  RECIPES_HD void operator()(position const& p) const { f.row(p)(p.channel); }
};
template <class Exec, class F>
void for_each_element(Exec const& exec, extents4 e, F const& f) {
  if constexpr (Exec::backend::host_memory) {
    for_each_row(exec, e, [&](position const& p) {
      auto const row = f.row(p);
      for (index_t c = 0; c < e.channels; ++c) row(c);
    });
  } else {
    for_each_position(exec, e, call_for_element<F>{f});
  }
}

RECIPES_HD inline bool is_valid(ss::row_lengths const& rows, position const& p) {
  return rows.lengths.data() == nullptr || p.row < rows.lengths(p.batch);
}
template <class T>
RECIPES_HD double to_double(T const& value) {
  return static_cast<double>(static_cast<accumulator<T>>(value));
}
template <class T>
RECIPES_HD T rounded(double value) {
  return static_cast<T>(static_cast<accumulator<T>>(value));
}

// The numbers of a row that is read: zeros if it is past the lengths, or past the rows of x.
template <class T>
struct row_numbers {
  row_elements<T const> elements;
  bool is_zero;

  RECIPES_HD double operator[](index_t channel) const {
    return is_zero ? 0 : to_double(elements[channel]);
  }
};
template <class T>
RECIPES_HD row_numbers<T> numbers_of(tensor4<T const> const& x, ss::row_lengths const& rows,
                                     position const& p) {
  return {row_of(x, p), p.row >= x.extents().length || !is_valid(rows, p)};
}

// to = scale * from, or to += scale * from, with zeros for rows past the lengths.
template <class T, class U>
struct copy_element {
  tensor4<T const> from;
  tensor4<U> to;
  double scale;
  ss::row_lengths rows;
  bool adds;

  RECIPES_HD void operator()(position const& p) const {
    double value = is_valid(rows, p) ? scale * to_double(element(from, p)) : 0;
    if (adds) value += to_double(element(to, p));
    element(to, p) = rounded<U>(value);
  }
};
// Copies a view to another of the same shape, whose element type may differ.
template <class Exec, class T, class U>
void copy(Exec const& exec, tensor4<T> from, tensor4<U> to, double scale = 1,
          ss::row_lengths lengths = {}) {
  for_each_position(exec, to.extents(),
                    copy_element<std::remove_const_t<T>, U>{from, to, scale, lengths, false});
}
// Adds a view to another of the same shape.
template <class Exec, class T, class U>
void add(Exec const& exec, tensor4<T> from, tensor4<U> to) {
  for_each_position(exec, to.extents(),
                    copy_element<std::remove_const_t<T>, U>{from, to, 1, {}, true});
}

// Sums over samples and rows, for every channel, in order. For heads of 1. `F` defines
// - `terms`, the number of sums of a channel;
// - `add(position, sums)`, which adds the terms of an element;
// - `store(channel, sums)`.
template <class F>
struct sum_rows_of_channel {
  extents4 e;
  F f;

  // On the host, sums `width` adjacent channels, a row at a time.
  template <index_t Width>
  RECIPES_HD void sum(index_t first) const {
    double sums[static_cast<std::size_t>(Width)][F::terms] = {};
    index_t const count = first + Width <= e.channels ? Width : e.channels - first;
    for (index_t i = 0; i < e.batch; ++i)
      for (index_t n = 0; n < e.length; ++n)
        for (position p(i, 0, n, first); p.channel < first + count; ++p.channel)
          f.add(p, sums[p.channel - first]);
    for (index_t c = 0; c < count; ++c) f.store(first + c, sums[c]);
  }
  RECIPES_HD void operator()(index_t channel) const { sum<1>(channel); }
};
template <class Exec, class F>
void sum_rows(Exec const& exec, extents4 e, F const& f) {
  sum_rows_of_channel<F> const sums{e, f};
  if constexpr (Exec::backend::host_memory) {
    constexpr index_t width = 64;
    for (index_t first = 0; first < e.channels; first += width) sums.template sum<width>(first);
  } else {
    for_each_index(exec, e.channels, sums);
  }
}

// The sum of a * b over samples and rows, for every channel. For heads of 1.
template <class T, class U>
struct sum_products {
  tensor4<T const> a;
  tensor4<U const> b;
  tensor4<U> sums;  // [1, 1, 1, channels]
  ss::row_lengths rows;

  static constexpr int terms = 1;
  RECIPES_HD void add(position const& p, double* sum) const {
    if (is_valid(rows, p)) *sum += to_double(element(a, p)) * to_double(element(b, p));
  }
  RECIPES_HD void store(index_t channel, double const* sum) const {
    sums(0, 0, 0, channel) = rounded<U>(*sum);
  }
};

// A copy of x with elements U.
template <class U, class Exec, class T>
tensor4<U> convert(Exec const& exec, memory<Exec>& memory, tensor4<T> x) {
  auto const result = memory.template tensor<U>(x.extents());
  copy(exec, x, result);
  return result;
}

// Returns x with zeros in the rows past the lengths; without lengths x itself.
template <class Exec, class T>
tensor4<T const> zero_padding(Exec const& exec, memory<Exec>& memory, tensor4<T const> x,
                              ss::row_lengths lengths) {
  if (lengths.lengths.data() == nullptr) return x;
  auto const padded = memory.template tensor<T>(x.extents());
  copy(exec, x, padded, 1, lengths);
  return padded;
}

template <class T>
struct fill_element {
  tensor4<T> to;
  float value, diagonal;

  RECIPES_HD void operator()(position const& p) const {
    element(to, p) = static_cast<T>(p.row == p.channel ? diagonal : value);
  }
};
template <class Exec, class T>
void fill(Exec const& exec, tensor4<T> to, float value) {
  for_each_position(exec, to.extents(), fill_element<T>{to, value, value});
}
template <class Exec, class T>
void fill_identity(Exec const& exec, tensor4<T> to) {
  for_each_position(exec, to.extents(), fill_element<T>{to, 0, 1});
}

// The first columns of matrices.
template <class T>
tensor4<T> columns(tensor4<T> x, index_t count) {
  extents4 const e = x.extents();
  return {x.data(), {e.batch, e.heads, e.length, count}, x.strides()};
}

// The view [batch, length, channels] of a head.
template <class T>
tensor3<T> head(tensor4<T> x, index_t h) {
  extents4 const e = x.extents();
  auto const s = x.strides();
  return {e.size() == 0 ? x.data() : x.data() + h * s.heads,
          {e.batch, e.length, e.channels},
          {s.batch, s.length, s.channels}};
}

}  // namespace recipes
