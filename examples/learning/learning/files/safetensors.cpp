// SPDX-License-Identifier: Apache-2.0
#include "learning/files/safetensors.hpp"

#include "learning/files/whole_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

namespace learning {
namespace {

using json = nlohmann::ordered_json;  // writes members in the order of their insertion

constexpr std::size_t length_bytes = 8, max_header_bytes = 100'000'000;
constexpr char const* metadata_name = "__metadata__";

std::size_t element_bytes(std::string const& dtype) {
  return dtype == "F32" ? 4 : dtype == "F64" ? 8 : 0;
}
// Returns the error of a tensor's metadata, or an empty string.
std::string error_of(stored_tensor const& tensor) {
  std::string const label = "tensor " + tensor.name;
  std::size_t const element_size = element_bytes(tensor.dtype);
  if (element_size == 0) return label + " is of " + tensor.dtype + ", must be of F32 or F64";
  std::size_t count = 1;
  for (index_t const extent : tensor.shape) {
    if (extent < 0) return label + " has a negative extent";
    // Rejects overflow even before an extent of 0, as Python's package does.
    if (count != 0 && static_cast<std::size_t>(extent) > SIZE_MAX / count)
      return label + " is too large";
    count *= static_cast<std::size_t>(extent);
  }
  if (count > SIZE_MAX / element_size) return label + " is too large";
  return count * element_size == tensor.bytes ? "" : label + " has not the bytes of its shape";
}

// SAX handler for the header. Throws at the first token that violates the format, so that memory is
// bounded by the number of tensors.
class header_reader {
 public:
  header_reader(std::string_view data, tensor_file& file) : data_(data), file_(file) {}

  bool key(std::string& name) {
    if (depth_ == 1) {
      if (!names_.insert(name).second) fail(name + " comes twice");
      fields_.clear(), offsets_.clear();
      tensor_ = {}, tensor_.name = name;
      return true;
    }
    if (!in_metadata() && name != "dtype" && name != "shape" && name != "data_offsets")
      fail("tensor " + tensor_.name + " has " + name + ", which is unknown");
    if (!(in_metadata() ? file_.meta.emplace(name, "").second : fields_.insert(name).second))
      fail(tensor_.name + ": " + name + " comes twice");
    field_ = name;
    return true;
  }
  bool start_object(std::size_t) { return ++depth_ <= 2 || fail_misplaced(); }
  bool end_object() {
    if (--depth_ == 1 && !in_metadata()) add_tensor();
    return true;
  }
  bool start_array(std::size_t) {
    return (++depth_ == 3 && !in_metadata() && field_ != "dtype") || fail_misplaced();
  }
  bool end_array() { return --depth_, true; }
  bool string(std::string& text) {
    if (depth_ != 2 || !(in_metadata() || field_ == "dtype")) fail_misplaced();
    (in_metadata() ? file_.meta[field_] : tensor_.dtype) = text;
    return true;
  }
  bool number_unsigned(std::uint64_t number) {
    if (depth_ != 3) fail_misplaced();
    if (number > INT64_MAX) fail("tensor " + tensor_.name + ": a number is too great");
    (field_ == "shape" ? tensor_.shape : offsets_).push_back(static_cast<index_t>(number));
    return true;
  }
  bool number_integer(std::int64_t) { return fail_misplaced(); }
  bool number_float(double, std::string const&) { return fail_misplaced(); }
  bool boolean(bool) { return fail_misplaced(); }
  bool null() { return fail_misplaced(); }
  bool binary(json::binary_t&) { return fail_misplaced(); }
  bool parse_error(std::size_t, std::string const&, json::exception const& e) {
    fail(std::string("the header is no JSON: ") + e.what());
  }

