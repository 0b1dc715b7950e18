// SPDX-License-Identifier: Apache-2.0
// Tunings from the sensible to the absurd: every one must give the same results, and together they
// lead columns of any length through every algorithm.
#pragma once

#include <slicesort/tensor_view.hpp>
#include <slicesort/tuning.hpp>

#include <cstddef>
#include <limits>

namespace support {

// What the test backends make of the default tuning of a sort; null: nothing.
using sort_tuner = slicesort::sort_tuning (*)(slicesort::device_info, std::size_t,
                                              slicesort::sort_tuning);

struct named_tuning {
  char const* name;
  sort_tuner tune;
  bool clusters = false;  // wants a device that has them
};

namespace tunings {

using slicesort::device_info;
using slicesort::sort_tuning;

inline constexpr named_tuning all[] = {
    {"short runs",  // of which columns of a few dozen rows have many to merge, a few at a time
     [](device_info, std::size_t, sort_tuning t) {
       t.register_rows = 8;
       t.run_rows = 32;
       t.merge_threads = 32;
       t.chunk_elements = 300;
       return t;
     }},
    {"no registers, wide tiles",
     [](device_info, std::size_t, sort_tuning t) {
       t.register_rows = 0;
       t.tile_columns = 32;
       t.tile_threads = 64;
       return t;
     }},
    {"one column, one warp",
     [](device_info, std::size_t, sort_tuning t) {
       t.register_rows = 20;
       t.register_threads = 32;
       t.tile_columns = 1;
       t.tile_threads = 32;
       t.tile_bytes = 4096;
       return t;
     }},
    {"middling runs",
     [](device_info device, std::size_t, sort_tuning t) {
       t.register_rows = 0;
       t.tile_columns = 2;
       t.tile_bytes = device.shared_bytes / 2;
       t.run_rows = 500;
       t.merge_threads = 128;
       t.chunk_elements = 5000;
       return t;
     }},
    {"pairs of short runs",  // 65 to 128 rows
     [](device_info, std::size_t, sort_tuning t) {
       t.register_rows = 0;
       t.run_rows = 64;
       return t;
     },
     true},
    {"pairs of long runs",  // 641 to 1280 rows
     [](device_info, std::size_t, sort_tuning t) {
       t.register_rows = 0;
       t.tile_threads = 64;
       t.run_rows = 640;
       return t;
     },
     true},
    {"nothing", [](device_info, std::size_t, sort_tuning) { return sort_tuning{}; }},
    {"numbers that make no sense", [](device_info, std::size_t, sort_tuning t) {
       t.register_rows = -7;
       t.register_threads = 33;
       t.tile_columns = 12345;
       t.tile_threads = -1;
       t.tile_bytes = std::numeric_limits<std::size_t>::max();
       t.run_rows = std::numeric_limits<slicesort::index_t>::max();
       t.merge_threads = 7;
       t.chunk_elements = -1;
       return t;
     }}};

}  // namespace tunings

}  // namespace support
