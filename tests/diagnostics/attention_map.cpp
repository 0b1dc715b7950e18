// SPDX-License-Identifier: Apache-2.0
// Attention matrices of softmax and linear attention: weights computed by hand, and the product of
// the matrix and the values must be the output.
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
  // With a bias and lengths. The matrix does not depend on the algorithm.
  in.bias = {bias.data(), {3, 2, 7, 5}, {0, 0, 5, 1}};
  std::vector<index_t> const key_lengths = {5, 5, 3}, query_lengths = {7, 7, 4};
  ss::softmax_attention<ss::mask::full, ss::materialized<>> const materialized_op;
  ss::dense_matrix const ragged_map = equivalent_matrix(
      materialized_op, in, 2, 0, ss::lengths(view_of(key_lengths), view_of(query_lengths)));
  CHECK(ragged_map(2, 0) == doctest::Approx(0.6).epsilon(1e-7));
  CHECK(ragged_map(2, 1) == doctest::Approx(0.2).epsilon(1e-7));
  CHECK(ragged_map(3, 2) == doctest::Approx(1.0 / 3).epsilon(1e-7));
  CHECK(ragged_map(3, 3) == 0);
  CHECK(ragged_map(4, 0) == 0);
  // A relative bias for the key two positions before its query, shared by samples and heads.
  std::vector<float> relative_bias(7 + 5 - 1, 0);
  relative_bias[7 - 1 - 2] = std::log(3.0f);
  in.bias = {relative_bias.data(), {1, 1, 1, 11}};
  ss::dense_matrix const biased_map = equivalent_matrix(materialized_op, in, 1, 1);
  for (index_t i = 0; i < 7; ++i)
    for (index_t j = 0; j < 5; ++j)
      CHECK(biased_map(i, j) ==
            doctest::Approx(i < 2 ? 1.0 / 5 : (j == i - 2 ? 3.0 : 1.0) / 7).epsilon(1e-7));
}

TEST_CASE("attention: masks per head, and masks that reject lengths") {
  std::vector<float> const ones(2 * 16, 1);
  ss::tensor4<float const> const ones_view(ones.data(), {1, 2, 16, 1});
  ss::attention_inputs<float> const in{ones_view, ones_view, ones_view, {}};
  ss::mask::bigbird bigbird;
  bigbird.block = 2;
  bigbird.random = 1;
  bigbird.seed = 7;
  bigbird.keys = 16;
  ss::softmax_attention<ss::mask::bigbird> const op{bigbird};
  bool heads_differ = false;
  for (index_t head = 0; head < 2; ++head) {
    ss::dense_matrix const map = equivalent_matrix(op, in, 0, head);
    for (index_t i = 0; i < 16; ++i)
      for (index_t j = 0; j < 16; ++j) {
        CHECK((map(i, j) > 0) == bigbird.for_head(head).allows(i, j));
        heads_differ =
            heads_differ || bigbird.for_head(0).allows(i, j) != bigbird.for_head(1).allows(i, j);
      }
  }
  CHECK(heads_differ);  // otherwise the test is pointless
  ss::softmax_attention<ss::mask::chunk_back> const circular{ss::mask::chunk_back{4, true, 16}};
  ss::dense_matrix const map = equivalent_matrix(circular, in, 0, 0);
  CHECK(map(0, 15) > 0);
  CHECK(map(0, 7) == 0);
}

