// SPDX-License-Identifier: Apache-2.0
// Every rule that an operator's arguments must keep, checked at its door before anything is
// written. A checker remembers the first broken rule; its message names the argument and both
// values.
#pragma once

#include <slicesort/detail/core/overlap.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>

SLICESORT_DETAIL_BEGIN

// The number of lengths that may differ: one if all samples share it, by a stride of 0.
inline index_t distinct_lengths(tensor1<index_t const> lengths) {
  return lengths.stride() == 0 && lengths.size() > 1 ? 1 : lengths.size();
}

class checker {
 public:
  // `reads_memory`: whether the values behind views may be read here (the lengths, that is).
  explicit checker(char const* op, bool reads_memory = true)
      : op_(op), reads_memory_(reads_memory) {}

  bool reads_memory() const { return reads_memory_; }

  status const& result() const { return status_; }
  bool ok() const { return static_cast<bool>(status_); }

  // Records the first failure. `format` follows printf and starts at the argument's name.
#if defined(__GNUC__)
  __attribute__((format(printf, 3, 4)))
#endif
  void
  fail(error_kind kind, char const* format, ...) {
    if (!ok()) return;
    status_.kind = kind;
    int const used = std::snprintf(status_.message, sizeof status_.message, "%s: ", op_);
    if (used < 0 || static_cast<std::size_t>(used) >= sizeof status_.message) return;
    std::va_list args;
    va_start(args, format);
    std::vsnprintf(status_.message + used, sizeof status_.message - static_cast<std::size_t>(used),
                   format, args);
    va_end(args);
  }

  // Adopts the status of another check.
  void fail(status const& v) {
    if (ok()) status_ = v;
  }

  // The rules of a single view: extents are not negative; their product and every offset fit in
  // 2^63 bytes; strides that matter are positive (an input may repeat rows with stride 0); the
  // elements of an output are distinct; data is not null and aligned.
  void view(view_info const& v) {
    shape(v);  // before strides, which may have overflowed
    if (!ok() || v.extents.empty()) return;
    step(v, v.axes.outer, v.extents.outer, v.strides.outer);
    step(v, v.axes.batch, v.extents.batch, v.strides.batch);
    step(v, v.axes.length, v.extents.length, v.strides.length);
    step(v, v.axes.channels, v.extents.channels, v.strides.channels);
    if (!ok()) return;
    if (v.data == nullptr)
      fail(error_kind::argument, "%s.data is null, must point to %s", v.name, shape_of(v).text);
    aligned(v);
    index_t span = 0;
    auto const axis = [&](index_t extent, index_t stride) {
      return multiply_add(extent - 1, stride, span);
    };
    bool const fits =
        axis(v.extents.outer, v.strides.outer) && axis(v.extents.batch, v.strides.batch) &&
        axis(v.extents.length, v.strides.length) && axis(v.extents.channels, v.strides.channels) &&
        span < max_index / v.element_bytes;
    if (!fits)
      too_large(v);
    else if (v.written)
      distinct_elements(v);
    if (ok()) tensors_.add(v);
  }

  // The rules of a view that a shape alone can break. Extents of 0 are no excuse for large ones:
  // backends multiply some extents of a view without the others.
  void shape(view_info const& v) {
    axes(v);
    if (!ok() || few_elements(v.extents)) return;
    if (!v.extents.empty()) return too_large(v);
    fail(error_kind::argument,
         "%s %s has extents whose product without those of 0 is above 2^57, must have smaller ones",
         v.name, shape_of(v).text);
  }

  void same_extents(view_info const& v, char const* other, extents3 want) {
    extent(v, v.axes.batch, v.extents.batch, other, want.batch);
    extent(v, v.axes.length, v.extents.length, other, want.length);
    extent(v, v.axes.channels, v.extents.channels, other, want.channels);
  }
  // The extent of one axis of a view must equal that of `other`, or the number that `other` states.
  void extent(view_info const& v, char const* axis, index_t is, char const* other, index_t want) {
    if (is != want)
      fail(error_kind::argument, "%s.%s is %lld, must be %lld (%s.%s)", v.name, axis,
           static_cast<long long>(is), static_cast<long long>(want), other, axis);
  }

