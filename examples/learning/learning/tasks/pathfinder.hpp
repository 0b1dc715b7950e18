// SPDX-License-Identifier: Apache-2.0
// Pathfinder: are two disks at the ends of one dashed path?
#pragma once

#include "learning/task.hpp"
#include "learning/tasks/pathfinder_scene.hpp"

#include <algorithm>
#include <cstdint>

namespace learning {

/// Our Pathfinder: images of 32 x 32 gray values, 1024 tokens 0 to 255 in row-major order, with two
/// target paths of `dashes` dashes, and distractors of a third of that. One disk marks the first
/// dash of a target path. The other disk marks the last dash of the same path (class 1) or of the
/// other (class 0).
///
/// Sizes and contrasts are those of the Long Range Arena (6, 9 or 14 dashes: easy, medium, hard),
/// with the generator of Linsley et al. ("Learning long-range spatial dependencies with horizontal
/// gated recurrent units", NeurIPS 2018). The images are not the published ones: dashes are drawn
/// by the covered share of a pixel instead of a reduced image, and have 64 directions. Attempt a of
/// sample s uses random stream `s 2^20 + a`. Attempts repeat until both target paths have room.
class pathfinder final : public task {
 public:
  struct size_config {
    index_t dashes = 14, single_dashes = 0;  ///< per target path; more distractors of one dash
    std::uint64_t seed = 1;
    index_t training_samples = 160000, test_samples = 20000;
  };
  /// The objects of an image.
  struct content {
    pathfinder_scene::scene paths;
    pathfinder_scene::point disks[2];
    std::int32_t label;
  };

  explicit pathfinder(size_config size) : size_(size) {
    if (size.dashes < 3 || size.dashes > 14)
      throw task_error("pathfinder: the paths must have 3 to 14 dashes");
  }

  sample_shape shape() const override { return {rows * rows, 0, 256, 2, 0}; }
  index_t size(split subset) const override {
    return subset == split::test ? size_.test_samples : size_.training_samples;
  }
  void write(split subset, index_t index, sample& result) const override {
    content const objects = make_content(subset, index);
    draw(objects, result.tokens);
    result.length = rows * rows, result.label = objects.label;
  }

  content make_content(split subset, index_t index) const {
    constexpr index_t max_attempts = index_t{1} << 20;
    index_t const first = (index + (subset == split::test ? first_test_sample : 0)) * max_attempts;
    for (index_t a = 0; a < max_attempts; ++a) {
      content result{};
      pathfinder_scene::draws random{{size_.seed, static_cast<std::uint64_t>(first + a)}};
      int const dashes = static_cast<int>(size_.dashes), short_path = dashes / 3;
      if (!result.paths.add_targets(random, dashes)) continue;
      for (int i = 0; i < 20 / short_path; ++i) result.paths.add_distractor(random, short_path);
      for (index_t i = 0; i < size_.single_dashes; ++i) result.paths.add_distractor(random, 1);
      add_disks(random, dashes, result);
      return result;
    }
    throw task_error("pathfinder: no paths that fit were found");
  }

 private:
  static constexpr int rows = pathfinder_scene::pixels;
  // Twice the contrasts of target paths, distractors and disks.
  static constexpr int target_contrast = 3, distractor_contrast = 4, disk_contrast = 2;
  static constexpr int thickness = pathfinder_scene::pixel / 2;
  static constexpr int disk_radius = 3 * pathfinder_scene::pixel / 2;

  static void add_disks(pathfinder_scene::draws& random, int dashes, content& result) {
    result.label = random.below(2);
    int const start = random.below(2), end = result.label == 1 ? start : 1 - start;
    result.disks[0] = result.paths[start].tail;
    result.disks[1] = result.paths[2 * (dashes - 1) + end].head;
  }

  // Draws all objects, the brightest on top, and scales the maximum to 255.
  void draw(content const& objects, std::int32_t* image) const {
    using namespace pathfinder_scene;
    std::fill_n(image, rows * rows, 0);
    for (int i = 0; i < objects.paths.size(); ++i) {
      dash const& line = objects.paths[i];
      point const center{(line.tail.x + line.head.x) / 2, (line.tail.y + line.head.y) / 2};
      add_shape(center, (dash_length + thickness) / 2,
                i < 2 * size_.dashes ? target_contrast : distractor_contrast, image,
                [&](point p) { return line.is_within(p, thickness / 2); });
    }
    for (point const& disk : objects.disks)
      add_shape(disk, disk_radius, disk_contrast, image, [&](point p) {
        int const x = p.x - disk.x, y = p.y - disk.y;
        return x * x + y * y <= disk_radius * disk_radius;
      });
    std::int32_t const greatest = *std::max_element(image, image + rows * rows);
    for (int i = 0; i < rows * rows; ++i) image[i] = image[i] * 255 / greatest;
  }
  // Adds a shape around `center`, at most `radius` away: contrast times the number of 8 x 8 points
  // of a pixel that it covers.
  template <class Contains>
  static void add_shape(pathfinder_scene::point center, int radius, int contrast,
                        std::int32_t* image, Contains const& contains) {
    using pathfinder_scene::pixel;
    constexpr int points = 8, step = pixel / points;
    for (int i = (center.y - radius) / pixel; i <= (center.y + radius) / pixel; ++i)
      for (int j = (center.x - radius) / pixel; j <= (center.x + radius) / pixel; ++j) {
        std::int32_t covered = 0;
        for (int y = 0; y < points; ++y)
          for (int x = 0; x < points; ++x)
            covered += contains({j * pixel + x * step + step / 2, i * pixel + y * step + step / 2});
        image[i * rows + j] = std::max(image[i * rows + j], contrast * covered);
      }
  }

  size_config size_;
};

}  // namespace learning
