// SPDX-License-Identifier: Apache-2.0
// The maps of softmax and linear attention: weights computed by hand, and the product of the map
// and the values is the output.
#include <slicesort/equivalent_matrix.hpp>

#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace support;
using ss::equivalent_matrix;

TEST_CASE("attention: means of the keys visible to a query") {
  // Channels of ones: all scores of a query are equal, except for the bias.
  std::vector<float> const ones(3 * 2 * 7 * 4, 1);
  std::vector<float> bias(7 * 5, 0);
  bias[2 * 5] = std::log(3.0f);  // query 2, key 0
  ss::attention_inputs<float> in{
      {ones.data(), {3, 2, 7, 4}}, {ones.data(), {3, 2, 5, 4}}, {ones.data(), {3, 2, 5, 6}}, {}};
  ss::softmax_attention<ss::mask::causal> const op{ss::mask::causal{-1}};
  ss::dense_matrix const map = equivalent_matrix(op, in, 2, 1);
  REQUIRE((map.size == 7 && map.columns == 5));
  for (index_t i = 0; i < 7; ++i)
    for (index_t j = 0; j < 5; ++j)
      CHECK(map(i, j) ==
            doctest::Approx(j < i ? 1.0 / static_cast<double>(std::min<index_t>(5, i)) : 0.0)
                .epsilon(1e-15));
  // The map does not depend on the algorithm. Adds a bias and lengths.
  in.bias = {bias.data(), {3, 2, 7, 5}, {0, 0, 5, 1}};
  std::vector<index_t> const keys = {5, 5, 3}, queries = {7, 7, 4};
  ss::softmax_attention<ss::mask::full, ss::materialized<>> const op_of_map;
  ss::dense_matrix const cut =
      equivalent_matrix(op_of_map, in, 2, 0, ss::lengths(view_of(keys), view_of(queries)));
  CHECK(cut(2, 0) == doctest::Approx(0.6).epsilon(1e-7));
  CHECK(cut(2, 1) == doctest::Approx(0.2).epsilon(1e-7));
  CHECK(cut(3, 2) == doctest::Approx(1.0 / 3).epsilon(1e-7));
  CHECK(cut(3, 3) == 0);
  CHECK(cut(4, 0) == 0);
  // A bias by distance, of the key two positions before its query, for all samples and heads.
  std::vector<float> by_distance(7 + 5 - 1, 0);
  by_distance[7 - 1 - 2] = std::log(3.0f);
  in.bias = {by_distance.data(), {1, 1, 1, 11}};
  ss::dense_matrix const band = equivalent_matrix(op_of_map, in, 1, 1);
  for (index_t i = 0; i < 7; ++i)
    for (index_t j = 0; j < 5; ++j)
      CHECK(band(i, j) ==
            doctest::Approx(i < 2 ? 1.0 / 5 : (j == i - 2 ? 3.0 : 1.0) / 7).epsilon(1e-7));
}

TEST_CASE("attention: masks per head, and masks that reject lengths") {
  std::vector<float> const ones(2 * 16, 1);
  ss::tensor4<float const> const same(ones.data(), {1, 2, 16, 1});
  ss::attention_inputs<float> const in{same, same, same, {}};
  ss::mask::bigbird bigbird;
  bigbird.block = 2;
  bigbird.random = 1;
  bigbird.seed = 7;
  bigbird.keys = 16;
  ss::softmax_attention<ss::mask::bigbird> const op{bigbird};
  bool differ = false;
  for (index_t head = 0; head < 2; ++head) {
    ss::dense_matrix const map = equivalent_matrix(op, in, 0, head);
    for (index_t i = 0; i < 16; ++i)
      for (index_t j = 0; j < 16; ++j) {
        CHECK((map(i, j) > 0) == bigbird.for_head(head).allows(i, j));
        differ = differ || bigbird.for_head(0).allows(i, j) != bigbird.for_head(1).allows(i, j);
      }
  }
  CHECK(differ);  // the test requires it
  ss::softmax_attention<ss::mask::chunk_back> const circular{ss::mask::chunk_back{4, true, 16}};
  ss::dense_matrix const map = equivalent_matrix(circular, in, 0, 0);
  CHECK(map(0, 15) > 0);
  CHECK(map(0, 7) == 0);
}

