// SPDX-License-Identifier: Apache-2.0
// A user-defined operator in the benchmark: ./bench/run --with examples/arena/reverse.cpp
// [snippet]
#include <slicesort/bench.hpp>

#include <algorithm>

namespace ss = slicesort;

struct reverse {  // y[n] = x[N - 1 - n]
  template <class T>
  void forward(ss::exec::host, ss::tensor3<T const> x, ss::tensor3<T> y) const {
    auto const [batch, length, channels] = x.extents();
    for (ss::index_t b = 0; b < batch; ++b)
      for (ss::index_t n = 0; n < length; ++n)
        std::copy_n(&x(b, length - 1 - n, 0), channels, &y(b, n, 0));
  }
  template <class T>
  void backward(ss::exec::host exec, ss::tensor3<T const> dy, ss::tensor3<T> dx) const {
    forward(exec, dy, dx);
  }
  // Reference results for one sample, in double.
  void expected(ss::tensor3<double const> x, ss::tensor3<double> y) const {
    ss::index_t const last = x.extents().length - 1;
    for (ss::index_t n = 0; n <= last; ++n)
      for (ss::index_t c = 0; c < x.extents().channels; ++c) y(0, n, c) = x(0, last - n, c);
  }
  void expected_backward(ss::tensor3<double const> dy, ss::tensor3<double const> /*x*/,
                         ss::tensor3<double> dx) const {
    expected(dy, dx);
  }
  static constexpr double tolerance = 0;  // values are moved, not computed
};
ss::bench::entry<float, ss::bfloat16> const registration("reverse", reverse{});
// [/snippet]
