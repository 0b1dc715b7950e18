// SPDX-License-Identifier: Apache-2.0
// Every operator, forward and backward, as a numbered call over the same memory, but
// softmax_attention, which promises no bits between backends: for tests of what all of them must do
// alike. calls.cpp is compiled once for each element type.
#pragma once

#include "cuda/backend/device.hpp"
#include "cuda/backend/remote.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace support {

inline constexpr int all_calls = 34;
std::string call_name(int call);
// Whether the call adds to what its gradients hold: it is not the same when it is made twice.
constexpr bool accumulates(int call) { return call == 3 || call == 15 || call == 25 || call == 27; }

// Inputs on the device, outputs on the device, and what the host backend makes of them.
template <class T>
class call_memory {
 public:
  // With lengths: 0, 1, the whole, half ... of the rows are valid.
  call_memory(extents3 e, std::uint64_t seed, bool with_lengths);

  extents3 extents() const { return extents_; }
  std::size_t workspace_bytes(int call, on_stream on) const;
  void run(int call, on_stream on, slicesort::workspace scratch) const;

  // The bits that `call` must leave in the outputs, what it leaves alone included. Computed on the
  // host when first asked for, by one thread at a time.
  std::vector<unsigned char> const& expected(int call) const;

  device_bytes& inputs() { return inputs_; }
  std::vector<unsigned char> const& host_inputs() const { return host_inputs_; }
  device_bytes& outputs() { return outputs_; }
  device_bytes const& outputs() const { return outputs_; }
  void reset() { outputs_.set(untouched); }

  static constexpr unsigned char untouched = 0xcb;

 private:
  extents3 extents_;
  bool with_lengths_;
  mutable std::vector<unsigned char> host_inputs_;          // operands point into it
  mutable std::vector<unsigned char> expected_[all_calls];  // empty: not asked for yet
  device_bytes inputs_, outputs_;
};

// Shapes that reach every algorithm: registers, a tile of columns, one column, runs that are
// merged.
inline std::vector<extents3> call_shapes() {
  return {{3, 40, 37}, {2, 700, 21}, {5, 3000, 9}, {1, 20000, 5}, {2, 70001, 3}};
}

}  // namespace support
