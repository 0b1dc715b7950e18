// SPDX-License-Identifier: Apache-2.0
// Hashes of the results of calls, and the shapes and inputs of these calls.
#pragma once

#include "../../support/buffers.hpp"
#include "../../support/inputs.hpp"
#include "../../support/numbers.hpp"
#include "../../support/problems.hpp"

#include <slicesort/slicesort.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace fingerprints {

using namespace support;

// Several tiles of channels, with partial vectors of every width in rows and channels.
inline constexpr extents3 shape{2, 131, 70};
// A small shape for slow operators, and a long one with 32-bit indices.
inline constexpr extents3 small{2, 67, 37}, tall{1, 65600, 2};
inline std::vector<index_t> const lengths{131, 90}, small_lengths{67, 41}, key_lengths{139, 90};

inline ss::exec::host exec;

class fingerprint {
 public:
  template <class T>
  void add(std::vector<T> const& elements) {
    for (T const& e : elements) hash_ = random_stream::mix(hash_ ^ bits_of(e)) + 1;
  }
  template <class T>
  void add(tensor<T> const& t) {
    add(t.elements());
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

// The fingerprints of an operator's directions, over all calls. Prints them when destroyed.
template <class T>
struct operator_fingerprints {
  char const* name;
  fingerprint forward, backward;

  explicit operator_fingerprints(char const* operator_name) : name(operator_name) {}
  operator_fingerprints(operator_fingerprints const&) = delete;
  ~operator_fingerprints() {
    print("forward", forward);
    print("backward", backward);
  }
  void print(char const* direction, fingerprint const& f) const {
    if (f.value() == 0) return;  // the operator has no backward
    std::printf("%s %s %s %016llx\n", name, direction, type_name<T>(),
                static_cast<unsigned long long>(f.value()));
  }
};

// A workspace of exactly the required size.
struct scratch {
  std::vector<unsigned char> memory;
  explicit scratch(std::size_t bytes) : memory(bytes) {}
  operator ss::workspace() { return {memory.data(), memory.size()}; }
};

template <class T>
std::vector<T> normal_values(index_t size, std::uint64_t seed) {
  return make_column<T>(input_kind::normal, static_cast<std::size_t>(size), seed);
}
template <class T>
tensor<T> normal_tensor(extents3 e, std::uint64_t seed) {
  tensor<T> t(e);
  t.elements() = normal_values<T>(e.size(), seed);
  return t;
}
// Gradients that a call accumulates into.
template <class T>
tensor<T> previous_gradients(extents3 e) {
  return normal_tensor<T>(e, 99);
}

constexpr ss::backward_options accumulate(ss::tensor1<index_t const> valid_lengths = {}) {
  return {ss::grad_mode::accumulate, valid_lengths};
}

}  // namespace fingerprints
