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

// Memory aligned to a cache line.
template <class T>
class buffer {
 public:
  buffer() = default;
  explicit buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    std::size_t const bytes = (size * sizeof(T) + 63) / 64 * 64;
    data_ = static_cast<T*>(std::aligned_alloc(64, bytes));
    if (data_ == nullptr) throw std::bad_alloc();
    std::memset(static_cast<void*>(data_), 0xff,
                bytes);  // touches the pages before timing
  }
  buffer(buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~buffer() { std::free(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Saved indices of shape `e`.
class index_buffer {
 public:
  index_buffer() = default;
  index_buffer(ss::extents3 e, ss::index_width width)
      : extents_(e),
        width_(width),
        bytes_(static_cast<std::size_t>(e.size()) * static_cast<std::size_t>(width)) {}
  // Chooses the narrowest width for row numbers below `length`.
  index_buffer(ss::extents3 e, ss::index_t length)
      : index_buffer(e, length > 65536 ? ss::index_width::bits32 : ss::index_width::bits16) {}

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
ss::tensor3<T> view(buffer<T> const& b, ss::extents3 e) {
  return {b.data(), e};
}
template <class T>
ss::tensor3<T const> const_view(buffer<T> const& b, ss::extents3 e) {
  return {b.data(), e};
}

struct host_backend {
  static constexpr bool all_policies = true;  // false: compiles only some policies
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
    buffer_view(Extents e, buffer<value_type> const& b) : bytes_(b.bytes()) {
      if (b.size() != 0) view_ = {b.data(), e};
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
  void allocate(std::size_t bytes) {
    scratch = typename Backend::template memory<unsigned char>(bytes);
    workspace_bytes = bytes;
  }

  case_params const params_;
  typename Backend::template memory<unsigned char> scratch;
};

}  // namespace bench
