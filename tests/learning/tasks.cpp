// SPDX-License-Identifier: Apache-2.0
// The generated tasks: golden samples, values by a second evaluator, and what is known of their
// distributions.
#include "learning/tasks/listops.hpp"
#include "learning/tasks/readers.hpp"
#include "learning/tasks/synthetic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace learning;

namespace {

struct memory_of_a_sample {
  std::vector<std::int32_t> tokens;
  std::vector<float> numbers;
  sample of;

  explicit memory_of_a_sample(sample_shape shape)
      : tokens(static_cast<std::size_t>(shape.length), -1),
        numbers(static_cast<std::size_t>(shape.length * shape.features), -1.0F) {
    of.tokens = tokens.data(), of.numbers = numbers.data();
  }
};

// The value of a printed list, by a stack of words and from the rules of the paper.
int evaluated(std::string const& text) {
  std::istringstream words(text);
  struct list {
    std::string op;
    std::vector<int> values;
  };
  std::vector<list> open(1);
  for (std::string word; words >> word;) {
    if (word[0] == '[') {
      open.push_back({word.substr(1), {}});
    } else if (word == "]") {
      list done = open.back();
      open.pop_back();
      std::vector<int>& v = done.values;
      std::sort(v.begin(), v.end());
      std::size_t const n = v.size();
      int value = 0;
      if (done.op == "MIN") value = v.front();
      if (done.op == "MAX") value = v.back();
      if (done.op == "MED") value = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
      if (done.op == "SM")
        for (int const one : v) value = (value + one) % 10;
      REQUIRE(n >= 2);
      open.back().values.push_back(value);
    } else {
      open.back().values.push_back(std::stoi(word));
    }
  }
  REQUIRE(open.size() == 1);
  REQUIRE(open[0].values.size() == 1);
  return open[0].values[0];
}

listops::size_of listops_lengths(index_t shortest, index_t longest) {
  listops::size_of size;
  size.shortest = shortest, size.longest = longest;
  return size;
}

// Whether a share of n samples is what was expected, within four standard errors.
void check_share(double share, double expected, double n) {
  CHECK(std::fabs(share - expected) < 4 * std::sqrt(expected * (1 - expected) / n));
}

}  // namespace