TEST_CASE("linear attention: products of features, with the operator's divisor") {
  // The product of the map and v must be y, for every sample and head.
  ss::extents4 const of_q{2, 2, 7, 3}, of_k{2, 2, 5, 3}, of_v{2, 2, 5, 4}, of_y{2, 2, 7, 4};
  ss::extents3 const of_w{2, 6, 3};
  auto const numbers = [](index_t size, double phase) {
    std::vector<double> list(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i] = std::sin(phase + 7 * static_cast<double>(i));
    return list;
  };
  auto const q = numbers(of_q.size(), 1), k = numbers(of_k.size(), 2), v = numbers(of_v.size(), 3),
             w = numbers(of_w.size(), 4);
  std::vector<index_t> const keys = {5, 3}, queries = {7, 4};
  ss::attention_options const ragged = ss::lengths(view_of(keys), view_of(queries));
  auto const check = [&](auto const& op, ss::linear_attention_inputs<double> const& in) {
    std::vector<double> y_data(static_cast<std::size_t>(of_y.size()));
    ss::tensor4<double> const y(y_data.data(), of_y);
    ss::exec::host const exec;
    std::vector<unsigned char> scratch(
        op.template workspace_bytes<double>(exec, of_q, of_v, in.w.extents()));
    op.forward(exec, in, y, {scratch.data(), scratch.size()}, ragged);
    for (index_t b = 0; b < 2; ++b)
      for (index_t h = 0; h < 2; ++h) {
        ss::dense_matrix const map = equivalent_matrix(op, in, b, h, ragged);
        REQUIRE((map.size == 7 && map.columns == 5));
        for (index_t i = 0; i < 7; ++i)
          for (index_t c = 0; c < 4; ++c) {
            double sum = 0;
            for (index_t j = 0; j < 5; ++j) sum += map(i, j) * in.v(b, h, j, c);
            CHECK(std::fabs(sum - y(b, h, i, c)) < 1e-14);
          }
        for (index_t i = 0; i < 7; ++i)
          for (index_t j = 0; j < 5; ++j)
            CHECK((map(i, j) > 0) == (i < queries[static_cast<std::size_t>(b)] &&
                                      j < keys[static_cast<std::size_t>(b)]));
      }
  };
  ss::linear_attention_inputs<double> in{{q.data(), of_q}, {k.data(), of_k}, {v.data(), of_v}, {}};
  check(ss::linear_attention<>{}, in);
  ss::linear_attention const performer{ss::feature::random_exp{}, ss::divisor::sum_plus{0}};
  in.w = {w.data(), of_w};
  check(performer, in);
  // One matrix w per head, or one for both.
  ss::dense_matrix const map_of_head_1 = equivalent_matrix(performer, in, 0, 1);
  in.w = {w.data(), {1, 6, 3}};
  check(performer, in);
  CHECK(equivalent_matrix(performer, in, 0, 1)(0, 0) != map_of_head_1(0, 0));
}

TEST_CASE("linear attention: weights computed by hand, and zero weights for later keys if causal") {
  std::vector<float> const rows = {1, -1, 0, 2, 3, 0.5f};
  ss::tensor4<float const> const x(rows.data(), {1, 1, 3, 2});
  // v is optional.
  ss::linear_attention_inputs<float> const in{x, x, {}, {}};
  ss::linear_attention const relu{ss::feature::relu{}, ss::divisor::none{},
                                  ss::direction::causal{}};
  ss::dense_matrix const map = equivalent_matrix(relu, in, 0, 0);
  double const expected[] = {1, 0, 0, 0, 4, 0, 3, 1, 9.25};
  for (index_t i = 0; i < 3; ++i)
    for (index_t j = 0; j < 3; ++j) CHECK(map(i, j) == expected[i * 3 + j]);
  ss::linear_attention const over{ss::feature::relu{}, ss::divisor::sum_plus{0}};
  CHECK(equivalent_matrix(over, in, 0, 0)(2, 2) == doctest::Approx(9.25 / 13.25).epsilon(1e-15));
}

TEST_CASE("attention: rejected arguments") {
  std::vector<float> const x(3 * 13 * 5);
  ss::attention_inputs<float> const heads{
      {x.data(), {1, 3, 13, 5}}, {x.data(), {1, 3, 13, 5}}, {x.data(), {1, 3, 13, 5}}, {}};
  CHECK(error_message([&] { equivalent_matrix(ss::softmax_attention<>{}, heads, 0, 3); }) ==
        "equivalent_matrix: head is 3, must be in 0..2");
  CHECK(error_message([&] { equivalent_matrix(ss::softmax_attention<>{}, heads, 1, 0); }) ==
        "equivalent_matrix: batch is 1, must be in 0..0");
  ss::linear_attention_inputs<float> in{heads.q, heads.k, heads.v, {}};
  CHECK(error_message([&] { equivalent_matrix(ss::linear_attention<>{}, in, 0, 3); }) ==
        "equivalent_matrix: head is 3, must be in 0..2");
  in.w = {x.data(), {2, 13, 5}};
  ss::linear_attention const performer{ss::feature::random_exp{}};
  CHECK(error_message([&] { equivalent_matrix(performer, in, 0, 2); }) ==
        "equivalent_matrix: w.heads is 2, must be 1 or 3 (q.heads)");
  in.w = {x.data(), {3, 13, 5}};
  // Errors of the operator.
  CHECK(error_message([&] { equivalent_matrix(ss::linear_attention<>{}, in, 0, 0); }) ==
        "linear_attention.forward: w must be left out: the feature map has no matrix");
  CHECK(error_message([&] {
          equivalent_matrix(performer, in, 0, 0, ss::dropout{0.5, 1});
        }) == "linear_attention.forward: dropout.rate is 0.5, must be 0: no weights are computed");
}
