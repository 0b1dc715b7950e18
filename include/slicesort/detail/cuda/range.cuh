// SPDX-License-Identifier: Apache-2.0
// A named range in the profiler's time line (NVTX, header-only, free when nobody profiles).
// Compile with -DSLICESORT_NO_NVTX to leave it out.
#pragma once

#include <slicesort/detail/core/config.hpp>

#if !defined(SLICESORT_NO_NVTX)
#  include <nvtx3/nvToolsExt.h>
#endif

SLICESORT_DETAIL_BEGIN

class profiler_range {
 public:
#if defined(SLICESORT_NO_NVTX)
  explicit profiler_range(char const*) {}
#else
  explicit profiler_range(char const* name) { nvtxRangePushA(name); }
  ~profiler_range() { nvtxRangePop(); }
#endif
  profiler_range(profiler_range const&) = delete;
  profiler_range& operator=(profiler_range const&) = delete;
};

SLICESORT_DETAIL_END
