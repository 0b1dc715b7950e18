// SPDX-License-Identifier: Apache-2.0
// Tensors in files of the safetensors format, which Python's package of that name reads and writes:
// 8 bytes with the header's length, a JSON header, and the data.
#pragma once

#include "learning/files/json_reader.hpp"
#include "learning/files/whole_file.hpp"

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learning {

using slicesort::index_t;

/// A tensor of a file. `data` points to memory of somebody else.
struct stored_tensor {
  std::string name, dtype;  ///< F32 or F64
  std::vector<index_t> shape;
  void const* data = nullptr;
  std::size_t bytes = 0;
};

using metadata = std::map<std::string, std::string>;

struct tensor_file {
  std::vector<stored_tensor> tensors;  ///< in the order of their data
  metadata about;
};

namespace detail {

inline constexpr std::size_t length_bytes = 8, longest_header = 100'000'000;
inline constexpr char const* metadata_name = "__metadata__";

inline std::size_t element_bytes(std::string const& dtype) {
  return dtype == "F32" ? 4 : dtype == "F64" ? 8 : 0;
}
// What no file may say of a tensor, or nothing.
inline std::string fault(stored_tensor const& one) {
  std::string const tensor = "tensor " + one.name;
  std::size_t const each = element_bytes(one.dtype);
  if (each == 0) return tensor + " is of " + one.dtype + ", must be of F32 or F64";
  std::size_t count = 1;
  for (index_t const extent : one.shape) {
    if (extent < 0) return tensor + " has a negative extent";
    // Also before an extent of 0: Python's package multiplies in this order, and refuses it.
    if (count != 0 && static_cast<std::size_t>(extent) > SIZE_MAX / count)
      return tensor + " is too large";
    count *= static_cast<std::size_t>(extent);
  }
  if (count > SIZE_MAX / each) return tensor + " is too large";
  return count * each == one.bytes ? "" : tensor + " has not the bytes of its shape";
}
template <class List, class F>
std::string joined(List const& list, F const& text_of) {
  std::string all;
  for (auto const& one : list) all += (all.empty() ? "" : ",") + text_of(one);
  return all;
}

inline stored_tensor read_entry(json_reader& json, std::string const& name, std::string_view data) {
  stored_tensor one;
  one.name = name;
  std::vector<std::int64_t> offsets;
  int seen = 0;
  json.object([&](std::string const& key) {
    if (key == "dtype" && (seen & 1) == 0)
      one.dtype = json.string(), seen |= 1;
    else if (key == "shape" && (seen & 2) == 0)
      json.array([&] { one.shape.push_back(json.number()); }), seen |= 2;
    else if (key == "data_offsets" && (seen & 4) == 0)
      json.array([&] { offsets.push_back(json.number()); }), seen |= 4;
    else
      json.fail("tensor " + name + " has " + key + ", which is unknown or there already");
  });
  if (seen != 7) json.fail("tensor " + name + " needs dtype, shape and data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      static_cast<std::size_t>(offsets[1]) > data.size())
    json.fail("tensor " + name + " lies outside the data");
  one.data = data.data() + offsets[0];
  one.bytes = static_cast<std::size_t>(offsets[1] - offsets[0]);
  if (std::string const wrong = fault(one); !wrong.empty()) json.fail(wrong);
  return one;
}

}  // namespace detail

/// The tensors in the bytes of a whole file, which must outlive the result. Refused are: a header
/// past the end or over 100 MB, what is no JSON or not said by the format, types but F32 and F64,
/// names that come twice, and tensors that overlap, leave holes or end before the file does.
inline tensor_file read_tensors(std::string_view file) {
  using namespace detail;
  if (file.size() < length_bytes) throw checkpoint_error("is shorter than a header's length");
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(file[i]);
  if (length > longest_header || length > file.size() - length_bytes)
    throw checkpoint_error("has a header longer than the file or 100 MB");
  std::string_view const header = file.substr(length_bytes, length);
  std::string_view const data = file.substr(length_bytes + length);
  json_reader json(header);
  if (header.empty() || header[0] != '{') json.fail("the header does not begin with '{'");
  tensor_file all;
  bool has_metadata = false;
  json.object([&](std::string const& key) {
    if (key == metadata_name) {
      if (std::exchange(has_metadata, true)) json.fail("there is metadata twice");
      json.object([&](std::string const& name) {
        if (!all.about.emplace(name, json.string()).second) json.fail(name + " comes twice");
      });
    } else {
      all.tensors.push_back(read_entry(json, key, data));
    }
  });
  json.end();
  auto& list = all.tensors;
  std::sort(list.begin(), list.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].name == list[i - 1].name) json.fail("tensor " + list[i].name + " comes twice");
  // Empty tensors first, where others begin.
  std::stable_sort(list.begin(), list.end(), [](auto const& a, auto const& b) {
    return std::pair(a.data, a.bytes) < std::pair(b.data, b.bytes);
  });
  void const* end = data.data();
  for (stored_tensor const& one : list) {
    if (one.data != end) json.fail("tensor " + one.name + " overlaps another or leaves a hole");
    end = static_cast<char const*>(one.data) + one.bytes;
  }
  if (end != data.data() + data.size()) json.fail("there are bytes behind the last tensor");
  return all;
}

/// What `read_tensors` reads, up to the data, which follow in the order of the tensors. Refused is
/// what would be refused there.
inline std::string header_of(std::vector<stored_tensor> const& tensors, metadata const& about) {
  using namespace detail;
  std::vector<std::string> entries;
  if (!about.empty())
    entries.push_back(json_quoted(metadata_name) + ":{" +
                      joined(about,
                             [](auto const& pair) {
                               return json_quoted(pair.first) + ":" + json_quoted(pair.second);
                             }) +
                      "}");
  std::size_t at = 0;
  std::set<std::string> names = {metadata_name};
  for (stored_tensor const& one : tensors) {
    if (!names.insert(one.name).second)
      throw checkpoint_error("tensor " + one.name + " comes twice, or has the metadata's name");
    if (std::string const wrong = fault(one); !wrong.empty()) throw checkpoint_error(wrong);
    std::string const first = std::to_string(at);
    at += one.bytes;
    entries.push_back(json_quoted(one.name) + ":{\"dtype\":\"" + one.dtype + "\",\"shape\":[" +
                      joined(one.shape, [](index_t n) { return std::to_string(n); }) +
                      "],\"data_offsets\":[" + first + "," + std::to_string(at) + "]}");
  }
  std::string header = "{" + joined(entries, [](std::string const& e) { return e; }) + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data begin at a multiple of 8
  std::string length(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i)
    length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header;
}

/// Writes tensors, sorted by name, as `replace_file` does. Throws `checkpoint_error`.
inline void save_tensors(std::string const& path, std::vector<stored_tensor> tensors,
                         metadata const& about) {
  std::sort(tensors.begin(), tensors.end(),
            [](auto const& a, auto const& b) { return a.name < b.name; });
  std::string header;
  try {
    header = header_of(tensors, about);
  } catch (checkpoint_error const& e) {
    throw checkpoint_error("cannot write " + path + ": " + e.what());
  }
  std::vector<std::string_view> parts = {header};
  for (stored_tensor const& one : tensors)
    parts.emplace_back(static_cast<char const*>(one.data), one.bytes);
  replace_file(path, parts);
}

}  // namespace learning