 private:
  [[noreturn]] static void fail(std::string const& message) { throw checkpoint_error(message); }
  [[noreturn]] bool fail_misplaced() const {
    fail(in_metadata() ? "metadata must be strings"
                       : "tensor " + tensor_.name +
                             ": dtype must be a string, shape and data_offsets lists of whole "
                             "numbers from 0");
  }
  bool in_metadata() const { return tensor_.name == metadata_name; }
  void add_tensor() {
    std::string const label = "tensor " + tensor_.name;
    if (fields_.size() != 3) fail(label + " needs dtype, shape and data_offsets");
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1] ||
        static_cast<std::size_t>(offsets_[1]) > data_.size())
      fail(label + " lies outside the data");
    tensor_.data = data_.data() + offsets_[0];
    tensor_.bytes = static_cast<std::size_t>(offsets_[1] - offsets_[0]);
    if (std::string const error = error_of(tensor_); !error.empty()) fail(error);
    file_.tensors.push_back(tensor_);
  }

  std::string_view data_;
  tensor_file& file_;
  int depth_ = 0;         // 1: names, 2: fields of a tensor or metadata, 3: numbers of a list
  stored_tensor tensor_;  // current tensor; has the metadata's name while reading metadata
  std::string field_;
  std::vector<index_t> offsets_;
  std::set<std::string> names_, fields_;
};

}  // namespace

tensor_file read_tensors(std::string_view file) {
  if (file.size() < length_bytes) throw checkpoint_error("is shorter than a header's length");
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(file[i]);
  if (length > max_header_bytes || length > file.size() - length_bytes)
    throw checkpoint_error("has a header longer than the file or 100 MB");
  std::string_view const header = file.substr(length_bytes, length);
  std::string_view const data = file.substr(length_bytes + length);
  if (header.empty() || header[0] != '{')
    throw checkpoint_error("the header does not begin with '{'");
  // The parser treats NUL as the end of input.
  if (header.find('\0') != std::string_view::npos)
    throw checkpoint_error("the header has a byte 0");
  tensor_file result;
  header_reader reader(data, result);
  json::sax_parse(header.begin(), header.end(), &reader);
  auto& list = result.tensors;
  // Sorts empty tensors before others at the same offset.
  std::sort(list.begin(), list.end(), [](auto const& a, auto const& b) {
    return std::tie(a.data, a.bytes, a.name) < std::tie(b.data, b.bytes, b.name);
  });
  void const* end = data.data();
  for (stored_tensor const& tensor : list) {
    if (tensor.data != end)
      throw checkpoint_error("tensor " + tensor.name + " overlaps another or leaves a hole");
    end = static_cast<char const*>(tensor.data) + tensor.bytes;
  }
  if (end != data.data() + data.size())
    throw checkpoint_error("there are bytes behind the last tensor");
  return result;
}

std::string header_of(std::vector<stored_tensor> const& tensors, metadata const& meta) {
  json header = json::object();
  if (!meta.empty()) header[metadata_name] = meta;
  std::size_t end = 0;
  for (stored_tensor const& tensor : tensors) {
    if (tensor.name == metadata_name || header.contains(tensor.name))
      throw checkpoint_error("tensor " + tensor.name + " comes twice, or has the metadata's name");
    if (std::string const error = error_of(tensor); !error.empty()) throw checkpoint_error(error);
    std::size_t const first = std::exchange(end, end + tensor.bytes);
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {first, end}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (json::exception const&) {
    throw checkpoint_error("a name or text is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data to 8 bytes
  std::string length(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i)
    length[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  return length + text;
}

void save_tensors(std::string const& path, std::vector<stored_tensor> tensors,
                  metadata const& meta) {
  std::sort(tensors.begin(), tensors.end(),
            [](auto const& a, auto const& b) { return a.name < b.name; });
  std::string header;
  try {
    header = header_of(tensors, meta);
  } catch (checkpoint_error const& e) {
    throw checkpoint_error("cannot write " + path + ": " + e.what());
  }
  std::vector<std::string_view> parts = {header};
  for (stored_tensor const& tensor : tensors)
    parts.emplace_back(static_cast<char const*>(tensor.data), tensor.bytes);
  replace_file(path, parts);
}

}  // namespace learning
