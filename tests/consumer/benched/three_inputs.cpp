// SPDX-License-Identifier: Apache-2.0
// An operator with q, k, v and heads, state saved only for training, a backward that reads the
// inputs, and flops for the roofline.
#include <slicesort/bench.hpp>

#include <algorithm>
#include <vector>

namespace {

namespace ss = slicesort;

struct gate {  // y = heads q k + v
  template <class T>
  static void apply(double heads, ss::tensor3<T const> q, ss::tensor3<T const> k,
                    ss::tensor3<T const> v, ss::tensor3<T> y) {
    for (ss::index_t i = 0; i < q.extents().size(); ++i)
      y.data()[i] = T(heads * double(q.data()[i]) * double(k.data()[i]) + double(v.data()[i]));
  }
  void forward(ss::bench::host const& exec, ss::tensor3<float const> q, ss::tensor3<float const> k,
               ss::tensor3<float const> v, ss::tensor3<float> y) const {
    apply<float>(double(exec.heads), q, k, v, y);
  }
  std::vector<float> saved(ss::tensor3<float const> q, ss::tensor3<float const>,
                           ss::tensor3<float const>) const {
    return std::vector<float>(static_cast<std::size_t>(q.extents().size()));
  }
  void forward(ss::bench::host const& exec, ss::tensor3<float const> q, ss::tensor3<float const> k,
               ss::tensor3<float const> v, ss::tensor3<float> y, std::vector<float>& state) const {
    apply<float>(double(exec.heads), q, k, v, y);
    std::copy_n(k.data(), state.size(), state.begin());
  }
  void backward(ss::bench::host const& exec, ss::tensor3<float const> dy,
                ss::tensor3<float const> q, ss::tensor3<float const>, ss::tensor3<float const>,
                ss::tensor3<float const>, std::vector<float> const& k, ss::tensor3<float> dq,
                ss::tensor3<float> dk, ss::tensor3<float> dv) const {
    auto const heads = static_cast<float>(exec.heads);
    for (std::size_t i = 0; i < k.size(); ++i) {
      dq.data()[i] = heads * dy.data()[i] * k[i];
      dk.data()[i] = heads * dy.data()[i] * q.data()[i];
      dv.data()[i] = dy.data()[i];
    }
  }
  void expected(ss::tensor3<double const> q, ss::tensor3<double const> k,
                ss::tensor3<double const> v, ss::tensor3<double> y) const {
    apply<double>(4.0, q, k, v, y);
  }
  void expected_backward(ss::tensor3<double const> dy, ss::tensor3<double const> q,
                         ss::tensor3<double const> k, ss::tensor3<double const>,
                         ss::tensor3<double> dq, ss::tensor3<double> dk,
                         ss::tensor3<double> dv) const {
    for (ss::index_t i = 0; i < dy.extents().size(); ++i) {
      dq.data()[i] = 4.0 * dy.data()[i] * k.data()[i];
      dk.data()[i] = 4.0 * dy.data()[i] * q.data()[i];
      dv.data()[i] = dy.data()[i];
    }
  }
  double flops(ss::extents3 e) const { return 3.0 * double(e.size()); }
  double backward_flops(ss::extents3 e) const { return 4.0 * double(e.size()); }
};
slicesort::bench::entry const registration("gate", gate{});

}  // namespace
