// SPDX-License-Identifier: Apache-2.0
// Tasks from published files: small files of each format, and errors of missing and wrong files.
#include "learning/tasks/mnist.hpp"
#include "learning/tasks/published.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace learning;
namespace fs = std::filesystem;

namespace {

// A temporary folder.
struct folder {
  fs::path path = fs::current_path() / "learning_files_test";

  folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  folder(folder const&) = delete;
  ~folder() { fs::remove_all(path); }

  void write(std::string const& name, std::string const& bytes) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
};

struct stored_sample {
  std::vector<std::int32_t> tokens;
  sample data;
};
stored_sample read_sample(task const& task, split subset, index_t index) {
  stored_sample s;
  s.tokens.assign(static_cast<std::size_t>(task.shape().length), -1);
  s.data.tokens = s.tokens.data();
  task.write(subset, index, s.data);
  return s;
}
std::vector<std::int32_t> bytes_as_tokens(std::string const& text, std::size_t length) {
  std::vector<std::int32_t> tokens;
  for (char const character : text) tokens.push_back(static_cast<unsigned char>(character) + 1);
  tokens.resize(length, 0);
  return tokens;
}
template <class Make>
std::string error_of(Make const& make) {
  try {
    make();
  } catch (task_error const& e) {
    return e.what();
  }
  return "none";
}
bool contains(std::string const& message, char const* part) {
  CAPTURE(message);
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ListOps: parentheses are dropped, symbols are those of the generator") {
  folder const directory;
  directory.write("basic_train.tsv",
                  "Source\tTarget\n( ( ( ( [MAX 7 ) 0 ) ( ( ( [MIN 3 ) 4 ) ] ) ) ] )\t7\r\n5\t5\n");
  directory.write("basic_test.tsv", "Source\tTarget\n( ( ( [SM 9 ) 9 ) ] )\t8");
  listops_tsv const task(directory.path, 12);
  CHECK(task.size(split::training) == 2);
  CHECK(task.size(split::test) == 1);
  stored_sample s = read_sample(task, split::training, 0);
  CHECK(listops_text(s.data) == "[MAX 7 0 [MIN 3 4 ] ]");
  CHECK(s.data.label == 7);
  CHECK(s.data.length == 8);
  CHECK(s.tokens[8] == 0);
  CHECK(read_sample(task, split::training, 1).data.length == 1);
  s = read_sample(task, split::test, 0);
  CHECK(s.data.label == 8);
  CHECK(listops_text(s.data) == "[SM 9 9 ]");
  listops_tsv const cut(directory.path, 3);
  CHECK(read_sample(cut, split::training, 0).data.length == 3);

  auto const read_sample = [&] { listops_tsv const again(directory.path); };
  directory.write("basic_test.tsv", "Source\tTarget\n[SM 9 9 ]\t8\n[SM 9\n");
  CHECK(contains(error_of(read_sample),
                 "basic_test.tsv, line 3: must be a list, a tab and its value"));
  directory.write("basic_test.tsv", "Source\tTarget\n[SM 9 9 ]\t18\n");
  CHECK(contains(error_of(read_sample), "line 2: the value must be a digit"));
  directory.write("basic_test.tsv", "Source\tTarget\n[SUM 9 9 ]\t8\n");
  CHECK(contains(error_of(read_sample), "line 2: unknown symbol [SUM"));
  directory.write("basic_test.tsv", "Source\tTarget\n( )\t8\n");
  CHECK(contains(error_of(read_sample), "line 2: the list must not be empty"));
}
TEST_CASE("ListOps: a header, line ends and blank lines") {
  folder const directory;
  std::string const header = "Source\tTarget\n", sample = "[MAX 4 7 ]\t7\n";
  for (std::string const name : {"basic_train.tsv", "basic_test.tsv"}) {
    directory.write("basic_train.tsv", header + sample),
        directory.write("basic_test.tsv", header + sample);
    auto const read_sample = [&](std::string const& text) {
      directory.write(name, text);
      return error_of([&] {
        listops_tsv const task(directory.path);
        CHECK(task.size(split::training) == 1);
        CHECK(task.size(split::test) == 1);
      });
    };
    CHECK(read_sample(header + sample) == "none");
    CHECK(read_sample("\xef\xbb\xbf" + header + sample) == "none");  // a byte order mark
    CHECK(read_sample(header + sample + "\n") == "none");
    CHECK(read_sample(header + sample + "\r\n") == "none");
    CHECK(contains(read_sample(header + sample + "\n\n"),
                   "line 3: must be a list, a tab and its value"));
    CHECK(contains(read_sample(header + "\n" + sample),
                   "line 2: must be a list, a tab and its value"));
    for (std::string const& text :
         {sample, sample + sample, std::string("Source\tTarget\r[MAX 4 7 ]\t7\r")})
      CHECK(contains(read_sample(text), "line 1: must be a header: Source, a tab and Target"));
    for (std::string const& text :
         {std::string(), std::string("\n"), header, header + "\n", std::string("Source\tTarget\r")})
      CHECK(contains(read_sample(text), (name + " has no samples").c_str()));
  }
}
TEST_CASE("IMDB: bytes of files, in the order of their names") {
  folder const directory;
  directory.write("train/neg/1_2.txt", "bad\xff");
  directory.write("train/pos/0_9.txt", "good");
  directory.write("train/pos/ignored.md", "no review");
  directory.write("test/neg/a.txt", "worse than that");
  directory.write("test/pos/b.txt", "");
  imdb const task(directory.path, 6);
  CHECK(task.size(split::training) == 2);
  stored_sample s = read_sample(task, split::training, 0);
  CHECK(s.tokens == bytes_as_tokens("bad\xff", 6));
  CHECK(s.data.label == 0);
  CHECK(s.data.length == 4);
  CHECK(s.tokens[3] == 256);
  CHECK(read_sample(task, split::training, 1).data.label == 1);
  CHECK(read_sample(task, split::test, 0).tokens == bytes_as_tokens("worse ", 6));
  CHECK(read_sample(task, split::test, 1).data.length == 0);
  CHECK(task.shape().vocabulary == 257);
  fs::remove(directory.path / "train/pos/0_9.txt");
  CHECK(contains(error_of([&] { imdb const again(directory.path); }), "has no reviews"));
  fs::remove_all(directory.path / "train/pos");
  CHECK(contains(error_of([&] { imdb const again(directory.path); }), "train/pos is missing"));
}
TEST_CASE("AAN: both texts in one sequence") {
  folder const directory;
  directory.write("new_aan_pairs.train.tsv", "1.0\tA\tB\tfirst\tsecond\n0\tA\tC\tx\ty\n");
  directory.write("new_aan_pairs.test.tsv", "0.0\tA\tB\tlonger than four\tz\n");
  aan const task(directory.path, 4);
  CHECK(task.size(split::training) == 2);
  stored_sample s = read_sample(task, split::training, 0);
  CHECK(s.data.label == 1);
  CHECK(s.data.length == 9);
  std::vector<std::int32_t> expected = bytes_as_tokens("firs", 4);
  expected.push_back(aan::separator);
  for (std::int32_t const token : bytes_as_tokens("seco", 4)) expected.push_back(token);
  CHECK(s.tokens == expected);
  CHECK(read_sample(task, split::training, 1).data.length == 3);
  CHECK(read_sample(task, split::test, 0).data.length == 6);
  directory.write("new_aan_pairs.test.tsv", "2\tA\tB\tx\ty\n");
  CHECK(contains(error_of([&] { aan const again(directory.path); }),
                 "line 1: the label must be 0 or 1"));
  directory.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\n");
  CHECK(contains(error_of([&] { aan const again(directory.path); }), "two names and two texts"));
  directory.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\ty\n\n");
  CHECK(aan(directory.path).size(split::test) == 1);
  directory.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\ty\r0\tA\tB\tx\ty\r");
  CHECK(contains(error_of([&] { aan const again(directory.path); }), "two names and two texts"));
  for (char const* text : {"", "\n"}) {
    directory.write("new_aan_pairs.test.tsv", text);
    CHECK(contains(error_of([&] { aan const again(directory.path); }),
                   "new_aan_pairs.test.tsv has no samples"));
  }
}
TEST_CASE("CIFAR-10: gray by TensorFlow's weights") {
  CHECK(cifar10::gray(0, 0, 0) == 0);
  CHECK(cifar10::gray(255, 255, 255) == 255);  // .9999 * 255.5 = 255.47
  CHECK(cifar10::gray(255, 0, 0) == 76);       // .2989 * 255.5 = 76.37
  CHECK(cifar10::gray(0, 255, 0) == 149);      // .587 * 255.5 = 149.98
  CHECK(cifar10::gray(0, 0, 255) == 29);       // .114 * 255.5 = 29.13
  folder const directory;
  std::string record(cifar10::record, '\0');
  record[0] = 3;
  record[1] = '\xff';                               // red of pixel 0
  record[1 + 2 * cifar10::pixels + 1023] = '\xff';  // blue of the last one
  for (char const n : {'1', '2', '3', '4', '5'})
    directory.write(std::string("data_batch_") + n + ".bin", record + record);
  directory.write("test_batch.bin", record);
  cifar10 const task(directory.path);
  CHECK(task.size(split::training) == 10);
  CHECK(task.size(split::test) == 1);
  stored_sample const s = read_sample(task, split::test, 0);
  CHECK(s.data.label == 3);
  CHECK(s.tokens[0] == 76);
  CHECK(s.tokens[1] == 0);
  CHECK(s.tokens[1023] == 29);
  directory.write("test_batch.bin", record + "x");
  CHECK(contains(error_of([&] { cifar10 const again(directory.path); }), "has 3074 bytes"));
  record[0] = 10;
  directory.write("test_batch.bin", record);
  CHECK(contains(error_of([&] { cifar10 const again(directory.path); }),
                 "record 0: the label must be 0 to 9"));
}
TEST_CASE("MNIST: patches of IDX files") {
  folder const directory;
  auto const write = [&](std::string const& name, std::string const& extents,
                         std::string const& bytes) {
    std::string header(3 + 4 * extents.size() + 1, '\0');
    header[2] = 8, header[3] = static_cast<char>(extents.size());
    for (std::size_t i = 0; i < extents.size(); ++i) header[4 + 4 * i + 3] = extents[i];
    directory.write(name, header + bytes);
  };
  std::string const images = "train-images-idx3-ubyte", labels = "train-labels-idx1-ubyte";
  std::string const test_images = "t10k-images-idx3-ubyte";
  std::string ramp;
  for (int i = 0; i < 16; ++i) ramp += static_cast<char>(17 * (i % 16));
  std::string const two_by_eight({2, 2, 4}), two({2});
  write(images, two_by_eight, ramp), write(labels, two, {3, 9});
  write(test_images, {1, 2, 4}, ramp.substr(8)), write("t10k-labels-idx1-ubyte", {1}, {0});
  auto const features = [](mnist const& task, split subset, index_t index, std::int32_t label) {
    sample_shape const shape = task.shape();
    std::vector<float> values(static_cast<std::size_t>(shape.length * shape.features), -1.0F);
    sample data;
    data.features = values.data();
    task.write(subset, index, data);
    CHECK(data.length == shape.length);
    CHECK(data.label == label);
    std::vector<int> fifteenths;  // 17 / 255 = 1 / 15
    for (float const value : values) {
      fifteenths.push_back(static_cast<int>(std::lround(15 * value)));
      CHECK(value == static_cast<float>(17 * fifteenths.back()) / 255);
    }
    return fifteenths;
  };
  mnist const pixels(directory.path), patches(directory.path, 2);
  CHECK(pixels.size(split::training) == 2);
  CHECK(pixels.size(split::test) == 1);
  CHECK(pixels.shape().length == 8);
  CHECK(patches.shape().length == 2);
  CHECK(patches.shape().features == 4);
  CHECK(patches.shape().outputs == 10);
  CHECK(features(pixels, split::training, 0, 3) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(features(patches, split::training, 0, 3) == std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(features(patches, split::training, 1, 9) == std::vector<int>{8, 9, 12, 13, 10, 11, 14, 15});
  CHECK(features(pixels, split::test, 0, 0) == std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15});

  auto const error = [&](index_t patch = 1) {
    return error_of([&] { mnist const again(directory.path, patch); });
  };
  CHECK(contains(error(4), "patches of 4 do not divide images of 2 x 4"));
  CHECK(contains(error(0), "patches of 0 do not divide"));
  write(images, {2, 4, 2}, ramp);
  CHECK(contains(error(), "training and test images differ in size"));
  write(images, two_by_eight, ramp + "x");
  CHECK(contains(error(), "train-images-idx3-ubyte has 17 bytes after its header"));
  write(images, {127, 127, 127}, ramp);
  CHECK(contains(error(), "train-images-idx3-ubyte has 16 bytes after its header"));
  write(images, two, ramp.substr(0, 2));
  CHECK(contains(error(), "must be a decompressed IDX file of bytes with 3 axes"));
  directory.write(images, "\x1f\x8b");
  CHECK(contains(error(), "must be a decompressed IDX file of bytes with 3 axes"));
  directory.write(images, std::string("\0\0\x8\x3", 4) + std::string(12, '\xff') + ramp);
  CHECK(contains(error(), "has 16 bytes after its header"));  // 2^96 values
  write(images, {0, 2, 4}, "");
  CHECK(contains(error(), "train-images-idx3-ubyte has no samples"));
  write(images, two_by_eight, ramp), write(labels, {3}, {1, 2, 3});
  CHECK(contains(error(), "has 3 labels, must have one for each of 2 images"));
  write(labels, two, {1, 10});
  CHECK(contains(error(), "label 1: must be 0 to 9"));
}
TEST_CASE("missing files, and folders instead of files, have an error message") {
  std::string const list = "Source\tTarget\n[MAX 4 7 ]\t7\n", papers = "1\tA\tB\tx\ty\n";
  std::string const images(cifar10::record, '\0');
  folder const directory;
  auto const check = [&](std::map<std::string, std::string> const& files, auto const& read_sample) {
    for (auto const& [name, bytes] : files) directory.write(name, bytes);
    CHECK(error_of(read_sample) == "none");
    for (auto const& [name, bytes] : files) {
      std::string const cannot = "cannot read " + (directory.path / name).string() + ": ";
      fs::remove(directory.path / name), fs::create_directory(directory.path / name);
      CHECK(contains(error_of(read_sample),
                     (cannot + "Is a directory; it is one of the files of ").c_str()));
      fs::remove(directory.path / name);
      std::string const missing = error_of(read_sample);
      if (name.find("/neg/") == std::string::npos)
        CHECK(contains(missing, (cannot + "No such file or directory; it is one of").c_str()));
      directory.write(name, bytes);
    }
  };
  check({{"basic_train.tsv", list}, {"basic_test.tsv", list}},
        [&] { listops_tsv const task(directory.path); });
  check({{"new_aan_pairs.train.tsv", papers}, {"new_aan_pairs.test.tsv", papers}},
        [&] { aan const task(directory.path); });
  check({{"data_batch_1.bin", images},
         {"data_batch_2.bin", images},
         {"data_batch_3.bin", images},
         {"data_batch_4.bin", images},
         {"data_batch_5.bin", images},
         {"test_batch.bin", images}},
        [&] { cifar10 const task(directory.path); });
  std::string const image("\0\0\x8\3\0\0\0\1\0\0\0\1\0\0\0\1x", 17), label("\0\0\x8\1\0\0\0\1", 9);
  check({{"train-images-idx3-ubyte", image},
         {"train-labels-idx1-ubyte", label},
         {"t10k-images-idx3-ubyte", image},
         {"t10k-labels-idx1-ubyte", label}},
        [&] { mnist const task(directory.path); });
  for (char const* other : {"train/pos/a.txt", "test/neg/a.txt", "test/pos/a.txt"})
    directory.write(other, "good");
  check({{"train/neg/x.txt", "bad"}}, [&] { imdb const task(directory.path); });
}
