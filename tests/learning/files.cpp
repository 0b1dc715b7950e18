// SPDX-License-Identifier: Apache-2.0
// Readers of published files: tiny files of each format, and what is said of missing and wrong
// ones.
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

// A folder for one test.
struct folder {
  fs::path at = fs::current_path() / "learning_files_test";

  folder() {
    fs::remove_all(at);
    fs::create_directories(at);
  }
  folder(folder const&) = delete;
  ~folder() { fs::remove_all(at); }

  void write(std::string const& name, std::string const& bytes) const {
    fs::create_directories((at / name).parent_path());
    std::ofstream(at / name, std::ios::binary) << bytes;
  }
};

struct read_sample {
  std::vector<std::int32_t> tokens;
  sample of;
};
read_sample take(task const& from, split which, index_t number) {
  read_sample s;
  s.tokens.assign(static_cast<std::size_t>(from.shape().length), -1);
  s.of.tokens = s.tokens.data();
  from.write(which, number, s.of);
  return s;
}
std::vector<std::int32_t> bytes_as_tokens(std::string const& text, std::size_t length) {
  std::vector<std::int32_t> all;
  for (char const c : text) all.push_back(static_cast<unsigned char>(c) + 1);
  all.resize(length, 0);
  return all;
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
bool has(std::string const& said, char const* part) {
  CAPTURE(said);
  return said.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ListOps: parentheses are dropped, symbols are those of the generator") {
  folder const f;
  f.write("basic_train.tsv",
          "Source\tTarget\n( ( ( ( [MAX 7 ) 0 ) ( ( ( [MIN 3 ) 4 ) ] ) ) ] )\t7\r\n5\t5\n");
  f.write("basic_test.tsv", "Source\tTarget\n( ( ( [SM 9 ) 9 ) ] )\t8");
  listops_tsv const task(f.at, 12);
  CHECK(task.size(split::training) == 2);
  CHECK(task.size(split::test) == 1);
  read_sample s = take(task, split::training, 0);
  CHECK(listops_text(s.of) == "[MAX 7 0 [MIN 3 4 ] ]");
  CHECK(s.of.label == 7);
  CHECK(s.of.length == 8);
  CHECK(s.tokens[8] == 0);
  CHECK(take(task, split::training, 1).of.length == 1);
  s = take(task, split::test, 0);
  CHECK(s.of.label == 8);
  CHECK(listops_text(s.of) == "[SM 9 9 ]");
  listops_tsv const cut(f.at, 3);
  CHECK(take(cut, split::training, 0).of.length == 3);

  auto const read = [&] { listops_tsv const again(f.at); };
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
        listops_tsv const task(f.at);
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
  imdb const task(f.at, 6);
  CHECK(task.size(split::training) == 2);
  read_sample s = take(task, split::training, 0);
  CHECK(s.tokens == bytes_as_tokens("bad\xff", 6));
  CHECK(s.of.label == 0);
  CHECK(s.of.length == 4);
  CHECK(s.tokens[3] == 256);
  CHECK(take(task, split::training, 1).of.label == 1);
  CHECK(take(task, split::test, 0).tokens == bytes_as_tokens("worse ", 6));
  CHECK(take(task, split::test, 1).of.length == 0);
  CHECK(task.shape().vocabulary == 257);
  fs::remove(f.at / "train/pos/0_9.txt");
  CHECK(has(complaint([&] { imdb const again(f.at); }), "has no reviews"));
  fs::remove_all(f.at / "train/pos");
  CHECK(has(complaint([&] { imdb const again(f.at); }), "train/pos is missing"));
}
TEST_CASE("AAN: both texts in one sequence") {
  folder const f;
  f.write("new_aan_pairs.train.tsv", "1.0\tA\tB\tfirst\tsecond\n0\tA\tC\tx\ty\n");
  f.write("new_aan_pairs.test.tsv", "0.0\tA\tB\tlonger than four\tz\n");
  aan const task(f.at, 4);
  CHECK(task.size(split::training) == 2);
  read_sample s = take(task, split::training, 0);
  CHECK(s.of.label == 1);
  CHECK(s.of.length == 9);
  std::vector<std::int32_t> expected = bytes_as_tokens("firs", 4);
  expected.push_back(aan::separator);
  for (std::int32_t const t : bytes_as_tokens("seco", 4)) expected.push_back(t);
  CHECK(s.tokens == expected);
  CHECK(take(task, split::training, 1).of.length == 3);
  CHECK(take(task, split::test, 0).of.length == 6);
  f.write("new_aan_pairs.test.tsv", "2\tA\tB\tx\ty\n");
  CHECK(has(complaint([&] { aan const again(f.at); }), "line 1: the label must be 0 or 1"));
  f.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\n");
  CHECK(has(complaint([&] { aan const again(f.at); }), "two names and two texts"));
  f.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\ty\n\n");
  CHECK(aan(f.at).size(split::test) == 1);
  f.write("new_aan_pairs.test.tsv", "1\tA\tB\tx\ty\r0\tA\tB\tx\ty\r");
  CHECK(has(complaint([&] { aan const again(f.at); }), "two names and two texts"));
  for (char const* text : {"", "\n"}) {
    f.write("new_aan_pairs.test.tsv", text);
    CHECK(has(complaint([&] { aan const again(f.at); }), "new_aan_pairs.test.tsv has no samples"));
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
  cifar10 const task(f.at);
  CHECK(task.size(split::training) == 10);
  CHECK(task.size(split::test) == 1);
  read_sample const s = take(task, split::test, 0);
  CHECK(s.of.label == 3);
  CHECK(s.tokens[0] == 76);
  CHECK(s.tokens[1] == 0);
  CHECK(s.tokens[1023] == 29);
  f.write("test_batch.bin", record + "x");
  CHECK(has(complaint([&] { cifar10 const again(f.at); }), "has 3074 bytes"));
  record[0] = 10;
  f.write("test_batch.bin", record);
  CHECK(has(complaint([&] { cifar10 const again(f.at); }), "record 0: the label must be 0 to 9"));
}
TEST_CASE("files that are missing, and folders in their place, have a sentence") {
  std::string const list = "Source\tTarget\n[MAX 4 7 ]\t7\n", papers = "1\tA\tB\tx\ty\n";
  std::string const images(cifar10::record, '\0');
  folder const f;
  auto const check = [&](std::map<std::string, std::string> const& files, auto const& read) {
    for (auto const& [name, bytes] : files) f.write(name, bytes);
    CHECK(complaint(read) == "none");
    for (auto const& [name, bytes] : files) {
      std::string const cannot = "cannot read " + (f.at / name).string() + ": ";
      fs::remove(f.at / name), fs::create_directory(f.at / name);
      CHECK(has(complaint(read), (cannot + "Is a directory; it is one of the files of ").c_str()));
      fs::remove(f.at / name);
      std::string const missing = complaint(read);
      if (name.find("/neg/") == std::string::npos)
        CHECK(has(missing, (cannot + "No such file or directory; it is one of").c_str()));
      f.write(name, bytes);
    }
  };
  check({{"basic_train.tsv", list}, {"basic_test.tsv", list}}, [&] { listops_tsv const t(f.at); });
  check({{"new_aan_pairs.train.tsv", papers}, {"new_aan_pairs.test.tsv", papers}},
        [&] { aan const t(f.at); });
  check({{"data_batch_1.bin", images},
         {"data_batch_2.bin", images},
         {"data_batch_3.bin", images},
         {"data_batch_4.bin", images},
         {"data_batch_5.bin", images},
         {"test_batch.bin", images}},
        [&] { cifar10 const t(f.at); });
  for (char const* other : {"train/pos/a.txt", "test/neg/a.txt", "test/pos/a.txt"})
    f.write(other, "good");
  check({{"train/neg/x.txt", "bad"}}, [&] { imdb const t(f.at); });
}
