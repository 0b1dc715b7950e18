// SPDX-License-Identifier: Apache-2.0
// Named calls of every operator except softmax_attention and pointwise_attention, whose bits may
// differ between backends.
// Forward and backward use the same memory, for tests of common properties. calls.cpp is compiled
// once for each element type.
#pragma once

#include "cuda/backend/device.hpp"
#include "cuda/backend/remote.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace support {

using call_exec = std::variant<slicesort::exec::host, stream_exec>;
template <class T>
struct operands;

template <class T>
struct named_call {
  std::string label;
  std::function<std::size_t(call_exec const&, operands<T> const&)> workspace_bytes;
  std::function<void(call_exec const&, operands<T> const&, slicesort::workspace)> run;
  bool saves_state = false;  // forward saves a state for backward
  bool accumulates = false;  // accumulates into its gradients, so a second run differs
};

// Inputs and outputs on the device, and the host backend's results.
template <class T>
class call_memory {
 public:
  // `with_lengths`: samples have lengths of 0, 1, half of the rows, all rows, ..
  call_memory(extents3 e, std::uint64_t seed, bool with_lengths);

  extents3 extents() const { return extents_; }
  static std::vector<named_call<T>> const& calls();
  static named_call<T> const& call(std::string const& label);
  std::size_t workspace_bytes(named_call<T> const& call, call_exec const& exec) const;
  void run(named_call<T> const& call, call_exec const& exec, slicesort::workspace scratch) const;

  // The expected bytes of all outputs after `call`, including those that it does not write.
  // Computed on the host at the first use. Not thread-safe.
  std::vector<unsigned char> const& expected(named_call<T> const& call) const;

  device_bytes& inputs() { return inputs_; }
  std::vector<unsigned char> const& host_inputs() const { return host_inputs_; }
  device_bytes& outputs() { return outputs_; }
  device_bytes const& outputs() const { return outputs_; }
  void reset() { outputs_.set(untouched_byte); }

  static constexpr unsigned char untouched_byte = 0xcb;

 private:
  extents3 extents_;
  bool with_lengths_;
  mutable std::vector<unsigned char> host_inputs_;                      // operands point into it
  mutable std::map<std::string, std::vector<unsigned char>> expected_;  // by label
  device_bytes inputs_, outputs_;
};

// Shapes that select every algorithm: registers, a tile of columns, one column, merged runs.
inline std::vector<extents3> call_shapes() {
  return {{3, 40, 37}, {2, 700, 21}, {5, 3000, 9}, {1, 20000, 5}, {2, 70001, 3}};
}

}  // namespace support
