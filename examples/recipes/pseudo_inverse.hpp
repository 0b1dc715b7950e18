// SPDX-License-Identifier: Apache-2.0
// Newton's iteration for the pseudo-inverse of square matrices without negative elements, and the
// exact gradient of its steps (Xiong et al., Nystromformer, 2021):
//   Z_0 = A^T / max_j sum_i A_ij,  Z_{t+1} = Z_t (13 I - X (15 I - X (7 I - X))) / 4,  X = A Z_t.
// Rows of A sum to 1 or are zero. Every matrix is divided by its own maximum.
#pragma once

#include "support.hpp"

#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <vector>

namespace recipes {

// sums[0, j] = sum over i of x[i, j] * y[i, j]; an empty y counts as ones.
template <class T>
struct sum_columns {
  tensor4<T const> x, y;
  tensor4<T> sums;

  RECIPES_HD void operator()(position const& p) const {
    T sum = 0;
    for (index_t row = 0; row < x.extents().length; ++row)
      sum += x(p.batch, p.head, row, p.channel) *
             (y.data() == nullptr ? T(1) : y(p.batch, p.head, row, p.channel));
    element(sums, p) = sum;
  }
};

// The first column with the largest sum, for each matrix.
template <class T>
struct find_largest {
  tensor4<T const> sums;
  tensor4<index_t> columns;

  RECIPES_HD void operator()(position const& p) const {
    index_t largest = 0;
    for (index_t j = 1; j < sums.extents().channels; ++j)
      if (sums(p.batch, p.head, 0, j) > sums(p.batch, p.head, 0, largest)) largest = j;
    element(columns, p) = largest;
  }
};

// z = a^T / c, where c is the largest sum of a column.
template <class T>
struct start_inverse {
  tensor4<T const> a, sums;
  tensor4<index_t const> largest;
  tensor4<T> z;

  RECIPES_HD void operator()(position const& p) const {
    index_t const column = largest(p.batch, p.head, 0, 0);
    element(z, p) = a(p.batch, p.head, p.channel, p.row) / sums(p.batch, p.head, 0, column);
  }
};
// da += dz^T / c, and -<dz, z> / c in the column of c. `dots` has <dz, z> column by column.
template <class T>
struct start_inverse_backward {
  tensor4<T const> dz, sums, dots;
  tensor4<index_t const> largest;
  tensor4<T> da;

  RECIPES_HD void operator()(position const& p) const {
    index_t const column = largest(p.batch, p.head, 0, 0);
    T gradient = dz(p.batch, p.head, p.channel, p.row);
    for (index_t j = 0; p.channel == column && j < dots.extents().channels; ++j)
      gradient -= dots(p.batch, p.head, 0, j);
    element(da, p) += gradient / sums(p.batch, p.head, 0, column);
  }
};

template <class T, class Exec>
class pseudo_inverse {
 public:
  pseudo_inverse(Exec const& exec, std::size_t steps) : exec_(exec), steps_(steps), memory_(exec) {}

  // Returns Z_steps, which lives until the next forward.
  tensor4<T const> forward(tensor4<T const> a) {
    memory_.clear();
    shape_ = a.extents();
    sums_ = memory_.template tensor<T>({shape_.batch, shape_.heads, 1, shape_.channels});
    for_each_position(exec_, sums_.extents(), sum_columns<T>{a, {}, sums_});
    u1_ = tensor(), u2_ = tensor(), x_ = tensor();
    z_.assign(1, tensor());
    largest_ = memory_.template tensor<index_t>({shape_.batch, shape_.heads, 1, 1});
    for_each_position(exec_, largest_.extents(), find_largest<T>{sums_, largest_});
    for_each_position(exec_, shape_, start_inverse<T>{a, sums_, largest_, z_[0]});
    for (std::size_t t = 0; t < steps_; ++t) {
      multiply(1, a, z_[t], x_);
      z_.push_back(tensor());
      step(z_[t], x_, z_[t + 1]);
    }
    return z_.back();
  }

  // Takes the gradient of Z_steps.
  void backward(tensor4<T const> last_dz, tensor4<T const> a, tensor4<T> da) {
    typename memory<Exec>::scope const temporaries(memory_);
    auto const y = tensor(), y2 = tensor(), dx = tensor();
    auto dz = tensor(), next_dz = tensor();
    copy(exec_, last_dz, dz);
    fill(exec_, da, 0);
    for (std::size_t t = z_.size() - 1; t-- > 0; std::swap(dz, next_dz)) {
      multiply(1, a, z_[t], x_);
      multiply(1, z_[t], x_, y);  // Y = Z X
      multiply(1, y, x_, y2);
      // The gradient through the factor Z is a step with X^T. Its intermediate results U1 and U2
      // give dX = (-(Y X)^T dZ' + Y^T U1 - Z^T U2) / 4.
      step(dz, transposed(x_), next_dz);
      multiply(-.25, transposed(y2), dz, dx);
      multiply(.25, transposed(y), u1_, dx, accumulate);
      multiply(-.25, transposed(z_[t]), u2_, dx, accumulate);
      multiply(1, dx, transposed(z_[t]), da, accumulate);
      multiply(1, transposed(a), dx, next_dz, accumulate);
    }
    auto const dots = memory_.template tensor<T>(sums_.extents());
    for_each_position(exec_, dots.extents(), sum_columns<T>{dz, z_[0], dots});
    for_each_position(exec_, shape_, start_inverse_backward<T>{dz, sums_, dots, largest_, da});
  }

 private:
  static constexpr auto accumulate = ss::grad_mode::accumulate;

  // next = Z (13 I - X (15 I - X (7 I - X))) / 4, with U1 = 7 Z - Z X and U2 = 15 Z - U1 X.
  void step(tensor4<T const> z, tensor4<T const> x, tensor4<T> next) {
    copy(exec_, z, u1_, 7);
    multiply(-1, z, x, u1_, accumulate);
    copy(exec_, z, u2_, 15);
    multiply(-1, u1_, x, u2_, accumulate);
    copy(exec_, z, next, 3.25);
    multiply(-.25, u2_, x, next, accumulate);
  }
  void multiply(double scale, tensor4<T const> a, tensor4<T const> b, tensor4<T> c,
                ss::grad_mode mode = ss::grad_mode::overwrite) {
    ss::matmul(scale).forward(exec_, a, b, c, memory_.workspace(), mode);
  }
  tensor4<T> tensor() { return memory_.template tensor<T>(shape_); }

  Exec exec_;
  std::size_t steps_;
  memory<Exec> memory_;
  extents4 shape_;
  std::vector<tensor4<T>> z_;
  tensor4<T> sums_, x_, u1_, u2_;
  tensor4<index_t> largest_;
};

}  // namespace recipes
