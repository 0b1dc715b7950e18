// SPDX-License-Identifier: Apache-2.0
// The weights of linear attention as a matrix, for the feature maps of several papers, beside those
// of softmax attention. Performer's matrix approaches softmax attention's as random features are
// added. docs/operators/pictures/draw_linear_attention.py draws the output.
#include <slicesort/equivalent_matrix.hpp>
#include <slicesort/linear_attention.hpp>
#include <slicesort/random_rows.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

constexpr ss::index_t rows = 12, channels = 4;

// Prints two maps side by side, in percent.
void print(char const* name_a, ss::dense_matrix const& a, char const* name_b,
           ss::dense_matrix const& b) {
  std::printf("%-38s%s\n", name_a, name_b);
  for (ss::index_t i = 0; i < a.size; ++i) {
    for (ss::index_t j = 0; j < a.columns; ++j) std::printf("%3.0f", 100 * a(i, j));
    std::printf("  ");
    for (ss::index_t j = 0; j < b.columns; ++j) std::printf("%3.0f", 100 * b(i, j));
    std::printf("\n");
  }
}
double rms_difference(ss::dense_matrix const& a, ss::dense_matrix const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.elements.size(); ++i)
    sum += (a.elements[i] - b.elements[i]) * (a.elements[i] - b.elements[i]);
  return std::sqrt(sum / static_cast<double>(a.elements.size()));
}

}  // namespace

int main() {
  // Slow rotations: neighboring rows are similar, and so are rows a period apart.
  std::vector<double> data;
  for (ss::index_t i = 0; i < rows; ++i)
    for (double const frequency : {0.6, 1.2})
      for (double const phase : {0.0, 1.5})
        data.push_back(1.2 * std::cos(frequency * static_cast<double>(i) + phase));
  ss::tensor4<double const> const x(data.data(), {1, 1, rows, channels});

  ss::dense_matrix const softmax = equivalent_matrix(
      ss::softmax_attention<>{}, ss::attention_inputs<double>{x, x, {}, {}}, 0, 0);
  // [snippet]
  // Row i holds the weights of query i, for sample 0 and head 0. v may be empty.
  ss::linear_attention<> const op;
  ss::linear_attention_inputs<double> const in{x, x, {}, {}};
  ss::dense_matrix const map = ss::equivalent_matrix(op, in, 0, 0);
  // [/snippet]

  ss::linear_attention const causal{ss::direction::causal{}};
  ss::linear_attention const cosformer{ss::feature::cosine_reweighted{}, ss::divisor::at_least{}};
  auto const performer = [&](ss::index_t features) {
    std::vector<double> w(static_cast<std::size_t>(features * channels));
    auto const view = ss::view(w, {1, features, channels});
    ss::random_rows{1, features, channels, ss::row_form::orthogonal_chi}.write(view);
    ss::linear_attention const favor{ss::feature::random_exp{}, ss::divisor::sum_plus{0}};
    return equivalent_matrix(favor, ss::linear_attention_inputs<double>{x, x, {}, view}, 0, 0);
  };
  print("softmax attention", softmax, "elu_plus_one", map);
  print("cosine_reweighted", equivalent_matrix(cosformer, in, 0, 0), "elu_plus_one, causal",
        equivalent_matrix(causal, in, 0, 0));
  print("random_exp, 16 features", performer(16), "random_exp, 1024 features", performer(1024));
  for (ss::index_t const features : {16, 256, 4096, 65536})
    std::printf("%5d features: weights are off by %.4f\n", static_cast<int>(features),
                rms_difference(performer(features), softmax));
}

