// SPDX-License-Identifier: Apache-2.0
// A benchmarked operator whose backward takes arguments in no supported order.
// expect: slicesort::bench: backward must be backward(exec, dy, dx) or backward(exec, dy, x, y, dx)
#include "../../../bench/include/slicesort/bench.hpp"

struct identity {
  template <class T>
  using input = slicesort::tensor3<T const>;
  static constexpr bool has_oracle = false;

  template <class T>
  void forward(slicesort::exec::host, input<T>, slicesort::tensor3<T>) const {}
#ifdef VALID
  template <class T>
  void backward(slicesort::exec::host, input<T>, slicesort::tensor3<T>) const {}
#else
  template <class T>
  void backward(slicesort::exec::host, input<T>, input<T>, slicesort::tensor3<T>) const {}
#endif
};
slicesort::bench::entry<float> const registration("identity", identity{});
