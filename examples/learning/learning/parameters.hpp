// SPDX-License-Identifier: Apache-2.0
// The parameters of a model: named slices of four flat arrays, for values, gradients, and Adam's
// moments.
#pragma once

#include "learning/random.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace learning {

/// Initial values of a parameter.
struct initializer {
  enum class kind { constant, uniform, normal } type = kind::constant;
  double scale = 0;  ///< the constant, the bound, or the standard deviation
  std::function<double(std::uint64_t index)> center{};  ///< added to each value; empty: 0

  static initializer constant(double value) { return {kind::constant, value}; }
  static initializer uniform(double bound) { return {kind::uniform, bound}; }
  static initializer normal(double deviation) { return {kind::normal, deviation}; }
  /// Returns the same values around a center.
  template <class Center>
  initializer around(Center const& f) const {
    return {type, scale, f};
  }

  double value(random_stream const& random, std::uint64_t index) const {
    double const middle = center ? center(index) : 0;
    if (type == kind::constant) return middle + scale;
    return middle +
           scale * (type == kind::uniform ? 2 * random.unit(index) - 1 : random.normal(index));
  }
};

template <class T>
class parameters;

/// A layer's handle to a parameter. Its memory exists after `parameters::allocate`.
template <class T>
class parameter {
 public:
  parameter() = default;
  parameter(parameters<T>* owner, index_t offset, index_t size)
      : owner_(owner), offset_(offset), size_(size) {}

  T* value() const { return owner_->values().data() + offset_; }
  T* gradient() const { return owner_->gradients().data() + offset_; }
  index_t size() const { return size_; }

 private:
  parameters<T>* owner_ = nullptr;
  index_t offset_ = 0, size_ = 0;
};

/// All parameters of a model. The constructors of layers register them. Initial values depend on
/// the name and the seed, but not on other parameters.
template <class T>
class parameters {
 public:
  struct entry {
    std::string name;
    std::vector<index_t> shape;
    initializer init;
    index_t offset, size;
  };

  parameters() = default;
  parameters(parameters const&) = delete;  // layers hold pointers to it

  parameter<T> add(std::string name, std::vector<index_t> shape, initializer init) {
    for (entry const& other : entries_)
      if (other.name == name) throw std::logic_error("there are two parameters called " + name);
    index_t size = 1;
    for (index_t const extent : shape) {
      if (extent < 0 || (size > 0 && extent > (max_size - size_) / size)) throw std::bad_alloc();
      size *= extent;
    }
    entries_.push_back({std::move(name), std::move(shape), init, size_, size});
    size_ += size;
    return {this, entries_.back().offset, size};
  }
  void allocate(std::uint64_t seed) {
    for (auto* array : {&values_, &gradients_, &first_moments_, &second_moments_})
      array->assign(static_cast<std::size_t>(size_), T(0));
    for (entry const& e : entries_) {
      random_stream const random(seed, stream_of(e.name));
      for (index_t i = 0; i < e.size; ++i)
        values_[static_cast<std::size_t>(e.offset + i)] =
            static_cast<T>(e.init.value(random, static_cast<std::uint64_t>(i)));
    }
  }

  /// Number of elements of all parameters.
  index_t size() const { return size_; }
  std::vector<entry> const& entries() const { return entries_; }
  std::vector<T>& values() { return values_; }
  std::vector<T>& gradients() { return gradients_; }
  std::vector<T>& first_moments() { return first_moments_; }
  std::vector<T>& second_moments() { return second_moments_; }

 private:
  static constexpr index_t max_size = PTRDIFF_MAX / sizeof(T);

  std::vector<entry> entries_;
  index_t size_ = 0;
  std::vector<T> values_, gradients_, first_moments_, second_moments_;
};

}  // namespace learning
