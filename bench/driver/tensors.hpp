// SPDX-License-Identifier: Apache-2.0
// Tensors of a case. A backend says where they are stored and where the operator runs: host_backend
// is here, cuda_backend in cuda/tensors.hpp. Results are compared in copies on the host.
#pragma once

#include "case.hpp"

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace bench {

namespace ss = slicesort;

// Memory aligned to a cache line, whose pages are touched before timing.
struct host_memory {
  static void* allocate(std::size_t bytes) {
    std::size_t const rounded = (bytes + 63) / 64 * 64;
    void* const data = std::aligned_alloc(64, rounded);
    if (data == nullptr) throw std::bad_alloc();
    return std::memset(data, 0xff, rounded);
  }
  static void free(void* data) { std::free(data); }
};

// Array that owns memory of the host or of a device.
template <class T, class Memory>
class owned_array {
 public:
  owned_array() = default;
  explicit owned_array(std::size_t size) : size_(size) {
    if (size != 0) data_ = static_cast<T*>(Memory::allocate(bytes()));
  }
  owned_array(owned_array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  owned_array& operator=(owned_array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~owned_array() { Memory::free(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) const { return data_[i]; }  // only on the host

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};
template <class T>
using buffer = owned_array<T, host_memory>;

// Saved indices on the host.
class index_buffer {
 public:
  index_buffer() = default;
  index_buffer(ss::extents3 shape, ss::index_width width)
      : extents_(shape),
        width_(width),
        bytes_(static_cast<std::size_t>(shape.size()) * static_cast<std::size_t>(width)) {}
  // Chooses the narrowest width for row indices below `length`.
  index_buffer(ss::extents3 shape, ss::index_t length)
      : index_buffer(shape, length > 65536 ? ss::index_width::bits32 : ss::index_width::bits16) {}

  // Calls `f` with a typed pointer to the indices.
  template <class F>
  void visit(F const& f) const {
    if (width_ == ss::index_width::bits32)
      f(reinterpret_cast<std::uint32_t*>(bytes_.data()));
    else if (width_ == ss::index_width::bits16)
      f(reinterpret_cast<std::uint16_t*>(bytes_.data()));
    else
      f(bytes_.data());
  }
  ss::index_tensor3 view() const {
    ss::index_tensor3 v;
    visit([&](auto* data) { v = ss::tensor3(data, extents_); });
    return v;
  }
  // Argument of forward: no_saved if the buffer is empty.
  ss::saved_permutation saved() const {
    if (bytes() == 0) return ss::no_saved;
    return view();
  }
  std::uint32_t operator[](std::size_t i) const {
    std::uint32_t row = 0;
    visit([&](auto* data) { row = data[i]; });
    return row;
  }
  std::size_t bytes() const { return bytes_.bytes(); }

 private:
  ss::extents3 extents_;
  ss::index_width width_ = ss::index_width::bits16;
  buffer<unsigned char> bytes_;
};

template <class T>
ss::tensor3<T> view(buffer<T> const& b, ss::extents3 shape) {
  return {b.data(), shape};
}
template <class T>
ss::tensor3<T const> const_view(buffer<T> const& b, ss::extents3 shape) {
  return {b.data(), shape};
}

struct host_backend {
  static constexpr bool has_all_policies = true;  // false: compiles only some policies
  // Parameters of the copy on the host.
  static case_params const& host_params(case_params const& params) { return params; }
  static ss::exec::host exec(case_params const& params) { return params.exec(); }
  static void wait() {}

  template <class T>
  using memory = buffer<T>;

  // A view of a buffer; empty buffers have empty extents.
  template <class View, class Extents>
  class buffer_view {
   public:
    using value_type = typename View::value_type;
    buffer_view() = default;
    buffer_view(Extents shape, buffer<value_type> const& b) : bytes_(b.bytes()) {
      if (b.size() != 0) view_ = {b.data(), shape};
    }
    View view() const { return view_; }
    auto const_view() const { return ss::tensor3<value_type const>(view_); }
    std::size_t bytes() const { return bytes_; }
    // Copies the result to the buffer on the host; false if samples that must agree differ.
    bool fetch(buffer<value_type> const&) const { return true; }

   private:
    View view_;
    std::size_t bytes_ = 0;
  };
  template <class T>
  using tensor = buffer_view<ss::tensor3<T>, ss::extents3>;
  template <class T>
  using stack = buffer_view<ss::tensor_stack<T>, ss::stack_extents>;

  // View of saved indices.
  class indices {
   public:
    indices(ss::index_t, index_buffer const& b) : buffer_(b) {}
    ss::index_tensor3 view() const { return buffer_.view(); }
    ss::saved_permutation saved() const { return buffer_.saved(); }
    std::size_t bytes() const { return buffer_.bytes(); }
    void fill(index_buffer const&) const {}
    bool fetch(index_buffer const&) const { return true; }

   private:
    index_buffer const& buffer_;
  };
};

// A job on a backend, with its workspace.
template <class Backend>
class backend_job : public job {
 protected:
  explicit backend_job(case_params const& params) : params_(params) {}
  auto exec() const { return Backend::exec(params_); }
  void allocate_scratch(std::size_t bytes) {
    scratch = typename Backend::template memory<unsigned char>(bytes);
    workspace_bytes = bytes;
  }

  case_params const params_;
  typename Backend::template memory<unsigned char> scratch;
};

}  // namespace bench