  // The saved rows of a column must fit their 16 or 32 bits.
  void index_holds(view_info const& perm, index_t length) {
    if (perm.element_bytes == 1)
      fail(error_kind::argument, "%s has 8-bit indices, must have 16-bit or 32-bit ones",
           perm.name);
    index_t const largest = perm.element_bytes == 2 ? index_t{65536} : (index_t{1} << 31);
    if (length > largest)
      fail(error_kind::argument,
           "%s has %lld-bit indices, which hold lengths up to %lld; the length is %lld", perm.name,
           static_cast<long long>(perm.element_bytes * 8), static_cast<long long>(largest),
           static_cast<long long>(length));
  }

  // Rows must be countable in 32 bits, in which backends number them even if nothing is saved.
  void rows_countable(view_info const& v) {
    index_t const largest = index_t{1} << 31;
    if (v.extents.length > largest)
      fail(error_kind::argument, "%s.length is %lld, must be at most %lld", v.name,
           static_cast<long long>(v.extents.length), static_cast<long long>(largest));
  }

  void size(char const* name, index_t is, index_t want, char const* other) {
    if (is != want)
      fail(error_kind::argument, "%s.size is %lld, must be %lld (%s)", name,
           static_cast<long long>(is), static_cast<long long>(want), other);
  }

  // Two views must share no element; with `in_place` they may also be the very same elements.
  void no_overlap(view_info const& a, view_info const& b, bool in_place = false,
                  error_kind kind = error_kind::argument);

  void lengths(tensor1<index_t const> lengths, extents3 e) {
    this->lengths("lengths", lengths, e.batch, e.length);
  }
  // There must be `batch` lengths, each in 0..limit.
  void lengths(char const* name, tensor1<index_t const> lengths, index_t batch, index_t limit) {
    if (!ok() || (lengths.data() == nullptr && lengths.size() == 0)) return;
    size(name, lengths.size(), batch, "batch");
    if (ok() && batch > 0 && lengths.data() == nullptr)
      fail(error_kind::argument, "%s.data is null, must point to %lld lengths", name,
           static_cast<long long>(batch));
    view_info const memory = describe(name, lengths, false);
    view(memory);
    if (!ok() || batch == 0) return;
    lengths_.add(memory);
    if (!reads_memory_) return;
    for (index_t b = 0; b < distinct_lengths(lengths); ++b) {
      index_t const n = lengths(b);
      if (n < 0 || n > limit)
        return fail(error_kind::argument, "%s[%lld] is %lld, must be in 0..%lld (length)", name,
                    static_cast<long long>(b), static_cast<long long>(n),
                    static_cast<long long>(limit));
    }
  }

  // A policy may reject a number of channels, or of whatever else `of_what` names.
  template <class Policy>
  void policy(char const* name, Policy const& policy, index_t number,
              char const* of_what = "channels") {
    if constexpr (has_validate<Policy>)
      if (char const* what = policy.validate(number))
        fail(error_kind::argument, "%s %s (%s is %lld)", name, what, of_what,
             static_cast<long long>(number));
  }

  // The rules of memory that no operator states itself. Lengths stay as they are while outputs are
  // written; the workspace holds what is needed, and that part of it is no tensor's.
  void lengths_apart() {
    for (view_info const& tensor : tensors_)
      for (view_info const& lengths : lengths_)
        if (tensor.written) no_overlap(lengths, tensor);
  }
  void memory(workspace w, std::size_t need) {
    workspace_holds(w, need);
    if (need == 0 || !ok()) return;
    view_info const scratch = describe_bytes("workspace", w.data, need);
    for (view_info const& tensor : tensors_)
      no_overlap(scratch, tensor, false, error_kind::workspace);
  }
  // True if any view that the call writes has an element.
  bool writes() const {
    for (view_info const& tensor : tensors_)
      if (tensor.written) return true;
    return false;
  }

