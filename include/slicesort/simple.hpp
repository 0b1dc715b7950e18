// SPDX-License-Identifier: Apache-2.0
/// The sorting operators for those who want ten lines: one call, and buffers that are allocated for
/// you. Optional and thin; whoever calls in a loop owns the buffers and calls the operators
/// themselves.
#pragma once

#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace simple {

/// What `forward` returns and `backward` needs. `y` and `perm` are contiguous `[batch, length,
/// channels]`: `perm[i]` is the row of the input that became the row of element `i`.
template <class T>
struct result {
  std::vector<T> y;
  std::vector<std::int32_t> perm;
  extents3 extents;
};

}  // namespace simple

namespace impl {

template <class X>
using element_of =
    std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<X const&>().data())>>;

template <class Exec>
constexpr void require_host_memory() {
  static_assert(reads_memory<Exec>,
                "slicesort: simple.hpp keeps its buffers in host memory: pass exec::host or "
                "exec::host_on.");
}

inline void enforce_size(char const* call, char const* name, std::size_t size, extents3 e) {
  detail::checker c(call);
  c.view({name,
          &e,
          1,
          detail::stack_of_one(e),
          {},
          false});  // extents alone: nobody reads the address
  if (c.ok()) c.size(name, static_cast<index_t>(size), e.size(), "batch * length * channels");
  enforce(c.result());
}

template <class T, class Op, class Exec>
std::vector<unsigned char> workspace_for(Op const& op, Exec const& on, extents3 e) {
  return std::vector<unsigned char>(op.template workspace_bytes<T>(on, e));
}

// The calls of the operators that save a permutation.
template <class Exec, class Order, class T>
void call_forward(Exec const& on, slicing_sort<Order> const& op, tensor3<T const> x, tensor3<T> y,
                  saved_permutation state, workspace scratch) {
  op.forward(on, x, y, state, scratch);
}
template <class Exec, class Order, class T>
void call_forward(Exec const& on, multi_permutation<Order> const& op, tensor3<T const> x,
                  tensor3<T> y, saved_permutation state, workspace scratch) {
  op.forward(on, x, uniform_weights, y, state, scratch);
}
template <class Exec, class Order, class T>
void call_backward(Exec const& on, slicing_sort<Order> const& op, tensor3<T const> dy,
                   const_saved_permutation state, tensor3<T> dx, workspace scratch) {
  op.backward(on, dy, state, dx, scratch);
}
template <class Exec, class Order, class T>
void call_backward(Exec const& on, multi_permutation<Order> const& op, tensor3<T const> dy,
                   const_saved_permutation state, tensor3<T> dx, workspace scratch) {
  op.backward(on, dy, uniform_weights, state, dx, scratch);
}

}  // namespace impl

namespace simple {

/// Runs `op`, a `slicing_sort` or a `multi_permutation` (with uniform weights), on `x`: contiguous
/// `[batch, length, channels]` in anything with `data()` and `size()`. A size that is not that of
/// `extents` is an `invalid_argument`.
template <class Exec, class Op, class X>
result<impl::element_of<X>> forward(Exec const& on, Op const& op, X const& x, extents3 extents) {
  impl::require_host_memory<Exec>();
  using T = impl::element_of<X>;
  impl::enforce_size("simple.forward", "x", x.size(), extents);
  auto const size = static_cast<std::size_t>(extents.size());
  result<T> r{std::vector<T>(size), std::vector<std::int32_t>(size), extents};
  auto scratch = impl::workspace_for<T>(op, on, extents);
  impl::call_forward(on, op, tensor3<T const>(x.data(), extents), tensor3<T>(r.y.data(), extents),
                     {tensor3<std::int32_t>(r.perm.data(), extents)},
                     {scratch.data(), scratch.size()});
  return r;
}
/// The same on the calling thread.
template <class Op, class X>
result<impl::element_of<X>> forward(Op const& op, X const& x, extents3 extents) {
  return forward(exec::host{}, op, x, extents);
}

/// The gradient of `x`, given that of `y` and what `forward` returned.
template <class Exec, class Op, class DY, class T>
std::vector<impl::element_of<DY>> backward(Exec const& on, Op const& op, DY const& dy,
                                           result<T> const& r) {
  impl::require_host_memory<Exec>();
  using D = impl::element_of<DY>;
  impl::enforce_size("simple.backward", "dy", dy.size(), r.extents);
  impl::enforce_size("simple.backward", "result.perm", r.perm.size(), r.extents);
  std::vector<D> dx(dy.size());
  auto scratch = impl::workspace_for<D>(op, on, r.extents);
  const_index_tensor3 const perm = tensor3<std::int32_t const>(r.perm.data(), r.extents);
  impl::call_backward(on, op, tensor3<D const>(dy.data(), r.extents), {perm},
                      tensor3<D>(dx.data(), r.extents), {scratch.data(), scratch.size()});
  return dx;
}
/// The same on the calling thread.
template <class Op, class DY, class T>
std::vector<impl::element_of<DY>> backward(Op const& op, DY const& dy, result<T> const& r) {
  return backward(exec::host{}, op, dy, r);
}

}  // namespace simple
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
