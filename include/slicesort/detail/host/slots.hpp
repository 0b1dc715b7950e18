// SPDX-License-Identifier: Apache-2.0
// Workspace of each thread of a call: as many parts as there are slots, all with one layout
// (detail/core/arena.hpp).
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

class slots {
 public:
  // `walk(arena)` makes the layout; `tasks` tasks cannot occupy more slots than that.
  template <class Walk>
  slots(detail::arena& a, unsigned threads, index_t tasks, Walk const& walk) {
    detail::arena counting;
    walk(counting);
    bytes_ = (counting.bytes() + detail::arena::alignment - 1) / detail::arena::alignment *
             detail::arena::alignment;
    index_t const busy = std::min(static_cast<index_t>(threads), tasks);
    memory_ = a.take<unsigned char>(static_cast<std::size_t>(busy) * bytes_);
  }

  // The arena of one slot, over which to make the same layout.
  detail::arena operator[](unsigned slot) const {
    return detail::arena(workspace{memory_ + slot * bytes_, bytes_});
  }

 private:
  unsigned char* memory_;
  std::size_t bytes_;
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
