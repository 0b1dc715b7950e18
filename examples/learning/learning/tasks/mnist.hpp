// SPDX-License-Identifier: Apache-2.0
// Gray images in the file format of MNIST (IDX), as pixels or as patches.
#pragma once

#include "learning/tasks/text_file.hpp"

#include <array>
#include <string>

namespace learning {

/// `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte` and
/// `t10k-labels-idx1-ubyte`: the decompressed files of MNIST and of the data sets with its format.
/// Images have any size; both splits have the same. Classes are 0 to 9.
///
/// Each row of a sample is a patch of `patch` x `patch` pixels, in row-major order within the image
/// and within the patch. Values are byte / 255. A patch of 1 is a pixel.
class mnist final : public task {
 public:
  explicit mnist(std::filesystem::path const& folder, index_t patch = 1) : patch_(patch) {
    load(folder, "train", training_);
    load(folder, "t10k", test_);
    if (training_.height != test_.height || training_.width != test_.width)
      throw task_error(folder.string() + ": training and test images differ in size");
    if (patch < 1 || test_.height % patch != 0 || test_.width % patch != 0)
      throw task_error("mnist: patches of " + std::to_string(patch) + " do not divide images of " +
                       std::to_string(test_.height) + " x " + std::to_string(test_.width));
  }

  sample_shape shape() const override {
    return {test_.height * test_.width / (patch_ * patch_), patch_ * patch_, 0, 10, 0};
  }
  index_t size(split subset) const override {
    return static_cast<index_t>(images_of(subset).labels.size());
  }
  void write(split subset, index_t index, sample& result) const override {
    images const& source = images_of(subset);
    index_t const first = index * source.height * source.width;
    float* feature = result.features;
    for (index_t first_row = 0; first_row < source.height; first_row += patch_)
      for (index_t first_column = 0; first_column < source.width; first_column += patch_)
        for (index_t y = first_row; y < first_row + patch_; ++y)
          for (index_t x = first_column; x < first_column + patch_; ++x)
            *feature++ =
                static_cast<float>(byte(source.pixels, first + y * source.width + x)) / 255;
    result.length = shape().length;
    result.label = byte(source.labels, index);
  }

 private:
  struct images {
    index_t height = 0, width = 0;
    std::string pixels, labels;  // without headers
  };

  static std::int32_t byte(std::string const& bytes, index_t i) {
    return static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  }
  images const& images_of(split subset) const { return subset == split::test ? test_ : training_; }

  // Reads a header, `{0, 0, 8, Axes}` and big-endian extents, and removes it from the bytes.
  template <std::size_t Axes>
  static std::array<index_t, Axes> read_extents(std::filesystem::path const& path,
                                                std::string& bytes) {
    std::array<index_t, Axes> extents{};
    std::size_t const header = 4 + 4 * Axes;
    if (bytes.size() < header || bytes.compare(0, 4, {0, 0, 8, static_cast<char>(Axes)}) != 0)
      throw task_error(path.string() + " must be a decompressed IDX file of bytes with " +
                       std::to_string(Axes) + (Axes > 1 ? " axes" : " axis"));
    index_t expected = 1;
    for (std::size_t i = 4; i < header; ++i)
      extents[i / 4 - 1] = extents[i / 4 - 1] * 256 + byte(bytes, static_cast<index_t>(i));
    bytes.erase(0, header);
    for (index_t const extent : extents)
      expected = extent > 0 && expected > (index_t{1} << 40) / extent ? -1 : expected * extent;
    if (expected != static_cast<index_t>(bytes.size()))
      throw task_error(path.string() + " has " + std::to_string(bytes.size()) +
                       " bytes after its header, which differs from the header's extents");
    return extents;
  }
  static void load(std::filesystem::path const& folder, std::string const& name, images& result) {
    auto const images_path = folder / (name + "-images-idx3-ubyte");
    auto const labels_path = folder / (name + "-labels-idx1-ubyte");
    std::string const collection = "MNIST or of a data set with its format, decompressed";
    result.pixels = load_file(images_path, collection);
    result.labels = load_file(labels_path, collection);
    auto const extents = read_extents<3>(images_path, result.pixels);
    auto const labels = read_extents<1>(labels_path, result.labels);
    result.height = extents[1], result.width = extents[2];
    if (result.pixels.empty()) throw task_error(images_path.string() + " has no samples");
    if (labels[0] != extents[0])
      throw task_error(labels_path.string() + " has " + std::to_string(labels[0]) +
                       " labels, must have one for each of " + std::to_string(extents[0]) +
                       " images");
    for (index_t i = 0; i < labels[0]; ++i)
      if (byte(result.labels, i) > 9)
        throw task_error(labels_path.string() + ", label " + std::to_string(i) +
                         ": must be 0 to 9");
  }

  index_t patch_;
  images training_, test_;
};

}  // namespace learning
