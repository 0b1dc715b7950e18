// SPDX-License-Identifier: Apache-2.0
// Tensors on the device. The host makes one sample, which is repeated through the batch. This is
// fast, and verifies results: the device compares every sample with the first one, and the host
// compares the first one with the oracle.
#pragma once

#include "device.hpp"
#include "driver/case.hpp"
#include "driver/tensors.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

namespace bench {

namespace ss = slicesort;

// Copies a sample of `bytes` bytes from the host and repeats it `samples` times.
void repeat_sample(void* data, void const* sample, std::size_t bytes, std::size_t samples);
// Copies the first sample to the host; false if another sample differs from it.
bool fetch_sample(void* sample, void const* data, std::size_t bytes, std::size_t samples);

// A repeated sample; an empty one has empty extents.
template <class T>
class device_tensor {
 public:
  device_tensor() = default;
  device_tensor(ss::extents3 shape, buffer<T> const& sample)
      : shape_(sample.size() != 0 ? shape : ss::extents3{}),
        values_(static_cast<std::size_t>(shape_.size())) {
    if (sample.size() != 0) repeat_sample(values_.data(), sample.data(), sample.bytes(), samples());
  }

  ss::tensor3<T> view() const { return {values_.data(), shape_}; }
  ss::tensor3<T const> const_view() const { return view(); }
  std::size_t bytes() const { return values_.bytes(); }
  bool fetch(buffer<T> const& sample) const {
    return bytes() == 0 || fetch_sample(sample.data(), values_.data(), sample.bytes(), samples());
  }

 private:
  std::size_t samples() const { return static_cast<std::size_t>(shape_.batch); }

  ss::extents3 shape_;
  device_buffer<T> values_;
};

// A stack of tensors for every sample: [batch, outer, length, channels] in memory, viewed as
// [outer, batch, length, channels].
template <class T>
class device_stack {
 public:
  device_stack(ss::stack_extents shape, buffer<T> const& sample)
      : shape_(sample.size() != 0 ? shape : ss::stack_extents{}),
        values_({shape_.batch, shape_.outer * shape_.length, shape_.channels}, sample) {}
  ss::tensor_stack<T> view() const {
    ss::index_t const tensor_size = shape_.length * shape_.channels;
    return {values_.view().data(),
            shape_,
            {tensor_size, shape_.outer * tensor_size, shape_.channels, 1}};
  }
  std::size_t bytes() const { return values_.bytes(); }
  bool fetch(buffer<T> const& sample) const { return values_.fetch(sample); }

 private:
  ss::stack_extents shape_;
  device_tensor<T> values_;
};

// Saved indices on the device, of the same type as `sample`.
class device_indices {
 public:
  device_indices(ss::index_t batch, index_buffer const& sample)
      : samples_(static_cast<std::size_t>(batch)),
        sample_bytes_(sample.bytes()),
        values_(samples_ * sample.bytes()) {
    if (sample_bytes_ == 0) return;
    sample.visit([&](auto* data) {
      ss::extents3 shape = sample.view().extents();
      shape.batch = batch;
      view_ = ss::tensor3(reinterpret_cast<decltype(data)>(values_.data()), shape);
    });
  }

  ss::index_tensor3 view() const { return view_; }
  // Argument of forward: no_saved if there are no indices.
  ss::saved_permutation saved() const {
    if (sample_bytes_ == 0) return ss::no_saved;
    return view_;
  }
  std::size_t bytes() const { return values_.bytes(); }
  void fill(index_buffer const& sample) const {
    repeat_sample(values_.data(), sample.view().data(), sample_bytes_, samples_);
  }
  bool fetch(index_buffer const& sample) const {
    if (sample_bytes_ == 0) return true;
    return fetch_sample(sample.view().data(), values_.data(), sample_bytes_, samples_);
  }

 private:
  std::size_t samples_, sample_bytes_;
  device_buffer<unsigned char> values_;
  ss::index_tensor3 view_;
};

struct cuda_backend {
  static constexpr bool has_all_policies = false;  // each takes nvcc a minute
  static case_params host_params(case_params params) {
    params.extents.batch = 1;
    return params;
  }
  static ss::exec::cuda exec(case_params const&) { return {stream()}; }
  static void wait() { enforce(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

  template <class T>
  using memory = device_buffer<T>;
  template <class T>
  using tensor = device_tensor<T>;
  template <class T>
  using stack = device_stack<T>;
  using indices = device_indices;
};

}  // namespace bench