 private:
  // The tensors and lengths of a call, at most: 16 parts of merge_attention, and the result.
  static constexpr int most_views = 2 * 16 + 4, most_lists = 2;

  void workspace_holds(workspace w, std::size_t need) {
    if (w.bytes < need)
      fail(error_kind::workspace, "workspace.bytes is %llu, must be at least %llu",
           static_cast<unsigned long long>(w.bytes), static_cast<unsigned long long>(need));
    else if (need != 0 && w.data == nullptr)
      fail(error_kind::workspace, "workspace.data is null, must point to %llu bytes",
           static_cast<unsigned long long>(need));
  }

  static constexpr index_t max_index = std::numeric_limits<index_t>::max();

  // total += a * b for values >= 0 and product *= b for b > 0; false on overflow.
  static bool multiply_add(index_t a, index_t b, index_t& total) {
    if (a != 0 && b > (max_index - total) / a) return false;
    total += a * b;
    return true;
  }
  static bool multiply_into(index_t& product, index_t b) {
    if (product > max_index / b) return false;
    product *= b;
    return true;
  }

  // True if the extents that are not 0 have a small product, and so any of them.
  static bool few_elements(stack_extents e) {
    index_t product = 1;
    for (index_t const extent : {e.outer, e.batch, e.length, e.channels})
      if (extent != 0 && !multiply_into(product, extent)) return false;
    return product <= max_index / 64;
  }
  void too_large(view_info const& v) {
    fail(error_kind::argument, "%s %s spans more than 2^63 bytes or 2^57 elements, must span less",
         v.name, shape_of(v).text);
  }

  void axes(view_info const& v) {
    one_axis(v, v.axes.outer, v.extents.outer);
    one_axis(v, v.axes.batch, v.extents.batch);
    one_axis(v, v.axes.length, v.extents.length);
    one_axis(v, v.axes.channels, v.extents.channels);
  }
  // The only axis of a view of rank 1 has no name.
  void one_axis(view_info const& v, char const* name, index_t extent) {
    if (extent >= 0) return;
    char const* const axis = name != nullptr ? name : "size";
    bool const split =
        extent == -1 && v.axes.outer != nullptr && std::strcmp(axis, "channels") == 0;
    fail(error_kind::argument, "%s.%s is %lld, must not be negative%s", v.name, axis,
         static_cast<long long>(extent),
         split ? " (split_heads: heads must divide the channels)" : "");
  }
  // The stride of an axis of extent 1 is never used.
  void step(view_info const& v, char const* name, index_t extent, index_t stride) {
    if (extent > 1 && (stride < 0 || (stride == 0 && v.written)))
      fail(error_kind::argument, "%s.stride%s%s is %lld, must be %s", v.name,
           name != nullptr ? "." : "", name != nullptr ? name : "", static_cast<long long>(stride),
           v.written ? "positive" : "zero or positive");
  }

  void aligned(view_info const& v) {
    if (reinterpret_cast<std::uintptr_t>(v.data) % static_cast<std::uintptr_t>(v.alignment) != 0)
      fail(error_kind::argument, "%s.data is %p, must be a multiple of %lld", v.name, v.data,
           static_cast<long long>(v.alignment));
  }
  void distinct_elements(view_info const& v);

  char const* op_;
  bool reads_memory_;
  status status_;
  view_list<most_views> tensors_;
  view_list<most_lists> lengths_;
};

inline void checker::distinct_elements(view_info const& v) {
  if (!stepped_axes(v).nested())
    fail(error_kind::argument,
         "%s.strides are %s for extents %s, must give every element its own place", v.name,
         strides_of(v).text, shape_of(v).text);
}

inline void checker::no_overlap(view_info const& a, view_info const& b, bool in_place,
                                error_kind kind) {
  if (!ok() || a.extents.empty() || b.extents.empty() || !byte_overlap::between(a, b)) return;
  if (in_place && same_elements(a, b)) return;
  fail(kind, "%s overlaps %s (%p and %p), must %s", a.name, b.name, a.data, b.data,
       in_place ? "be the very same view or share no element" : "share no element");
}

SLICESORT_DETAIL_END
