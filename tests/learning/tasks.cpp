// SPDX-License-Identifier: Apache-2.0
// Generated tasks: golden samples, labels of an independent evaluator, and distributions.
#include "learning/tasks/baselines.hpp"
#include "learning/tasks/listops.hpp"
#include "learning/tasks/pathfinder.hpp"
#include "learning/tasks/synthetic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace learning;

namespace {

struct sample_buffer {
  std::vector<std::int32_t> tokens;
  std::vector<float> features;
  sample data;

  explicit sample_buffer(sample_shape shape)
      : tokens(static_cast<std::size_t>(shape.length), -1),
        features(static_cast<std::size_t>(shape.length * shape.features), -1.0F) {
    data.tokens = tokens.data(), data.features = features.data();
  }
};

// Evaluates a formatted list with a stack, by the paper's definition.
int evaluate(std::string const& text) {
  std::istringstream words(text);
  struct list {
    std::string op;
    std::vector<int> values;
  };
  std::vector<list> open_lists(1);
  for (std::string word; words >> word;) {
    if (word[0] == '[') {
      open_lists.push_back({word.substr(1), {}});
    } else if (word == "]") {
      list closed = open_lists.back();
      open_lists.pop_back();
      std::vector<int>& v = closed.values;
      std::sort(v.begin(), v.end());
      std::size_t const n = v.size();
      int value = 0;
      if (closed.op == "MIN") value = v.front();
      if (closed.op == "MAX") value = v.back();
      if (closed.op == "MED") value = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
      if (closed.op == "SM")
        for (int const digit : v) value = (value + digit) % 10;
      REQUIRE(n >= 2);
      open_lists.back().values.push_back(value);
    } else {
      open_lists.back().values.push_back(std::stoi(word));
    }
  }
  REQUIRE(open_lists.size() == 1);
  REQUIRE(open_lists[0].values.size() == 1);
  return open_lists[0].values[0];
}

listops::size_config listops_lengths(index_t shortest, index_t longest) {
  listops::size_config size;
  size.shortest = shortest, size.longest = longest;
  return size;
}

pathfinder pathfinder_of(index_t dashes) {
  pathfinder::size_config size;
  size.dashes = dashes;
  return pathfinder(size);
}

// Returns the dash that continues dash i: its tail is two gaps ahead, around a common pivot. -1 if
// there is none.
int next_dash(pathfinder_scene::scene const& paths, int i) {
  using namespace pathfinder_scene;
  point const pivot = paths[i].head.moved(gap, paths[i].direction);
  for (int j = 0; j < paths.size(); ++j) {
    dash const& next = paths[j];
    if (next.tail.x == pivot.moved(gap, next.direction).x &&
        next.tail.y == pivot.moved(gap, next.direction).y)
      return j;
  }
  return -1;
}

// Distance between two dashes in pixels, from points an eighth of a pixel apart.
double distance(pathfinder_scene::dash const& a, pathfinder_scene::dash const& b) {
  double least = 1e9;
  for (int i = 0; i <= 16; ++i)
    for (int j = 0; j <= 16; ++j) {
      auto const between = [&](int tail_a, int head_a, int tail_b, int head_b) {
        return tail_a + (head_a - tail_a) * i / 16.0 - tail_b - (head_b - tail_b) * j / 16.0;
      };
      least = std::min(least, std::hypot(between(a.tail.x, a.head.x, b.tail.x, b.head.x),
                                         between(a.tail.y, a.head.y, b.tail.y, b.head.y)));
    }
  return least / pathfinder_scene::pixel;
}

// Share of samples that the best threshold of a feature classifies, in either direction.
double threshold_accuracy(std::vector<std::pair<double, int>> values) {
  std::sort(values.begin(), values.end());
  double ones = 0, below = 0, n = static_cast<double>(values.size()), best = 0, count = 0;
  for (auto const& value : values) ones += value.second;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i].second, ++count;
    if (i + 1 < values.size() && values[i].first == values[i + 1].first) continue;
    double const right = count - below + (ones - below);
    best = std::max({best, right, n - right});
  }
  return best / n;
}

