// SPDX-License-Identifier: Apache-2.0
// Each must be found: one value of a forward, one of a backward, and a call that throws.
#include <slicesort/bench.hpp>

#include <algorithm>
#include <stdexcept>

namespace {

namespace ss = slicesort;

template <class To, class From>
void copy(ss::tensor3<From const> x, ss::tensor3<To> y, double off = 0.0) {
  std::transform(x.data(), x.data() + x.extents().size(), y.data(),
                 [](From v) { return static_cast<To>(v); });
  if (x.extents().size() > 0) y.data()[x.extents().size() - 1] += static_cast<To>(off);
}

enum class fault { of_forward, of_backward, throws };
struct planted {
  fault where;
  static constexpr double tolerance = 1e-3;

  void forward(ss::exec::host, ss::tensor3<float const> x, ss::tensor3<float> y) const {
    if (where == fault::throws) throw std::runtime_error("planted");
    copy(x, y, where == fault::of_forward ? 0.1 : 0.0);
  }
  void backward(ss::exec::host, ss::tensor3<float const> dy, ss::tensor3<float> dx) const {
    copy(dy, dx, where == fault::of_backward ? 0.1 : 0.0);
  }
  void expected(ss::tensor3<double const> x, ss::tensor3<double> y) const { copy(x, y); }
  void expected_backward(ss::tensor3<double const> dy, ss::tensor3<double const>,
                         ss::tensor3<double> dx) const {
    copy(dy, dx);
  }
};
slicesort::bench::entry const forward("wrong_forward", planted{fault::of_forward});
slicesort::bench::entry const backward("wrong_backward", planted{fault::of_backward});
slicesort::bench::entry const throws("throws", planted{fault::throws});

}  // namespace
