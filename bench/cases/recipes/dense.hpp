// SPDX-License-Identifier: Apache-2.0
// Dense matrices in double with gradients by reverse accumulation: oracles of the recipes. A
// gradient thus needs no formula of its own, and shares no code with the library.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace bench::dense {

namespace ss = slicesort;
using ss::index_t;

struct matrix {
  index_t rows = 0, columns = 0;
  std::vector<double> values{};

  matrix() = default;
  matrix(index_t r, index_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  index_t size() const { return rows * columns; }
  double* row(index_t i) { return values.data() + i * columns; }
  double const* row(index_t i) const { return values.data() + i * columns; }
  double& operator()(index_t i, index_t j) { return row(i)[j]; }
  double operator()(index_t i, index_t j) const { return row(i)[j]; }
};
inline matrix transposed(matrix const& a) {
  matrix t(a.columns, a.rows);
  for (index_t i = 0; i < a.rows; ++i)
    for (index_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
  return t;
}

inline double dot(double const* a, double const* b, index_t count) {
  double sums[8] = {};
  index_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (index_t j = 0; j < 8; ++j) sums[j] += a[i + j] * b[i + j];
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
// y += factor * x
inline void add_scaled(double factor, double const* x, double* y, index_t count) {
  for (index_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

// A result, its gradient, and the step that adds to the gradients of its arguments.
struct node {
  matrix value, grad;  // constants have no gradient
  std::function<void()> backward = nullptr;

  bool is_constant() const { return grad.values.empty(); }
};

// A row of another matrix, with its weight in a sum or its bias in attention.
struct term {
  index_t row;
  double value;
};
// Appends the terms of row i.
using term_lists = std::function<void(index_t i, std::vector<term>&)>;

// Records operations. Nodes live as long as the tape.
class tape {
 public:
  node& constant(matrix value) {
    nodes_.push_back({std::move(value), {}});
    return nodes_.back();
  }
  node& variable(matrix value) {
    matrix grad(value.rows, value.columns);
    nodes_.push_back({std::move(value), std::move(grad)});
    return nodes_.back();
  }
  // Computes the gradients of the sum of dy * y.
  void backward(node& y, matrix dy) {
    y.grad = std::move(dy);
    for (auto n = nodes_.rbegin(); n != nodes_.rend(); ++n)
      if (n->backward) n->backward();
  }

  // a b
  node& product(node& a, node& b) {
    index_t const inner = a.value.columns, columns = b.value.columns;
    node& y = variable(matrix(a.value.rows, columns));
    for (index_t i = 0; i < y.value.rows; ++i)
      for (index_t k = 0; k < inner; ++k)
        add_scaled(a.value(i, k), b.value.row(k), y.value.row(i), columns);
    y.backward = [&a, &b, &y, inner, columns] {
      for (index_t i = 0; i < y.grad.rows; ++i)
        for (index_t k = 0; k < inner; ++k) {
          if (!a.is_constant()) a.grad(i, k) += dot(y.grad.row(i), b.value.row(k), columns);
          if (!b.is_constant()) add_scaled(a.value(i, k), y.grad.row(i), b.grad.row(k), columns);
        }
    };
    return y;
  }
  // s a + t b
  node& combine(double s, node& a, double t, node& b) {
    node& y = variable(matrix(a.value.rows, a.value.columns));
    index_t const count = y.value.size();
    add_scaled(s, a.value.row(0), y.value.row(0), count);
    add_scaled(t, b.value.row(0), y.value.row(0), count);
    y.backward = [s, t, &a, &b, &y, count] {
      add_scaled(s, y.grad.row(0), a.grad.row(0), count);
      add_scaled(t, y.grad.row(0), b.grad.row(0), count);
    };
    return y;
  }
  // a b, element by element
  node& multiplied(node& a, node& b) {
    node& y = variable(matrix(a.value.rows, a.value.columns));
    std::size_t const count = y.value.values.size();
    for (std::size_t i = 0; i < count; ++i)
      y.value.values[i] = a.value.values[i] * b.value.values[i];
    y.backward = [&a, &b, &y, count] {
      for (std::size_t i = 0; i < count; ++i) {
        a.grad.values[i] += y.grad.values[i] * b.value.values[i];
        b.grad.values[i] += y.grad.values[i] * a.value.values[i];
      }
    };
    return y;
  }
  // y[i] = sum over j of filter[rows - 1 + i - j] x[j], column by column.
  node& filtered(node& x, matrix filter) {
    index_t const rows = x.value.rows, columns = x.value.columns;
    auto const add = [=](double const* factor, double const* from, double* to) {
      for (index_t c = 0; c < columns; ++c) to[c] += factor[c] * from[c];
    };
    node& y = variable(matrix(rows, columns));
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < rows; ++j)
        add(filter.row(rows - 1 + i - j), x.value.row(j), y.value.row(i));
    y.backward = [&x, &y, rows, add, filter = std::move(filter)] {
      for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < rows; ++j)
          add(filter.row(rows - 1 + i - j), y.grad.row(i), x.grad.row(j));
    };
    return y;
  }
  node& transposed(node& a) {
    node& y = variable(dense::transposed(a.value));
    y.backward = [&a, &y] {
      add_scaled(1, dense::transposed(y.grad).row(0), a.grad.row(0), a.grad.size());
    };
    return y;
  }
  // The rows of a, then those of b.
  node& joined(node& a, node& b) {
    matrix c(a.value.rows + b.value.rows, a.value.columns);
    std::copy(b.value.values.begin(), b.value.values.end(),
              std::copy(a.value.values.begin(), a.value.values.end(), c.values.begin()));
    node& y = variable(std::move(c));
    y.backward = [&a, &b, &y] {
      add_scaled(1, y.grad.row(0), a.grad.row(0), a.grad.size());
      add_scaled(1, y.grad.row(a.grad.rows), b.grad.row(0), b.grad.size());
    };
    return y;
  }
  // Rows that are weighted sums of rows of a.
  node& sums(index_t rows, node& a, term_lists list_terms) {
    index_t const columns = a.value.columns;
    node& y = variable(matrix(rows, columns));
    std::vector<term> terms;
    for (index_t i = 0; i < rows; ++i) {
      terms.clear();
      list_terms(i, terms);
      for (auto const [row, weight] : terms)
        add_scaled(weight, a.value.row(row), y.value.row(i), columns);
    }
    y.backward = [&a, &y, columns, list_terms = std::move(list_terms)] {
      std::vector<term> terms_of_row;
      for (index_t i = 0; i < y.grad.rows; ++i) {
        terms_of_row.clear();
        list_terms(i, terms_of_row);
        for (auto const [row, weight] : terms_of_row)
          add_scaled(weight, y.grad.row(i), a.grad.row(row), columns);
      }
    };
    return y;
  }
  // softmax(q k^T / sqrt(channels) + bias) v over the listed keys. A key that is listed twice
  // counts twice.
  node& attention(node& q, node& k, node& v, term_lists list_keys) {
    index_t const channels = q.value.columns, columns = v.value.columns;
    double const scale = 1 / std::sqrt(static_cast<double>(channels));
    node& y = variable(matrix(q.value.rows, columns));
    std::vector<std::vector<double>> weights(static_cast<std::size_t>(q.value.rows));
    std::vector<term> keys;
    for (index_t i = 0; i < q.value.rows; ++i) {
      keys.clear();
      list_keys(i, keys);
      std::vector<double>& row = weights[static_cast<std::size_t>(i)];
      double largest = -HUGE_VAL, sum = 0;
      for (auto const [key, bias] : keys) {
        row.push_back(scale * dot(q.value.row(i), k.value.row(key), channels) + bias);
        largest = std::max(largest, row.back());
      }
      for (double& weight : row) sum += weight = std::exp(weight - largest);
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] /= sum;
        add_scaled(row[j], v.value.row(keys[j].row), y.value.row(i), columns);
      }
    }
    y.backward = [&q, &k, &v, &y, scale, channels, columns, weights = std::move(weights),
                  list_keys = std::move(list_keys)] {
      std::vector<term> keys_of_row;
      for (index_t i = 0; i < q.value.rows; ++i) {
        keys_of_row.clear();
        list_keys(i, keys_of_row);
        double const mean = dot(y.grad.row(i), y.value.row(i), columns);
        for (std::size_t j = 0; j < keys_of_row.size(); ++j) {
          index_t const key = keys_of_row[j].row;
          double const weight = weights[static_cast<std::size_t>(i)][j];
          double const dscore =
              scale * weight * (dot(y.grad.row(i), v.value.row(key), columns) - mean);
          if (!v.is_constant()) add_scaled(weight, y.grad.row(i), v.grad.row(key), columns);
          add_scaled(dscore, k.value.row(key), q.grad.row(i), channels);
          add_scaled(dscore, q.value.row(i), k.grad.row(key), channels);
        }
      }
    };
    return y;
  }
  node& attention(node& q, node& k, node& v) {
    index_t const count = k.value.rows;
    return attention(q, k, v, [count](index_t, std::vector<term>& keys) {
      for (index_t j = 0; j < count; ++j) keys.push_back({j, 0});
    });
  }
  // f(row, y) computes a row of y, and df(row, y, dy, drow) adds the gradient of the row.
  template <class F, class Gradient>
  node& rowwise(node& a, F const& f, Gradient const& df) {
    node& y = variable(matrix(a.value.rows, a.value.columns));
    index_t const columns = a.value.columns;
    for (index_t i = 0; i < a.value.rows; ++i) f(a.value.row(i), y.value.row(i), columns);
    y.backward = [&a, &y, df, columns] {
      for (index_t i = 0; i < a.value.rows; ++i)
        df(a.value.row(i), y.value.row(i), y.grad.row(i), a.grad.row(i), columns);
    };
    return y;
  }

 private:
  std::deque<node> nodes_;
};

}  // namespace bench::dense
