// SPDX-License-Identifier: Apache-2.0
// safetensors files: exact bytes, round trips, and every error message. If the environment variable
// LEARNING_SAFETENSORS_FILE is a path, writes a checkpoint there for check_safetensors.py.
#include "learning/files/safetensors.hpp"
#include "learning/checkpoint.hpp"
#include "learning/parameters.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

using namespace learning;
using namespace std::string_literals;

namespace {

std::string const path = "learning_safetensors_test.safetensors";

std::string read_bytes(std::string const& file) {
  std::ifstream input(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(input), {}};
}
// Returns a file with a header and `data_bytes` bytes of data.
std::string make_file(std::string const& header, std::size_t data_bytes = 0) {
  std::string length_prefix(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    length_prefix[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length_prefix + header + std::string(data_bytes, 'x');
}
std::string error_of(std::string const& file) {
  try {
    read_tensors(file);
  } catch (checkpoint_error const& e) {
    return e.what();
  }
  return "accepted";
}
bool check_error(std::string const& header, std::size_t data_bytes, char const* expected_error) {
  std::string const outcome = error_of(make_file(header, data_bytes));
  CAPTURE(outcome);
  CHECK(outcome.find(expected_error) != std::string::npos);
  return true;
}
std::string tensor_entry(char const* offsets, char const* shape = "[1]",
                         char const* dtype = "F32") {
  return std::string("{\"dtype\":\"") + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

}  // namespace

TEST_CASE("a small file, byte by byte") {
  std::vector<float> const b = {1, 2}, a = {-0.5F};
  save_tensors(path, {{"b", "F32", {2, 1}, b.data(), 8}, {"a", "F32", {}, a.data(), 4}},
               {{"step", "7"}});
  std::string const header =
      "{\"__metadata__\":{\"step\":\"7\"},\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":"
      "[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[4,12]}}";
  std::string expected = "\x90";
  expected += std::string(7, '\0') + header + std::string(144 - header.size(), ' ');
  for (float const value : {-0.5F, 1.0F, 2.0F}) {
    char bytes[4];
    std::memcpy(bytes, &value, 4);
    expected.append(bytes, 4);
  }
  CHECK(read_bytes(path) == expected);
  std::remove(path.c_str());
}
TEST_CASE("round trip: any name, no element, no extent, float and double, metadata") {
  std::vector<float> const f = {1, 2, 3};
  std::vector<double> const d = {4, 5};
  std::vector<std::string> const names = {"plain",
                                          "with \"quotes\"",
                                          "back\\slash",
                                          "line\nbreak\t",
                                          std::string("\0 and \x1f", 7),
                                          "\xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e",
                                          ""};
  std::vector<stored_tensor> tensors;
  for (std::string const& name : names) tensors.push_back({name, "F32", {3}, f.data(), 12});
  tensors.push_back({"double", "F64", {1, 2}, d.data(), 16});
  tensors.push_back({"empty", "F32", {0, 1 << 30, 1 << 30, 1 << 30}, f.data(), 0});
  tensors.push_back({"one", "F32", {}, f.data(), 4});
  metadata const meta = {{"a \"b\"", "c\\\x01"}, {"", ""}};
  save_tensors(path, tensors, meta);
  std::string const bytes = read_bytes(path);
  tensor_file const back = read_tensors(bytes);
  CHECK(back.meta == meta);
  REQUIRE(back.tensors.size() == tensors.size());
  for (stored_tensor const& tensor : tensors) {
    CAPTURE(std::string(tensor.name));
    auto const found = std::find_if(back.tensors.begin(), back.tensors.end(),
                                    [&](auto const& t) { return t.name == tensor.name; });
    REQUIRE(found != back.tensors.end());
    CHECK(found->dtype == tensor.dtype);
    CHECK(found->shape == tensor.shape);
    REQUIRE(found->bytes == tensor.bytes);
    CHECK(std::memcmp(found->data, tensor.data, tensor.bytes) == 0);
  }
  std::remove(path.c_str());
}
TEST_CASE("escapes of other writers") {
  std::string const header =
      "{ \"\\u0041\\u00E4\\uD834\\udD1e\\u20aC\\uFFFF\\/\\\\\\\"\\b\\f\\n\\r\\t\"\t:\r" +
      tensor_entry("[0, 4]") + " }\n";
  std::string const file = make_file(header, 4);
  tensor_file const read = read_tensors(file);
  REQUIRE(read.tensors.size() == 1);
  CHECK(read.tensors[0].name == "A\xc3\xa4\xf0\x9d\x84\x9e\xe2\x82\xac\xef\xbf\xbf/\\\"\b\f\n\r\t");
}
TEST_CASE("an empty tensor has the offset of another, in any order of names") {
  for (char const* empty : {"a", "z"}) {
    std::string const file = make_file(std::string("{\"m\":") + tensor_entry("[0,4]") + ",\"" +
                                           empty + "\":" + tensor_entry("[0,0]", "[0]") + "}",
                                       4);
    tensor_file const read = read_tensors(file);
    REQUIRE(read.tensors.size() == 2);
    CHECK(read.tensors[0].name == empty);
    CHECK(read.tensors[1].name == "m");
  }
}
TEST_CASE("invalid files are rejected") {
  CHECK(error_of("1234567").find("shorter than") != std::string::npos);
  CHECK(error_of(make_file("{}").substr(0, 9)).find("longer than the file") != std::string::npos);
  CHECK(error_of(std::string(8, '\xff') + "{}").find("100 MB") != std::string::npos);
  CHECK(error_of(make_file("{}" + std::string(99'999'999, ' '))).find("100 MB") !=
        std::string::npos);
  CHECK(error_of(make_file("{}")) == "accepted");
  check_error("", 0, "begin with '{'");
  check_error(" {}", 0, "begin with '{'");
  check_error("{} x", 0, "expected end of input");
  check_error(std::string("{}\0x", 4), 0, "has a byte 0");
  check_error("{}", 1, "behind the last tensor");
  check_error("{\"a\"}", 0, "expected ':'");
  check_error("{\"a\":" + tensor_entry("[0,4]") + ",}", 4, "expected string literal");
  check_error("{\"a\":" + tensor_entry("[0,4]") + "", 4, "expected '}'");
  check_error("{\"a", 0, "missing closing quote");
  check_error("{\"a\x1f\":", 0, "control character");
  check_error("{\"\\x\":", 0, "forbidden character after backslash");
  check_error("{\"\\u12g4\":", 0, "4 hex digits");
  for (char const* text : {"\\ud834 ", "\\udd1e", "\\udd1e\\udd1e", "\\ud834\\ud834",
                           "\\ud834\\ue000", "\\ud834\\n", "\\ud834.udd1e"})
    check_error(std::string("{\"") + text + "\":", 0, "surrogate");
  for (char const* text : {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80", "\xc3("})
    check_error(std::string("{\"") + text + "\":", 0, "ill-formed UTF-8");
  for (char const* part :
       {"", "\"dtype\":\"F32\",\"shape\":[]", "\"dtype\":\"F32\",\"data_offsets\":[0,4]",
        "\"shape\":[],\"data_offsets\":[0,4]"})
    check_error(std::string("{\"a\":{") + part + "}}", 4, "needs dtype, shape and data_offsets");
  check_error("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "a: dtype comes twice");
  check_error("{\"a\":{\"shape\":[1],\"shape\":[]}}", 0, "a: shape comes twice");
  check_error("{\"a\":{\"data_offsets\":[0],\"data_offsets\":[4]}}", 4,
              "a: data_offsets comes twice");
  check_error("{\"a\":{\"what\":1}}", 0, "has what, which is unknown");
  check_error("{\"a\":" + tensor_entry("[0,4]", "[2]", "F16") + "}", 4,
              "is of F16, must be of F32 or F64");
  check_error("{\"a\":" + tensor_entry("[0,8]") + "}", 8, "not the bytes of its shape");
  check_error("{\"a\":" + tensor_entry("[0,4]", "[2]") + "}", 4, "not the bytes of its shape");
  check_error("{\"a\":" + tensor_entry("[0,4]") + "}", 3, "outside the data");
  check_error("{\"a\":" + tensor_entry("[4,0]") + "}", 8, "outside the data");
  check_error("{\"a\":" + tensor_entry("[0]") + "}", 8, "outside the data");
  check_error("{\"a\":" + tensor_entry("[0,-4]") + "}", 8, "lists of whole numbers");
  check_error("{\"a\":" + tensor_entry("[0,4.0]") + "}", 8, "lists of whole numbers");
  check_error("{\"a\":" + tensor_entry("[00,4]") + "}", 8, "expected ']'");
  check_error("{\"a\":" + tensor_entry("[0,9223372036854775808]") + "}", 8, "too great");
  check_error("{\"a\":" + tensor_entry("[0,4]", "[4294967296,4294967296]") + "}", 4, "too large");
  check_error("{\"a\":" + tensor_entry("[0,4]", "[9223372036854775807]") + "}", 4, "too large");
  check_error("{\"a\":" + tensor_entry("[0,0]", "[4294967296,4294967296,0]") + "}", 0, "too large");
  check_error("{\"a\":" + tensor_entry("[4,8]") + "}", 8, "leaves a hole");
  check_error(
      "{\"a\":" + tensor_entry("[0,8]", "[2]") + ",\"b\":" + tensor_entry("[4,4]", "[0]") + "}", 8,
      "overlaps");
  check_error("{\"a\":" + tensor_entry("[0,4]") + ",\"b\":" + tensor_entry("[0,4]") + "}", 4,
              "overlaps another");
  check_error("{\"a\":" + tensor_entry("[0,4]") + ",\"a\":" + tensor_entry("[4,8]") + "}", 8,
              "comes twice");
  check_error("{\"a\":" + tensor_entry("[0,18446744073709551616]") + "}", 8,
              "lists of whole numbers");
  check_error("{\"a\":" + tensor_entry("[0,1e999]") + "}", 8, "number overflow");
  // The last value must not exhaust the stack or memory.
  std::string const fail_misplaced =
      "dtype must be a string, shape and data_offsets lists of whole";
  for (std::string const& value :
       {"1"s, "null"s, "true"s, "\"F32\""s, "[]"s, "{\"dtype\":1"s, "{\"dtype\":null"s,
        "{\"dtype\":[\"F32\"]"s, "{\"dtype\":{}"s, "{\"shape\":1"s, "{\"shape\":null"s,
        "{\"shape\":\"1\""s, "{\"shape\":[\"1\"]"s, "{\"shape\":[true]"s, "{\"shape\":[[1]]"s,
        "{\"shape\":[{}]"s, "{\"shape\":{}"s, "{\"shape\":" + std::string(1'000'000, '[')})
    check_error("{\"a\":" + value, 0, fail_misplaced.c_str());
  for (char const* value :
       {"1", "\"a\"", "[]", "{\"a\":1}", "{\"a\":null}", "{\"a\":[\"b\"]}", "{\"a\":{}}"})
    check_error(std::string("{\"__metadata__\":") + value + "}", 0, "metadata must be strings");
  check_error("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "a comes twice");
  check_error("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ comes twice");
}
TEST_CASE("invalid tensors are not written, and the old file remains") {
  std::vector<float> const f = {1, 2};
  save_tensors(path, {{"a", "F32", {2}, f.data(), 8}}, {});
  std::string const old = read_bytes(path);
  auto const outcome = [&](std::vector<stored_tensor> const& tensors, metadata const& meta) {
    std::string message = "written";
    try {
      save_tensors(path, tensors, meta);
    } catch (checkpoint_error const& e) {
      message = e.what();
    }
    CHECK(read_bytes(path) == old);
    return message;
  };
  std::string const prefix = "cannot write " + path + ": ";
  auto const tensor = [&](char const* name, char const* dtype, std::vector<index_t> const& shape) {
    return stored_tensor{name, dtype, shape, f.data(), 8};
  };
  CHECK(outcome({tensor("a", "F32", {2}), tensor("a", "F64", {})}, {}) ==
        prefix + "tensor a comes twice, or has the metadata's name");
  CHECK(outcome({tensor("__metadata__", "F32", {2})}, {}) ==
        prefix + "tensor __metadata__ comes twice, or has the metadata's name");
  CHECK(outcome({tensor("a", "F16", {4})}, {}) ==
        prefix + "tensor a is of F16, must be of F32 or F64");
  CHECK(outcome({tensor("a", "F32", {3})}, {}) ==
        prefix + "tensor a has not the bytes of its shape");
  CHECK(outcome({tensor("a", "F32", {-1, 2})}, {}) == prefix + "tensor a has a negative extent");
  CHECK(outcome({tensor("\xe4", "F32", {2})}, {}) == prefix + "a name or text is not UTF-8");
  CHECK(outcome({}, {{"\xe4", ""}}) == prefix + "a name or text is not UTF-8");
  CHECK(outcome({}, {{"", "\xe4"}}) == prefix + "a name or text is not UTF-8");
  std::remove(path.c_str());
}
TEST_CASE("a failed write reports the reason and keeps the old file") {
  std::vector<float> const f(1 << 20);
  save_tensors(path, {{"a", "F32", {1}, f.data(), 4}}, {});
  std::string const old = read_bytes(path);
  auto const message = [](int reason) { return std::generic_category().message(reason); };
  std::vector<stored_tensor> const large = {{"a", "F32", {1 << 20}, f.data(), f.size() * 4}};

  // Simulates a full disk: the limit of a page is within the data.
  rlimit old_limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  rlimit const page_limit{4096, old_limit.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &page_limit) == 0);
  std::string failure = "written";
  try {
    save_tensors(path, large, {});
  } catch (checkpoint_error const& e) {
    failure = e.what();
  }
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(failure == "cannot write " + path + ": " + message(EFBIG));
  CHECK(read_bytes(path) == old);
  CHECK(!std::ifstream(path + "." + std::to_string(getpid()) + ".part").good());
  std::remove(path.c_str());

  CHECK_THROWS_WITH_AS(read_file(path), ("cannot read " + path + ": " + message(ENOENT)).c_str(),
                       checkpoint_error);
  CHECK_THROWS_WITH_AS(read_file("."), ("cannot read .: " + message(EISDIR)).c_str(),
                       checkpoint_error);
}
TEST_CASE("checkpoints of other parameters, missing files, and write errors") {
  parameters<float> two, other, fewer;
  for (auto* params : {&two, &other, &fewer}) params->add("a", {2, 3}, initializer::normal(1));
  two.add("b", {4}, initializer::normal(1));
  other.add("b", {2, 2}, initializer::normal(1));
  for (auto* params : {&two, &other, &fewer}) params->allocate(3);
  two.first_moments()[1] = 5, two.second_moments()[9] = 6;
  save_checkpoint(path, two, {{"step", "1"}});
  auto const outcome = [&](parameters<float>& into) -> std::string {
    std::vector<float> const before = into.values();
    try {
      load_checkpoint(path, into);
    } catch (checkpoint_error const& e) {
      CHECK(into.values() == before);
      return e.what();
    }
    return "accepted";
  };
  CHECK(outcome(other) == path + ": has a tensor b of another shape or type");
  CHECK(outcome(fewer) == path + ": has tensors that this model does not have");
  parameters<float> same;
  same.add("a", {2, 3}, initializer::constant(0)), same.add("b", {4}, initializer::constant(0));
  same.allocate(0);
  CHECK(outcome(same) == "accepted");
  CHECK(same.values() == two.values());
  CHECK(same.first_moments() == two.first_moments());
  CHECK(same.second_moments() == two.second_moments());

  // An interrupted write leaves a part file; the checkpoint is the old one.
  std::string const unfinished = path + "." + std::to_string(getpid()) + ".part";
  std::ofstream(unfinished) << "half a fi";
  CHECK(outcome(same) == "accepted");
  save_checkpoint(path, two, {});
  CHECK(!std::ifstream(unfinished).good());
  parameters<double> wide;
  wide.add("a", {2, 3}, initializer::constant(0)), wide.add("b", {4}, initializer::constant(0));
  wide.allocate(0);
  save_checkpoint(path, wide, {});
  CHECK(outcome(same) == path + ": has a tensor a of another shape or type");
  std::remove(path.c_str());
  std::string const no_file = ": " + std::generic_category().message(ENOENT);
  CHECK(outcome(same) == "cannot read " + path + no_file);
  CHECK_THROWS_WITH_AS(save_checkpoint("no/such/folder/file", two, {}),
                       ("cannot write no/such/folder/file" + no_file).c_str(), checkpoint_error);
  if (char const* const checkpoint_path = std::getenv("LEARNING_SAFETENSORS_FILE"))
    save_checkpoint(checkpoint_path, two, {{"step", "1"}, {"settings", "a=\"b\""}});
}
