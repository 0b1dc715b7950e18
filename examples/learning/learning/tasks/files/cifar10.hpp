// SPDX-License-Identifier: Apache-2.0
// CIFAR-10 in gray, pixel by pixel: the Long Range Arena's image task.
#pragma once

#include "learning/tasks/files/text_file.hpp"

namespace learning {

/// The binary version's `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`: records of a
/// label and the red, green and blue values of 32 x 32 pixels. A sample has 1024 tokens of 0 to
/// 255: gray by TensorFlow's weights, .2989, .587 and .114, of values up to 1, and back to 8 bits,
/// 255.5 times the gray without its fraction.
class cifar10 final : public loaded_task {
 public:
  static constexpr std::size_t pixels = 1024, record = 1 + 3 * pixels;

  explicit cifar10(std::filesystem::path const& folder) : loaded_task({pixels, 0, 256, 10, 0}) {
    for (char const number : {'1', '2', '3', '4', '5'})
      load(folder / (std::string("data_batch_") + number + ".bin"), split::training);
    load(folder / "test_batch.bin", split::test);
  }

  static std::int32_t gray(unsigned char red, unsigned char green, unsigned char blue) {
    double const sum = (0.2989 * red + 0.587 * green + 0.114 * blue) / 255;
    return static_cast<std::int32_t>(std::min(255.0, sum * 255.5));
  }

 private:
  void load(std::filesystem::path const& path, split to) {
    std::string const bytes = whole_file(path, "CIFAR-10's binary version, cifar-10-batches-bin");
    if (bytes.empty() || bytes.size() % record != 0)
      throw task_error(path.string() + " has " + std::to_string(bytes.size()) +
                       " bytes, must have whole records of 3073");
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
      if (byte(0) > 9)
        throw task_error(path.string() + ", record " + std::to_string(at / record) +
                         ": the label must be 0 to 9");
      of(to).sample_of(byte(0), pixels, [&](std::vector<std::int32_t>& tokens) {
        for (std::size_t i = 1; i <= pixels; ++i)
          tokens.push_back(gray(byte(i), byte(pixels + i), byte(2 * pixels + i)));
      });
    }
  }
};

}  // namespace learning
