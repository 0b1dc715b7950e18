// SPDX-License-Identifier: Apache-2.0
// Dashed paths of Pathfinder. All arithmetic is on integers, so that every machine gets the same
// paths: sines come from a table, and floating-point sums could be contracted.
#pragma once

#include "learning/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace learning::pathfinder_scene {

/// Coordinates and distances are in 1/256 of a pixel. Pixel (i, j) covers x in [j, j + 1) and y in
/// [i, i + 1) pixels.
inline constexpr int pixel = 256, pixels = 32;
inline constexpr int dash_length = 2 * pixel, gap = pixel, seed_distance = 7 * pixel;
/// Dashes keep this distance from the edge: a border of a pixel and the gap.
inline constexpr int margin = pixel + gap;
/// Directions of a dash in a full turn.
inline constexpr int directions = 64;

/// 2^14 times the sine of a direction.
inline int sine(int direction) {
  constexpr int quarter = directions / 4;
  constexpr int table[quarter + 1] = {0,     1606,  3196,  4756,  6270,  7723,  9102,  10394, 11585,
                                      12665, 13623, 14449, 15137, 15679, 16069, 16305, 16384};
  int const turn = direction & (2 * quarter - 1), half = direction & (2 * quarter);
  int const value = table[turn <= quarter ? turn : 2 * quarter - turn];
  return half ? -value : value;
}

struct point {
  int x, y;
  point moved(int distance, int direction) const {
    return {x + distance * sine(direction + directions / 4) / 16384,
            y + distance * sine(direction) / 16384};
  }
};

struct dash {
  point tail, head;
  int direction;

  dash(point start, int towards)
      : tail(start), head(start.moved(dash_length, towards)), direction(towards) {}
  dash() = default;

  /// True if the distance from p is at most `radius`.
  bool is_within(point p, int radius) const {
    std::int64_t const ex = head.x - tail.x, ey = head.y - tail.y;
    std::int64_t const px = p.x - tail.x, py = p.y - tail.y, qx = p.x - head.x, qy = p.y - head.y;
    std::int64_t const limit = std::int64_t{radius} * radius;
    std::int64_t const along = px * ex + py * ey, length = ex * ex + ey * ey;
    if (along <= 0) return px * px + py * py <= limit;
    if (along >= length) return qx * qx + qy * qy <= limit;
    std::int64_t const across = px * ey - py * ex;
    return across * across <= limit * length;
  }
};

/// Random integers in sequence.
struct draws {
  random_stream random;
  std::uint64_t count = 0;
  int below(int n) { return static_cast<int>(random.below(count++, n)); }
};

/// Dashes of an image. Dash `2 i + p` is dash i of target path p, 0 or 1. Distractors follow.
class scene {
 public:
  static constexpr int max_dashes = 256;

  int size() const { return size_; }
  dash const& operator[](int i) const { return dashes_[static_cast<std::size_t>(i)]; }

  /// Grows both target paths in turns, from two seeds. Returns false if they have no room.
  bool add_targets(draws& random, int dashes) {
    int const edge = 2 * seed_distance;
    point const first = random_point(random, edge);
    point const second = first.moved(seed_distance, random.below(directions));
    if (!add({first, random.below(directions)}, none)) return false;
    if (!add({second, random.below(directions)}, none)) return false;
    for (int i = 2; i < 2 * dashes; ++i)
      if (!extend(random, i - 2)) return false;
    return true;
  }
  /// Adds a path at a random place, or none: after `attempts` without room, it is left out.
  void add_distractor(draws& random, int dashes, int attempts = 5) {
    int const before = size_;
    for (int a = 0; a < attempts; ++a) {
      bool fits = add({random_point(random, margin), random.below(directions)}, none);
      for (int i = 1; fits && i < dashes; ++i) fits = extend(random, size_ - 1);
      if (fits) return;
      size_ = before;
    }
  }

 private:
  static constexpr int none = -1;

  static point random_point(draws& random, int edge) {
    int const extent = pixels * pixel - 2 * edge + 1;
    int const x = edge + random.below(extent), y = edge + random.below(extent);
    return {x, y};
  }

  // Adds a dash that continues dash `last` of its path. A pivot follows the last dash after a gap.
  // The head lies on a circle around the pivot, with probability proportional to the square of the
  // turn's cosine where it is free. Returns false if three such dashes, or all heads, are not free.
  bool extend(draws& random, int last) {
    constexpr int quarter = directions / 4, candidates = 2 * quarter - 1;
    point const pivot = (*this)[last].head.moved(gap, (*this)[last].direction);
    int weights[candidates], total = 0;
    for (int c = 0; c < candidates; ++c) {
      int const cosine = sine(c + 1) >> 4;
      point const head = pivot.moved(gap + dash_length, direction_of(last, c));
      total += weights[c] = is_free(head, last) ? cosine * cosine : 0;
    }
    for (int attempt = 0; total > 0 && attempt < 3; ++attempt) {
      int c = 0;
      for (int drawn = random.below(total); drawn >= weights[c]; ++c) drawn -= weights[c];
      int const direction = direction_of(last, c);
      if (add({pivot.moved(gap, direction), direction}, last)) return true;
    }
    return false;
  }
  // Candidate c turns by c - 15 of 64 directions.
  int direction_of(int last, int c) const {
    return ((*this)[last].direction + c + 1 - directions / 4) & (directions - 1);
  }

  // Adds a dash if five points of it are free.
  bool add(dash const& next, int last) {
    for (int i = 0; i <= 4; ++i)
      if (!is_free(next.tail.moved(i * dash_length / 4, next.direction), last)) return false;
    if (size_ == max_dashes) return false;
    dashes_[static_cast<std::size_t>(size_++)] = next;
    return true;
  }
  // True if p is two gaps or more away from all dashes but `last`, and `margin` from the edge.
  bool is_free(point p, int last) const {
    auto const inside = [](int x) { return margin <= x && x <= pixels * pixel - margin; };
    if (!inside(p.x) || !inside(p.y)) return false;
    constexpr int reach = dash_length + 2 * gap;
    for (int i = 0; i < size_; ++i) {
      dash const& other = (*this)[i];
      if (i == last || std::abs(other.tail.x - p.x) > reach || std::abs(other.tail.y - p.y) > reach)
        continue;
      if (other.is_within(p, 2 * gap - 1)) return false;
    }
    return true;
  }

  std::array<dash, max_dashes> dashes_{};
  int size_ = 0;
};

}  // namespace learning::pathfinder_scene