TEST_CASE("adding: a golden sample") {
  adding const task({8, 1});
  memory_of_a_sample m(task.shape());
  task.write(split::training, 0, m.of);
  CHECK(m.numbers[0] == doctest::Approx(0.9094860045).epsilon(1e-7));
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(m.numbers[2 * i + 1] == (i == 2 || i == 7 ? 1.0F : 0.0F));
  CHECK(m.of.target == doctest::Approx(0.7684893372).epsilon(1e-7));
}
TEST_CASE("adding: a constant is right for 15.36 %, and the answer is what the rows say") {
  adding const task({20, 7});
  memory_of_a_sample m(task.shape());
  int const n = 20000;
  int right = 0;
  for (int s = 0; s < n; ++s) {
    task.write(split::test, s, m.of);
    double sum = 0, marks = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      float const x = m.numbers[2 * i], mark = m.numbers[2 * i + 1];
      REQUIRE((x > -1.0F && x <= 1.0F));
      sum += static_cast<double>(x * mark), marks += static_cast<double>(mark);
    }
    REQUIRE(marks == 2);
    REQUIRE(std::fabs(0.5 + sum / 4 - static_cast<double>(m.of.target)) < 1e-6);
    right += std::fabs(m.of.target - 0.5F) < task.shape().tolerance ? 1 : 0;
  }
  check_share(right / static_cast<double>(n), 0.1536, n);
}
TEST_CASE("temporal order: golden samples, and classes of a quarter each") {
  temporal_order const task({12, 1});
  memory_of_a_sample m(task.shape());
  task.write(split::training, 0, m.of);
  CHECK(m.tokens == std::vector<std::int32_t>{0, 3, 2, 0, 4, 0, 2, 3, 0, 3, 2, 5});
  CHECK(m.of.label == 1);
  task.write(split::training, 1, m.of);
  CHECK(m.tokens == std::vector<std::int32_t>{4, 3, 1, 0, 2, 5, 1, 0, 3, 1, 3, 1});
  CHECK(m.of.label == 1);
  int const n = 20000;
  int classes[4] = {};
  for (int s = 0; s < n; ++s) {
    task.write(split::training, s, m.of);
    std::vector<std::int32_t> marked;
    for (std::int32_t const t : m.tokens)
      if (t >= 4) marked.push_back(t);
    REQUIRE(marked.size() == 2);
    REQUIRE(m.of.label == 2 * (marked[0] - 4) + (marked[1] - 4));
    ++classes[m.of.label];
  }
  for (int const count : classes) check_share(count / static_cast<double>(n), 0.25, n);
}
TEST_CASE("the two places of the synthetic tasks: every pair alike") {
  int counts[5][5] = {};
  int const n = 20000;
  for (int s = 0; s < n; ++s) {
    two_places const p(random_stream(3, static_cast<std::uint64_t>(s)), 5);
    REQUIRE((0 <= p.first && p.first < p.second && p.second < 5));
    ++counts[p.first][p.second];
  }
  for (int i = 0; i < 5; ++i)
    for (int j = i + 1; j < 5; ++j) check_share(counts[i][j] / static_cast<double>(n), 0.1, n);
}
TEST_CASE("listops: golden samples") {
  listops const small(listops_lengths(4, 29)), published({});
  memory_of_a_sample m(small.shape()), p(published.shape());
  CHECK(small.attempts(split::training, 0, m.of) == 9);
  CHECK(listops_text(m.of) == "[MAX 7 0 1 [MAX 9 2 8 2 6 8 8 ] ]");
  CHECK(m.of.label == 9);
  CHECK(published.attempts(split::training, 0, p.of) == 3);
  CHECK(p.of.length == 744);
  CHECK(p.of.label == 6);
}
TEST_CASE("listops: values by a second evaluator, padding, no sample twice or in both splits") {
  listops const task(listops_lengths(4, 200));
  memory_of_a_sample m(task.shape());
  std::set<std::string> seen;
  for (split const from : {split::training, split::test})
    for (int s = 0; s < 1000; ++s) {
      task.write(from, s, m.of);
      REQUIRE((4 <= m.of.length && m.of.length <= 200));
      std::string const text = listops_text(m.of);
      REQUIRE(evaluated(text) == m.of.label);
      for (auto i = static_cast<std::size_t>(m.of.length); i < 200; ++i) REQUIRE(m.tokens[i] == 0);
      if (m.of.length > 30)
        seen.insert(text);
      else
        seen.insert(text + std::to_string(seen.size()));  // short ones may well be alike
    }
  CHECK(seen.size() == 2000);
}
TEST_CASE("listops: 8.2 % of the trees are kept; lengths and classes of what is") {
  listops const task({});
  memory_of_a_sample m(task.shape());
  int const n = 4000;
  double drawn = 0, length = 0, squares = 0;
  int classes[10] = {};
  for (int s = 0; s < n; ++s) {
    drawn += static_cast<double>(task.attempts(split::training, s, m.of)) + 1;
    auto const l = static_cast<double>(m.of.length);
    REQUIRE((l > 500 && l < 2000));
    length += l, squares += l * l;
    ++classes[m.of.label];
  }
  check_share(n / drawn, 0.0825, drawn);
  // 15,000 trees by Python's own random numbers: a mean of 1037.5 with an error of 3.2.
  double const mean = length / n, deviation = std::sqrt(squares / n - mean * mean);
  CHECK(std::fabs(mean - 1037.5) < 4 * std::hypot(deviation / std::sqrt(double{n}), 3.2));
  check_share(classes[0] / double{n}, 0.17, n);
  check_share(classes[9] / double{n}, 0.17, n);
  for (int c = 1; c < 9; ++c) {
    CHECK(classes[c] > 0.06 * n);
    CHECK(classes[c] < 0.10 * n);
  }
}
TEST_CASE("trivial readers of listops: more to look at, more right") {
  listops const task({});
  // 20,000 samples to learn from and 4,000 tests by another generator gave these.
  double const expected[] = {0.1755, 0.3638, 0.4323, 0.5012};
  int const n = 2000;
  for (std::size_t i = 0; i < 4; ++i) {
    double const share = reader_accuracy(task, trivial_readers[i], 8000, n);
    CAPTURE(std::string(trivial_readers[i].looks_at));
    CAPTURE(share);
    // Both are samples; and fewer to learn from cost the reader with most to see some.
    double const error = std::sqrt(expected[i] * (1 - expected[i]) * (1.0 / n + 1.0 / 4000));
    CHECK(share < expected[i] + 3 * error);
    CHECK(share > expected[i] - 3 * error - (i == 3 ? 0.02 : 0));
  }
}
