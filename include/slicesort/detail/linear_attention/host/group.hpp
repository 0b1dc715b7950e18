// SPDX-License-Identifier: Apache-2.0
// Heads of a sample that take turns tile by tile, in linear_attention on the host.
#pragma once

#include <slicesort/detail/linear_attention/host/head.hpp>
#include <slicesort/detail/linear_attention/host/memory.hpp>
#include <slicesort/tensor_view.hpp>

#include <optional>

SLICESORT_DETAIL_BEGIN

// A `Task` is that of one head. All have as many rows, since lengths are those of a sample.
template <class Task>
class head_group {
 public:
  using task = Task;

  template <class... Arguments>
  void add(Arguments const&... of_task) {
    tasks_[count_++].emplace(of_task...);
  }
  Task const& first() const { return *tasks_[0]; }

  template <class F>
  void each(F const& f) {
    for (int h = 0; h < count_; ++h) f(*tasks_[h]);
  }
  // f(task, row) for the first row of every tile and every head; or from the last tile on.
  template <class F>
  void each_tile(index_t rows, F const& f) {
    for (index_t row = 0; row < rows; row += tile_rows_of_linear)
      each([&](Task& one) { f(one, row); });
  }
  template <class F>
  void each_tile_back(index_t rows, F const& f) {
    constexpr int tile = tile_rows_of_linear;
    for (index_t row = (rows + tile - 1) / tile * tile; (row -= tile) >= 0;)
      each([&](Task& one) { f(one, row); });
  }

 private:
  std::optional<Task> tasks_[most_heads_together];
  int count_ = 0;
};

SLICESORT_DETAIL_END