// output:
// softmax attention                     elu_plus_one
//  21 11  4  2  3  5  4  2  3  8 19 17   13  9  5  5  7  8  7  5  7 11 13 11
//  12 22 13  4  3  3  5  5  3  3  7 19   13 10  6  4  5  7  6  5  7 10 13 12
//   4 15 27 15  5  3  4  7  5  3  3  8   13 10  7  5  6  6  5  5  8 12 13 11
//   3  5 16 28 16  6  3  4  6  5  3  4   11  7  5  7 10  8  5  4  8 13 13  8
//   4  3  5 15 29 17  5  3  4  6  5  3   11  6  4  7 11 10  6  4  7 13 13  8
//   6  4  3  5 16 28 14  4  3  4  6  5   12  7  3  5  9 11  8  5  7 10 13  9
//   5  7  4  3  5 15 26 15  5  3  4  6   12  7  3  3  6 10 10  7  8 10 13 10
//   3  6  7  4  3  5 15 28 16  5  3  4   10  6  4  4  5  7  9 10 12 13 12  8
//   4  4  6  6  4  3  5 16 28 16  5  3   10  6  4  5  6  7  7  9 11 14 12  8
//   9  3  3  5  6  4  3  5 14 27 16  5   11  7  5  6  8  7  6  7 10 13 13  9
//  20  7  2  2  4  5  3  2  4 13 24 12   12  8  5  5  7  8  7  5  8 11 13 10
//  18 18  7  3  3  4  5  3  3  4 12 21   13 10  6  4  6  8  7  5  7 10 13 12
// cosine_reweighted                     elu_plus_one, causal
//  33 19  6  0  2 13  7  1  1  5  8  4  100  0  0  0  0  0  0  0  0  0  0  0
//  31 21  8  0  1  8  5  0  1  7 11  7   57 43  0  0  0  0  0  0  0  0  0  0
//  28 24 11  0  0  0  0  0  2 11 14 11   44 34 23  0  0  0  0  0  0  0  0  0
//   2  0  0 13 34 12  0  0  3 24 13  0   37 22 16 25  0  0  0  0  0  0  0  0
//   4  1  0 11 30 13  2  0  3 23 14  1   28 15 10 18 29  0  0  0  0  0  0  0
//  16  6  0  3  9 21 12  0  1  6 16 11   25 15  7 10 19 24  0  0  0  0  0  0
//  12  5  0  0  1 16 14  9 10  8 15 11   23 14  6  7 12 19 19  0  0  0  0  0
//   1  0  0  0  0  0 11 25 30 24 10  0   19 12  7  7  9 13 16 18  0  0  0  0
//   2  1  1  1  2  1  9 21 25 24 12  2   16 10  7  8 10 10 11 13 17  0  0  0
//   4  3  2  3 10  4  4  8 12 25 18  7   14  9  6  7 10  9  8  8 12 17  0  0
//   5  5  2  2  5  9  6  3  5 16 24 18   13  9  5  6  8  9  7  6  9 13 15  0
//   4  5  2  0  1 10  7  0  1 11 29 29   13 10  6  4  6  8  7  5  7 10 13 12
// random_exp, 16 features               random_exp, 1024 features
//  12 12  5  4  4  9  7  6  6 10 10 13   18 11  4  3  4  6  6  3  4  9 18 15
//  10 15  8  5  3  5  9 12  6  5  7 14   11 19 12  5  3  4  8  6  3  4  7 17
//   6 11 12 11  6  4  9 14  8  5  5  9    4 13 23 18  7  3  5  7  5  3  3  8
//   4  6 11 16 11  7  6  8  9 11  5  5    2  4 14 35 20  5  3  3  5  4  2  3
//   3  3  4  7 16 31 11  3  5 10  4  3    4  3  6 23 27 14  5  3  3  5  5  3
//   3  2  1  2 12 48 22  3  2  2  3  2    6  4  3  6 15 27 16  5  3  4  7  5
//   3  4  3  2  6 31 22 16  5  2  2  3    5  7  4  3  5 15 27 15  5  3  4  7
//   2  5  4  2  2  4 15 39 16  5  2  4    3  5  6  4  3  5 15 31 16  5  3  4
//   3  3  3  4  3  3  7 21 27 18  5  3    4  4  6  7  4  3  6 19 24 13  6  4
//   5  3  2  4  6  3  2  5 16 40 10  3   10  4  3  6  7  5  3  5 13 23 16  5
//  10  8  4  4  6  9  6  5  9 21 11  9   17  7  3  3  5  7  4  3  5 14 22 11
//  12 15  7  4  3  7  8  9  6  6  9 15   15 16  7  3  3  5  7  4  3  5 11 18
//    16 features: weights are off by 0.0484
//   256 features: weights are off by 0.0335
//  4096 features: weights are off by 0.0096
// 65536 features: weights are off by 0.0040
