// SPDX-License-Identifier: Apache-2.0
// Tasks from published files: small files of each format, and errors of missing and wrong files.
#include "learning/tasks/published.hpp"

#include <doctest/doctest.h>

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
stored_sample read(task const& task, split subset, index_t number) {
  stored_sample s;
  s.tokens.assign(static_cast<std::size_t>(task.shape().length), -1);
  s.data.tokens = s.tokens.data();
  task.write(subset, number, s.data);
  return s;
}
std::vector<std::int32_t> bytes_as_tokens(std::string const& text, std::size_t length) {
  std::vector<std::int32_t> tokens;
  for (char const c : text) tokens.push_back(static_cast<unsigned char>(c) + 1);
  tokens.resize(length, 0);
  return tokens;
}
template <class Make>
std::string complaint(Make const& make) {
  try {
    make();
  } catch (task_error const& e) {
    return e.what();
  }
  return "none";
}
bool has(std::string const& message, char const* part) {
  CAPTURE(message);
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ListOps: parentheses are dropped, symbols are those of the generator") {
  folder const f;
  f.write("basic_train.tsv",
          "Source\tTarget\n( ( ( ( [MAX 7 ) 0 ) ( ( ( [MIN 3 ) 4 ) ] ) ) ] )\t7\r\n5\t5\n");
  f.write("basic_test.tsv", "Source\tTarget\n( ( ( [SM 9 ) 9 ) ] )\t8");
  listops_tsv const task(f.path, 12);
  CHECK(task.size(split::training) == 2);
  CHECK(task.size(split::test) == 1);
  stored_sample s = read(task, split::training, 0);
  CHECK(listops_text(s.data) == "[MAX 7 0 [MIN 3 4 ] ]");
  CHECK(s.data.label == 7);
  CHECK(s.data.length == 8);
  CHECK(s.tokens[8] == 0);
  CHECK(read(task, split::training, 1).data.length == 1);
  s = read(task, split::test, 0);
  CHECK(s.data.label == 8);
  CHECK(listops_text(s.data) == "[SM 9 9 ]");
  listops_tsv const cut(f.path, 3);
  CHECK(read(cut, split::training, 0).data.length == 3);

  auto const read = [&] { listops_tsv const again(f.path); };
  f.write("basic_test.tsv", "Source\tTarget\n[SM 9 9 ]\t8\n[SM 9\n");
  CHECK(has(complaint(read), "basic_test.tsv, line 3: must be a list, a tab and its value"));
  f.write("basic_test.tsv", "Source\tTarget\n[SM 9 9 ]\t18\n");
  CHECK(has(complaint(read), "line 2: the value must be a digit"));
  f.write("basic_test.tsv", "Source\tTarget\n[SUM 9 9 ]\t8\n");
  CHECK(has(complaint(read), "line 2: unknown symbol [SUM"));
  f.write("basic_test.tsv", "Source\tTarget\n( )\t8\n");
  CHECK(has(complaint(read), "line 2: the list must not be empty"));
}
TEST_CASE("ListOps: a header, line ends and blank lines") {
  folder const f;
  std::string const header = "Source\tTarget\n", sample = "[MAX 4 7 ]\t7\n";
  for (std::string const name : {"basic_train.tsv", "basic_test.tsv"}) {
    f.write("basic_train.tsv", header + sample), f.write("basic_test.tsv", header + sample);
    auto const read = [&](std::string const& text) {
      f.write(name, text);
      return complaint([&] {
        listops_tsv const task(f.path);
        CHECK(task.size(split::training) == 1);
        CHECK(task.size(split::test) == 1);
      });
    };
    CHECK(read(header + sample) == "none");
    CHECK(read("\xef\xbb\xbf" + header + sample) == "none");  // a byte order mark
    CHECK(read(header + sample + "\n") == "none");
    CHECK(read(header + sample + "\r\n") == "none");
    CHECK(has(read(header + sample + "\n\n"), "line 3: must be a list, a tab and its value"));
    CHECK(has(read(header + "\n" + sample), "line 2: must be a list, a tab and its value"));
    for (std::string const& text :
         {sample, sample + sample, std::string("Source\tTarget\r[MAX 4 7 ]\t7\r")})
      CHECK(has(read(text), "line 1: must be a header: Source, a tab and Target"));
    for (std::string const& text :
         {std::string(), std::string("\n"), header, header + "\n", std::string("Source\tTarget\r")})
      CHECK(has(read(text), (name + " has no samples").c_str()));
  }
}
TEST_CASE("IMDB: bytes of files, in the order of their names") {
  folder const f;
  f.write("train/neg/1_2.txt", "bad\xff");
  f.write("train/pos/0_9.txt", "good");
  f.write("train/pos/ignored.md", "no review");
  f.write("test/neg/a.txt", "worse than that");
  f.write("test/pos/b.txt", "");
  imdb const task(f.path, 6);
  CHECK(task.size(split::training) == 2);
  stored_sample s = read(task, split::training, 0);
  CHECK(s.tokens == bytes_as_tokens("bad\xff", 6));
  CHECK(s.data.label == 0);
  CHECK(s.data.length == 4);
  CHECK(s.tokens[3] == 256);
  CHECK(read(task, split::training, 1).data.label == 1);
  CHECK(read(task, split::test, 0).tokens == bytes_as_tokens("worse ", 6));
  CHECK(read(task, split::test, 1).data.length == 0);
  CHECK(task.shape().vocabulary == 257);
  fs::remove(f.path / "train/pos/0_9.txt");
  CHECK(has(complaint([&] { imdb const again(f.path); }), "has no reviews"));
  fs::remove_all(f.path / "train/pos");
  CHECK(has(complaint([&] { imdb const again(f.path); }), "train/pos is missing"));
}
TEST_CASE("AAN: both texts in one sequence") {
  folder const f;
  f.write("new_aan_pairs.train.tsv", "1.0\tA\tB\tfirst\tsecond\n0\tA\tC\tx\ty\n");
  f.write("new_aan_pairs.test.tsv", "0.0\tA\tB\tlonger than four\tz\n");
  aan const task(f.path, 4);
  CHECK(task.size(split::training) == 2);
  stored_sample s = read(task, split::training, 0);
  CHECK(s.data.label == 1);
  CHECK(s.data.length == 9);
  std::vector<std::int32_t> expected = bytes_as_tokens("firs", 4);
  expected.push_back(aan::separator);
  for (std::int32_t const t : bytes_as_tokens("seco", 4)) expected.push_back(t);
  CHECK(s.tokens == expected);
  CHECK(read(task, split::training, 1).data.length == 3);
  CHECK(read(task, split::test, 0).data.length == 6);
  f.write("new_aan_pairs.test.tsv", "2\tA\tB\tx\ty\n");
  CHECK(has(complaint([&] { aan const again(f.path); }), "line 1: the label must be 0 or 1"));
  f.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\n");
  CHECK(has(complaint([&] { aan const again(f.path); }), "two names and two texts"));
  f.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\ty\n\n");
  CHECK(aan(f.path).size(split::test) == 1);
  f.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\ty\r0\tA\tB\tx\ty\r");
  CHECK(has(complaint([&] { aan const again(f.path); }), "two names and two texts"));
  for (char const* text : {"", "\n"}) {
    f.write("new_aan_pairs.test.tsv", text);
    CHECK(
        has(complaint([&] { aan const again(f.path); }), "new_aan_pairs.test.tsv has no samples"));
  }
}
TEST_CASE("CIFAR-10: gray by TensorFlow's weights") {
  CHECK(cifar10::gray(0, 0, 0) == 0);
  CHECK(cifar10::gray(255, 255, 255) == 255);  // .9999 * 255.5 = 255.47
  CHECK(cifar10::gray(255, 0, 0) == 76);       // .2989 * 255.5 = 76.37
  CHECK(cifar10::gray(0, 255, 0) == 149);      // .587 * 255.5 = 149.98
  CHECK(cifar10::gray(0, 0, 255) == 29);       // .114 * 255.5 = 29.13
  folder const f;
  std::string record(cifar10::record, '\0');
  record[0] = 3;
  record[1] = '\xff';                               // red of pixel 0
  record[1 + 2 * cifar10::pixels + 1023] = '\xff';  // blue of the last one
  for (char const n : {'1', '2', '3', '4', '5'})
    f.write(std::string("data_batch_") + n + ".bin", record + record);
  f.write("test_batch.bin", record);
  cifar10 const task(f.path);
  CHECK(task.size(split::training) == 10);
  CHECK(task.size(split::test) == 1);
  stored_sample const s = read(task, split::test, 0);
  CHECK(s.data.label == 3);
  CHECK(s.tokens[0] == 76);
  CHECK(s.tokens[1] == 0);
  CHECK(s.tokens[1023] == 29);
  f.write("test_batch.bin", record + "x");
  CHECK(has(complaint([&] { cifar10 const again(f.path); }), "has 3074 bytes"));
  record[0] = 10;
  f.write("test_batch.bin", record);
  CHECK(has(complaint([&] { cifar10 const again(f.path); }), "record 0: the label must be 0 to 9"));
}
TEST_CASE("missing files, and folders instead of files, have an error message") {
  std::string const list = "Source\tTarget\n[MAX 4 7 ]\t7\n", papers = "1\tA\tB\tx\ty\n";
  std::string const images(cifar10::record, '\0');
  folder const f;
  auto const check = [&](std::map<std::string, std::string> const& files, auto const& read) {
    for (auto const& [name, bytes] : files) f.write(name, bytes);
    CHECK(complaint(read) == "none");
    for (auto const& [name, bytes] : files) {
      std::string const cannot = "cannot read " + (f.path / name).string() + ": ";
      fs::remove(f.path / name), fs::create_directory(f.path / name);
      CHECK(has(complaint(read), (cannot + "Is a directory; it is one of the files of ").c_str()));
      fs::remove(f.path / name);
      std::string const missing = complaint(read);
      if (name.find("/neg/") == std::string::npos)
        CHECK(has(missing, (cannot + "No such file or directory; it is one of").c_str()));
      f.write(name, bytes);
    }
  };
  check({{"basic_train.tsv", list}, {"basic_test.tsv", list}},
        [&] { listops_tsv const t(f.path); });
  check({{"new_aan_pairs.train.tsv", papers}, {"new_aan_pairs.test.tsv", papers}},
        [&] { aan const t(f.path); });
  check({{"data_batch_1.bin", images},
         {"data_batch_2.bin", images},
         {"data_batch_3.bin", images},
         {"data_batch_4.bin", images},
         {"data_batch_5.bin", images},
         {"test_batch.bin", images}},
        [&] { cifar10 const t(f.path); });
  for (char const* other : {"train/pos/a.txt", "test/neg/a.txt", "test/pos/a.txt"})
    f.write(other, "good");
  check({{"train/neg/x.txt", "bad"}}, [&] { imdb const t(f.path); });
}