// The product of the matrix and v is y, with a bias, a mask per head, lengths and either scale.
TEST_CASE("pointwise attention: functions of the scores") {
  ss::extents4 const q_shape{2, 2, 7, 3}, k_shape{2, 2, 5, 3}, y_shape{2, 2, 7, 3};
  std::vector<double> values(static_cast<std::size_t>(q_shape.size())), relative_bias(11),
      y_data(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(7 * static_cast<double>(i));
  for (std::size_t i = 0; i < relative_bias.size(); ++i) relative_bias[i] = values[2 * i + 1];
  ss::tensor4<double const> const q(values.data(), q_shape), k(values.data() + 5, k_shape);
  ss::attention_inputs<double> const in{q, k, k, {relative_bias.data(), {1, 1, 1, 11}}};
  std::vector<index_t> const key_lengths = {5, 3}, query_lengths = {7, 4};
  ss::attention_options const ragged = ss::lengths(view_of(key_lengths), view_of(query_lengths));
  auto const check_op = [&](auto const& op) {
    ss::scratch memory;
    op.forward(ss::exec::host{}, in, ss::tensor4<double>(y_data.data(), y_shape), memory, ragged);
    for (index_t b = 0; b < 2; ++b)
      for (index_t h = 0; h < 2; ++h) {
        ss::dense_matrix const map = equivalent_matrix(op, in, b, h, ragged);
        for (index_t i = 0; i < 7; ++i)
          for (index_t c = 0; c < 3; ++c) {
            double sum = 0;
            for (index_t j = 0; j < 5; ++j) sum += map(i, j) * k(b, h, j, c);
            CHECK(std::fabs(sum - y_data[static_cast<std::size_t>(((b * 2 + h) * 7 + i) * 3 + c)]) <
                  1e-14);
          }
      }
  };
  check_op(ss::pointwise_attention{ss::mask::causal{}, 0.3});
  check_op(ss::pointwise_attention{ss::per_key{}, ss::score_function::squared_relu{}});
}

TEST_CASE("linear attention: products of features, with the operator's divisor") {
  // The product of the matrix and v must be y, for every sample and head.
  ss::extents4 const q_shape{2, 2, 7, 3}, k_shape{2, 2, 5, 3}, v_shape{2, 2, 5, 4};
  ss::extents3 const w_shape{2, 6, 3};
  auto const sine_values = [](index_t size, double phase) {
    std::vector<double> values(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(phase + 7 * static_cast<double>(i));
    return values;
  };
  auto const q = sine_values(q_shape.size(), 1), k = sine_values(k_shape.size(), 2),
             v = sine_values(v_shape.size(), 3), w = sine_values(w_shape.size(), 4);
  std::vector<index_t> const key_lengths = {5, 3}, query_lengths = {7, 4};
  ss::attention_options const ragged = ss::lengths(view_of(key_lengths), view_of(query_lengths));
  auto const check_op = [&](auto const& op, ss::linear_attention_inputs<double> const& in) {
    ss::extents4 const e = in.q.extents(), y_shape{e.batch, e.heads, e.length, v_shape.channels};
    index_t const group = e.heads / v_shape.heads;
    std::vector<double> y_data(static_cast<std::size_t>(y_shape.size()));
    ss::tensor4<double> const y(y_data.data(), y_shape);
    ss::exec::host const exec;
    std::vector<unsigned char> scratch(
        op.template workspace_bytes<double>(exec, e, v_shape, in.w.extents()));
    op.forward(exec, in, y, {scratch.data(), scratch.size()}, ragged);
    for (index_t b = 0; b < 2; ++b)
      for (index_t h = 0; h < e.heads; ++h) {
        ss::dense_matrix const map = equivalent_matrix(op, in, b, h, ragged);
        REQUIRE((map.size == 7 && map.columns == 5));
        for (index_t i = 0; i < 7; ++i)
          for (index_t c = 0; c < 4; ++c) {
            double sum = 0;
            for (index_t j = 0; j < 5; ++j) sum += map(i, j) * in.v(b, h / group, j, c);
            CHECK(std::fabs(sum - y(b, h, i, c)) < 1e-14);
          }
        for (index_t i = 0; i < 7; ++i)
          for (index_t j = 0; j < 5; ++j)
            CHECK((map(i, j) > 0) == (i < query_lengths[static_cast<std::size_t>(b)] &&
                                      j < key_lengths[static_cast<std::size_t>(b)]));
      }
  };
  ss::linear_attention_inputs<double> in{
      {q.data(), q_shape}, {k.data(), k_shape}, {v.data(), v_shape}, {}};
  check_op(ss::linear_attention<>{}, in);
  ss::linear_attention const performer{ss::feature::random_exp{}, ss::divisor::sum_plus{0}};
  in.w = {w.data(), w_shape};
  check_op(performer, in);
  // One w per head, or one for both heads.
  ss::dense_matrix const map_of_head_1 = equivalent_matrix(performer, in, 0, 1);
  in.w = {w.data(), {1, 6, 3}};
  check_op(performer, in);
  CHECK(equivalent_matrix(performer, in, 0, 1)(0, 0) != map_of_head_1(0, 0));
  // Heads 0 and 1 of q share head 0 of k, v and w; heads 2 and 3 share head 1.
  ss::extents4 const grouped_shape{2, 4, 7, 3};
  auto const grouped_q = sine_values(grouped_shape.size(), 5);
  in.q = {grouped_q.data(), grouped_shape};
  check_op(ss::linear_attention<>{}, {in.q, in.k, in.v, {}});
  check_op(performer, in);
  in.w = {w.data(), w_shape};
  check_op(performer, in);
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
  ss::linear_attention const normalized{ss::feature::relu{}, ss::divisor::sum_plus{0}};
  CHECK(equivalent_matrix(normalized, in, 0, 0)(2, 2) ==
        doctest::Approx(9.25 / 13.25).epsilon(1e-15));
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
        "equivalent_matrix: w.heads is 2, must be 1 or 3 (k.heads)");
  in.w = {x.data(), {3, 13, 5}};
  // Errors of the operator.
  CHECK(error_message([&] { equivalent_matrix(ss::linear_attention<>{}, in, 0, 0); }) ==
        "linear_attention.forward: w must be left out: the feature map has no matrix");
  CHECK(error_message([&] {
          equivalent_matrix(performer, in, 0, 0, ss::dropout{0.5, 1});
        }) == "linear_attention.forward: dropout.rate is 0.5, must be 0: no weights are computed");
}