// Checks a share of n samples within four standard errors.
void check_share(double share, double expected, double n) {
  CHECK(std::fabs(share - expected) < 4 * std::sqrt(expected * (1 - expected) / n));
}

}  // namespace

TEST_CASE("adding: a golden sample") {
  adding const task({8, 1});
  sample_buffer buffer(task.shape());
  task.write(split::training, 0, buffer.data);
  CHECK(buffer.features[0] == doctest::Approx(0.9094860045).epsilon(1e-7));
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(buffer.features[2 * i + 1] == (i == 2 || i == 7 ? 1.0F : 0.0F));
  CHECK(buffer.data.target == doctest::Approx(0.7684893372).epsilon(1e-7));
}
TEST_CASE("adding: a constant is correct for 15.36 %, and the target follows from the rows") {
  adding const task({20, 7});
  sample_buffer buffer(task.shape());
  int const n = 20000;
  int correct = 0;
  for (int s = 0; s < n; ++s) {
    task.write(split::test, s, buffer.data);
    double sum = 0, marks = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      float const x = buffer.features[2 * i], mark = buffer.features[2 * i + 1];
      REQUIRE((x > -1.0F && x <= 1.0F));
      sum += static_cast<double>(x * mark), marks += static_cast<double>(mark);
    }
    REQUIRE(marks == 2);
    REQUIRE(std::fabs(0.5 + sum / 4 - static_cast<double>(buffer.data.target)) < 1e-6);
    correct += std::fabs(buffer.data.target - 0.5F) < task.shape().tolerance ? 1 : 0;
  }
  check_share(correct / static_cast<double>(n), 0.1536, n);
}
TEST_CASE("temporal order: golden samples, and four equally frequent classes") {
  temporal_order const task({12, 1});
  sample_buffer buffer(task.shape());
  task.write(split::training, 0, buffer.data);
  CHECK(buffer.tokens == std::vector<std::int32_t>{0, 3, 2, 0, 4, 0, 2, 3, 0, 3, 2, 5});
  CHECK(buffer.data.label == 1);
  task.write(split::training, 1, buffer.data);
  CHECK(buffer.tokens == std::vector<std::int32_t>{4, 3, 1, 0, 2, 5, 1, 0, 3, 1, 3, 1});
  CHECK(buffer.data.label == 1);
  int const n = 20000;
  int classes[4] = {};
  for (int s = 0; s < n; ++s) {
    task.write(split::training, s, buffer.data);
    std::vector<std::int32_t> marked;
    for (std::int32_t const t : buffer.tokens)
      if (t >= 4) marked.push_back(t);
    REQUIRE(marked.size() == 2);
    REQUIRE(buffer.data.label == 2 * (marked[0] - 4) + (marked[1] - 4));
    ++classes[buffer.data.label];
  }
  for (int const count : classes) check_share(count / static_cast<double>(n), 0.25, n);
}
TEST_CASE("the two positions of synthetic tasks are uniform over pairs") {
  int counts[5][5] = {};
  int const n = 20000;
  for (int s = 0; s < n; ++s) {
    two_positions const p(random_stream(3, static_cast<std::uint64_t>(s)), 5);
    REQUIRE((0 <= p.first && p.first < p.second && p.second < 5));
    ++counts[p.first][p.second];
  }
  for (int i = 0; i < 5; ++i)
    for (int j = i + 1; j < 5; ++j) check_share(counts[i][j] / static_cast<double>(n), 0.1, n);
}
TEST_CASE("listops: golden samples") {
  listops const small(listops_lengths(4, 29)), published({});
  sample_buffer buffer(small.shape()), p(published.shape());
  CHECK(small.write_counting_attempts(split::training, 0, buffer.data) == 9);
  CHECK(listops_text(buffer.data) == "[MAX 7 0 1 [MAX 9 2 8 2 6 8 8 ] ]");
  CHECK(buffer.data.label == 9);
  CHECK(published.write_counting_attempts(split::training, 0, p.data) == 3);
  CHECK(p.data.length == 744);
  CHECK(p.data.label == 6);
}
TEST_CASE("listops: labels, padding, and distinct samples within and between splits") {
  listops const task(listops_lengths(4, 200));
  sample_buffer buffer(task.shape());
  std::set<std::string> seen;
  for (split const subset : {split::training, split::test})
    for (int s = 0; s < 1000; ++s) {
      task.write(subset, s, buffer.data);
      REQUIRE((4 <= buffer.data.length && buffer.data.length <= 200));
      std::string const text = listops_text(buffer.data);
      REQUIRE(evaluate(text) == buffer.data.label);
      for (auto i = static_cast<std::size_t>(buffer.data.length); i < 200; ++i)
        REQUIRE(buffer.tokens[i] == 0);
      if (buffer.data.length > 30)
        seen.insert(text);
      else
        seen.insert(text + std::to_string(seen.size()));  // short samples may be equal
    }
  CHECK(seen.size() == 2000);
}
TEST_CASE("listops: 8.2 % of the trees are accepted; distribution of lengths and classes") {
  listops const task({});
  sample_buffer buffer(task.shape());
  int const n = 4000;
  double drawn = 0, length = 0, squares = 0;
  int classes[10] = {};
  for (int s = 0; s < n; ++s) {
    drawn += static_cast<double>(task.write_counting_attempts(split::training, s, buffer.data)) + 1;
    auto const l = static_cast<double>(buffer.data.length);
    REQUIRE((l > 500 && l < 2000));
    length += l, squares += l * l;
    ++classes[buffer.data.label];
  }
  check_share(n / drawn, 0.0825, drawn);
  // 15,000 trees from Python's random numbers have a mean of 1037.5 with a standard error of 3.2.
  double const mean = length / n, deviation = std::sqrt(squares / n - mean * mean);
  CHECK(std::fabs(mean - 1037.5) < 4 * std::hypot(deviation / std::sqrt(double{n}), 3.2));
  check_share(classes[0] / double{n}, 0.17, n);
  check_share(classes[9] / double{n}, 0.17, n);
  for (int c = 1; c < 9; ++c) {
    CHECK(classes[c] > 0.06 * n);
    CHECK(classes[c] < 0.10 * n);
  }
}
TEST_CASE("baseline classifiers of listops: accuracy grows with the features") {
  listops const task({});
  // Accuracies of another generator: 20,000 training samples and 4,000 test samples.
  double const expected[] = {0.1755, 0.3638, 0.4323, 0.5012};
  int const n = 2000;
  auto const shares = measure_baselines(task, 8000, n);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    double const share = shares[i];
    CAPTURE(std::string(baseline_classifiers[i].name));
    CAPTURE(share);
    // Combines both standard errors. Fewer training samples cost the last baseline some accuracy.
    double const error = std::sqrt(expected[i] * (1 - expected[i]) * (1.0 / n + 1.0 / 4000));
    CHECK(share < expected[i] + 3 * error);
    CHECK(share > expected[i] - 3 * error - (i == 3 ? 0.02 : 0));
  }
}
TEST_CASE("pathfinder: sines are rounded to 2^-14, and a golden hash of images") {
  double const pi = std::acos(-1.0);
  for (int d = 0; d < 2 * pathfinder_scene::directions; ++d)
    REQUIRE(std::fabs(pathfinder_scene::sine(d) - 16384 * std::sin(d * pi / 32)) < 0.501);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (index_t const dashes : {6, 14}) {
    pathfinder const task = pathfinder_of(dashes);
    sample_buffer buffer(task.shape());
    for (int s = 0; s < 4; ++s) {
      task.write(s % 2 == 0 ? split::training : split::test, s, buffer.data);
      for (std::int32_t const gray : buffer.tokens)
        hash = (hash ^ static_cast<std::uint64_t>(gray)) * 0x100000001b3u;
    }
  }
  CHECK(hash == 11999278089932834001u);
}
TEST_CASE("pathfinder: the path from the first disk ends at the second one if the class is 1") {
  for (index_t const dashes : {6, 9, 14}) {
    pathfinder const task = pathfinder_of(dashes);
    for (int s = 0; s < 40; ++s) {
      pathfinder::content const c = task.make_content(split::training, s);
      int found = -1, length = 1, end = -1;
      for (int i = 0; i < c.paths.size(); ++i) {
        if (c.paths[i].tail.x == c.disks[0].x && c.paths[i].tail.y == c.disks[0].y) found = i;
        if (c.paths[i].head.x == c.disks[1].x && c.paths[i].head.y == c.disks[1].y) end = i;
      }
      REQUIRE((found >= 0 && end >= 0));
      for (int next; (next = next_dash(c.paths, found)) >= 0; ++length) found = next;
      REQUIRE(length == dashes);
      REQUIRE((found == end) == (c.label == 1));
    }
  }
}
TEST_CASE(
    "pathfinder: distances between dashes and from the edge, disks in the image, distractors") {
  pathfinder const task = pathfinder_of(6);
  sample_buffer buffer(task.shape());
  double distractors = 0;
  for (int s = 0; s < 40; ++s) {
    pathfinder::content const c = task.make_content(split::test, s);
    task.write(split::test, s, buffer.data);
    REQUIRE(buffer.data.label == c.label);
    REQUIRE(*std::max_element(buffer.tokens.begin(), buffer.tokens.end()) == 255);
    for (int i = 0; i < c.paths.size(); ++i) {
      pathfinder_scene::dash const& a = c.paths[i];
      REQUIRE(std::hypot(a.tail.x - a.head.x, a.tail.y - a.head.y) / 256 ==
              doctest::Approx(2).epsilon(0.005));
      for (int const x : {a.tail.x, a.tail.y, a.head.x, a.head.y})
        REQUIRE((x >= 2 * 256 && x <= 30 * 256));
      for (int j = 0; j < i; ++j) {  // around a common pivot, a turn below 90 degrees
        bool const follows = next_dash(c.paths, i) == j || next_dash(c.paths, j) == i;
        REQUIRE(distance(a, c.paths[j]) > (follows ? 1.41 : 1.95));
      }
    }
    for (auto const& disk : c.disks)
      REQUIRE(buffer.tokens[static_cast<std::size_t>(disk.y / 256 * 32 + disk.x / 256)] >= 127);
    for (int const x : {c.paths[0].tail.x, c.paths[0].tail.y})
      REQUIRE((x >= 14 * 256 && x <= 18 * 256));
    distractors += c.paths.size() - 12;
  }
  CHECK(distractors / 40 > 15);  // of 20 in 10 paths
}
TEST_CASE("pathfinder: equally frequent classes, which the mean of the image does not tell") {
  pathfinder const task = pathfinder_of(6);
  sample_buffer buffer(task.shape());
  int const n = 1000;
  double ones = 0;
  std::vector<std::pair<double, int>> means, distances;
  for (int s = 0; s < n; ++s) {
    task.write(split::training, s, buffer.data);
    pathfinder::content const c = task.make_content(split::training, s);
    double sum = 0;
    for (std::int32_t const gray : buffer.tokens) sum += gray;
    ones += buffer.data.label;
    means.emplace_back(sum, buffer.data.label);
    distances.emplace_back(std::hypot(c.disks[0].x - c.disks[1].x, c.disks[0].y - c.disks[1].y),
                           buffer.data.label);
  }
  check_share(ones / n, 0.5, n);
  CHECK(threshold_accuracy(means) < 0.56);
  CHECK(threshold_accuracy(distances) < 0.64);
}
TEST_CASE("pathfinder: single dashes, and rejected sizes") {
  pathfinder::size_config size;
  size.dashes = 6, size.single_dashes = 1000;
  pathfinder::content const c = pathfinder(size).make_content(split::test, 3);
  CHECK(c.paths.size() > pathfinder_of(6).make_content(split::test, 3).paths.size() + 10);
  for (index_t const dashes : {2, 15}) CHECK_THROWS_AS(pathfinder_of(dashes), task_error);
}
