// SPDX-License-Identifier: Apache-2.0
// Tunings from sensible to absurd. All must give the same results; together they cover every
// algorithm for columns of any length.
#pragma once

#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>

namespace support {

// Tuning of a test backend: functions like the selectors of a policy, at most one for each type of
// tuning. Other tunings keep their defaults.
template <class... Tunings>
class tuner_of {
 public:
  template <class... Functions>
  constexpr tuner_of(Functions... functions) {
    (add(functions), ...);
  }

  template <class Tuning>
  Tuning operator()(slicesort::device_info device, std::size_t element_bytes, Tuning t) const {
    if constexpr ((std::is_same_v<Tuning, Tunings> || ...))
      if (auto const tune = std::get<function<Tuning>>(functions_); tune != nullptr)
        return tune(device, element_bytes, t);
    return t;
  }

 private:
  template <class Tuning>
  using function = Tuning (*)(slicesort::device_info, std::size_t, Tuning);

  template <class Function>
  constexpr void add(Function f) {
    static_assert((std::is_convertible_v<Function, function<Tunings>> || ...),
                  "a function of (device_info, std::size_t, Tuning)");
    (add_as<Tunings>(f), ...);
  }
  template <class Tuning, class Function>
  constexpr void add_as(Function f) {
    if constexpr (std::is_convertible_v<Function, function<Tuning>>)
      std::get<function<Tuning>>(functions_) = f;
  }

  std::tuple<function<Tunings>...> functions_{};
};
using tuner = tuner_of<slicesort::grid_tuning, slicesort::sort_tuning, slicesort::permute_tuning,
                       slicesort::mix_tuning, slicesort::attention_tuning>;

struct named_tuning {
  char const* name;
  tuner tune;
  bool clusters = false;  // true if the device must support clusters
};

namespace tunings {

using slicesort::attention_tuning;
using slicesort::device_info;
using slicesort::grid_tuning;
using slicesort::index_t;
using slicesort::mix_tuning;
using slicesort::permute_tuning;
using slicesort::sort_tuning;

inline constexpr named_tuning list[] = {
    {"short runs",  // many runs to merge in columns of a few dozen rows
     {[](device_info, std::size_t, grid_tuning t) {
        t.chunk_elements = 300;
        return t;
      },
      [](device_info, std::size_t, sort_tuning t) {
        t.register_rows = 8;
        t.run_rows = 32;
        t.merge_threads = 32;
        return t;
      },
      [](device_info, std::size_t, attention_tuning t) {
        t.forward_warps = t.backward_kv_warps = t.backward_q_warps = 1;
        return t;
      }}},
    {"no registers, wide tiles",
     {[](device_info, std::size_t, sort_tuning t) {
        t.register_rows = 0;
        t.tile_columns = 32;
        t.tile_threads = 64;
        return t;
      },
      [](device_info, std::size_t, mix_tuning t) {
        t.tile_threads = 1024;
        t.min_channel_threads = 32;
        return t;
      },
      [](device_info, std::size_t, attention_tuning t) {
        t.forward_warps = t.backward_kv_warps = t.backward_q_warps = 2;
        t.backward_buffers = 1;
        return t;
      }}},
    {"one column, one warp",
     {[](device_info, std::size_t, grid_tuning t) {
        t.element_threads = 32;
        return t;
      },
      [](device_info, std::size_t, sort_tuning t) {
        t.register_rows = 20;
        t.register_threads = 32;
        t.tile_columns = 1;
        t.tile_threads = 32;
        t.tile_bytes = 4096;
        t.group_threads = 32;
        t.group_rows = 1;
        return t;
      },
      [](device_info, std::size_t, permute_tuning t) {
        t.worthwhile_columns = 1 << 20;  // copies elements directly
        return t;
      },
      [](device_info, std::size_t, mix_tuning t) {
        t.tile_bytes = 4096;
        t.channel_threads = 1;
        t.backward_factors = 1;
        return t;
      },
      [](device_info, std::size_t, attention_tuning t) {
        t.forward_warps = t.backward_q_warps = 1;
        t.backward_kv_warps = 4;
        t.backward_buffers = 1;
        return t;
      }}},
    {"middling runs",
     {[](device_info, std::size_t, grid_tuning t) {
        t.chunk_elements = 5000;
        t.scratch_bytes = 10000;
        return t;
      },
      [](device_info device, std::size_t, sort_tuning t) {
        t.register_rows = 0;
        t.tile_columns = 2;
        t.tile_bytes = device.shared_bytes / 2;
        t.run_rows = 500;
        t.merge_threads = 128;
        return t;
      },
      [](device_info device, std::size_t, mix_tuning t) {
        t.tile_bytes = device.shared_bytes / 2;
        t.cache_bytes = 2048;
        t.min_channel_threads = 2;
        t.backward_factors = 2;
        return t;
      }}},
    {"pairs of short runs",  // 65 to 128 rows
     {[](device_info, std::size_t, sort_tuning t) {
       t.register_rows = 0;
       t.run_rows = 64;
       return t;
     }},
     true},
    {"pairs of long runs",  // 641 to 1280 rows
     {[](device_info, std::size_t, sort_tuning t) {
       t.register_rows = 0;
       t.tile_threads = 64;
       t.run_rows = 640;
       return t;
     }},
     true},
    {"nothing",
     {[](device_info, std::size_t, grid_tuning) { return grid_tuning{}; },
      [](device_info, std::size_t, sort_tuning) { return sort_tuning{}; },
      [](device_info, std::size_t, mix_tuning) { return mix_tuning{}; },
      [](device_info, std::size_t, attention_tuning) { return attention_tuning{}; }}},
    {"numbers that make no sense",
     {[](device_info, std::size_t, grid_tuning t) {
        t.chunk_elements = -1;
        t.element_threads = 100000;
        return t;
      },
      [](device_info, std::size_t, sort_tuning t) {
        t.register_rows = -7;
        t.register_threads = 33;
        t.tile_columns = 12345;
        t.tile_threads = -1;
        t.tile_bytes = std::numeric_limits<std::size_t>::max();
        t.run_rows = std::numeric_limits<index_t>::max();
        t.merge_threads = 7;
        t.group_threads = 1 << 30;
        t.group_rows = -3;
        return t;
      },
      [](device_info, std::size_t, permute_tuning t) {
        t.direct_columns = 77;
        t.direct_bytes = 0;
        return t;
      },
      [](device_info, std::size_t, mix_tuning t) {
        t.tile_bytes = std::numeric_limits<std::size_t>::max();
        t.tile_threads = -1;
        t.channel_threads = 1000;
        t.min_channel_threads = -5;
        t.cache_bytes = 0;
        t.backward_factors = 1 << 30;
        return t;
      },
      [](device_info, std::size_t, attention_tuning t) {
        t.forward_warps = 3;
        t.backward_kv_warps = 100;
        t.backward_q_warps = -2;
        t.backward_buffers = 9;
        return t;
      }}}};

}  // namespace tunings

}  // namespace support
