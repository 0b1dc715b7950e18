// SPDX-License-Identifier: Apache-2.0
// Faulty entries: a wrong value of forward, one of backward, and a call that throws.
#include <slicesort/bench.hpp>

#include <algorithm>
#include <stdexcept>

namespace {

namespace ss = slicesort;

template <class To, class From>
void copy(ss::tensor3<From const> x, ss::tensor3<To> y, double error = 0.0) {
  std::transform(x.data(), x.data() + x.extents().size(), y.data(),
                 [](From v) { return static_cast<To>(v); });
  if (x.extents().size() > 0) y.data()[x.extents().size() - 1] += static_cast<To>(error);
}

enum class fault { forward, backward, throws };
struct faulty {
  fault kind;
  static constexpr double tolerance = 1e-3;

  void forward(ss::exec::host, ss::tensor3<float const> x, ss::tensor3<float> y) const {
    if (kind == fault::throws) throw std::runtime_error("injected");
    copy(x, y, kind == fault::forward ? 0.1 : 0.0);
  }
  void backward(ss::exec::host, ss::tensor3<float const> dy, ss::tensor3<float> dx) const {
    copy(dy, dx, kind == fault::backward ? 0.1 : 0.0);
  }
  void expected(ss::tensor3<double const> x, ss::tensor3<double> y) const { copy(x, y); }
  void expected_backward(ss::tensor3<double const> dy, ss::tensor3<double const>,
                         ss::tensor3<double> dx) const {
    copy(dy, dx);
  }
};
slicesort::bench::entry const forward("wrong_forward", faulty{fault::forward});
slicesort::bench::entry const backward("wrong_backward", faulty{fault::backward});
slicesort::bench::entry const throws("throws", faulty{fault::throws});

}  // namespace
