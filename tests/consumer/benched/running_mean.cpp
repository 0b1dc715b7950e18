// SPDX-License-Identifier: Apache-2.0
// An operator whose sums stay within the default tolerance, in both element types of the arena.
#include <slicesort/bench.hpp>

#include <vector>

namespace ss = slicesort;

struct running_mean {  // y[n] is the mean of x[0], .., x[n]
  template <class T>
  void forward(ss::exec::host, ss::tensor3<T const> x, ss::tensor3<T> y) const {
    auto const e = x.extents();
    for (ss::index_t b = 0; b < e.batch; ++b) {
      std::vector<float> sum(e.channels);
      for (ss::index_t n = 0; n < e.length; ++n)
        for (ss::index_t c = 0; c < e.channels; ++c)
          y(b, n, c) = T((sum[c] += float(x(b, n, c))) / float(n + 1));
    }
  }
  template <class T>
  void backward(ss::exec::host, ss::tensor3<T const> dy, ss::tensor3<T> dx) const {
    auto const e = dy.extents();
    for (ss::index_t b = 0; b < e.batch; ++b) {
      std::vector<float> sum(e.channels);
      for (ss::index_t n = e.length; n-- > 0;)
        for (ss::index_t c = 0; c < e.channels; ++c)
          dx(b, n, c) = T(sum[c] += float(dy(b, n, c)) / float(n + 1));
    }
  }
  void expected(ss::tensor3<double const> x, ss::tensor3<double> y) const {  // one sample
    for (ss::index_t c = 0; c < x.extents().channels; ++c)
      for (ss::index_t n = 0; n < x.extents().length; ++n) {
        double const previous = n == 0 ? 0.0 : y(0, n - 1, c);
        y(0, n, c) = previous + (x(0, n, c) - previous) / double(n + 1);
      }
  }
  void expected_backward(ss::tensor3<double const> dy, ss::tensor3<double const>,
                         ss::tensor3<double> dx) const {
    for (ss::index_t c = 0; c < dy.extents().channels; ++c)
      for (ss::index_t n = dy.extents().length; n-- > 0;)
        dx(0, n, c) =
            dy(0, n, c) / double(n + 1) + (n + 1 < dy.extents().length ? dx(0, n + 1, c) : 0.0);
  }
};
slicesort::bench::entry<float, ss::bfloat16> const registration("running_mean", running_mean{});
