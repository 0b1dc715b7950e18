// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: parses the bytes as a safetensors file, and as entries of its header. A valid
// file must stay the same when it is written and read again. The bytes also describe tensors and
// metadata, which must stay the same when they are written and read.
#include "learning/files/safetensors.cpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

// Reads small values from the bytes; zeros past their end.
class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) : remaining_(bytes) {}
  bool empty() const { return remaining_.empty(); }
  unsigned take_byte() {
    if (empty()) return 0;
    unsigned const first = static_cast<unsigned char>(remaining_.front());
    remaining_.remove_prefix(1);
    return first;
  }
  std::string take_text() {
    std::string const result(remaining_.substr(0, take_byte() % 8));
    remaining_.remove_prefix(std::min(result.size(), remaining_.size()));
    return result;
  }

 private:
  std::string_view remaining_;
};
learning::stored_tensor read_tensor(byte_reader& bytes) {
  static double const data[27] = {1, 2, 3};  // 3 extents of at most 3
  learning::stored_tensor tensor;
  tensor.name = bytes.take_text(), tensor.data = data;
  unsigned const kind = bytes.take_byte();
  tensor.dtype = kind % 16 == 0 ? "F16" : kind % 2 == 0 ? "F64" : "F32";
  tensor.bytes = tensor.dtype == "F64" ? 8 : 4;
  for (unsigned rank = bytes.take_byte() % 4; rank > 0; --rank) {
    tensor.shape.push_back(static_cast<learning::index_t>(bytes.take_byte() % 4));
    tensor.bytes *= static_cast<std::size_t>(tensor.shape.back());
  }
  return tensor;
}
learning::tensor_file read_file(byte_reader bytes) {
  learning::tensor_file result;
  while (!bytes.empty()) {
    if (bytes.take_byte() % 2 == 0) {
      result.tensors.push_back(read_tensor(bytes));
    } else {
      std::string const key = bytes.take_text();
      result.meta[key] = bytes.take_text();
    }
  }
  return result;
}

std::string serialize(learning::tensor_file const& file) {
  std::string result = learning::header_of(file.tensors, file.meta);
  for (auto const& tensor : file.tensors)
    result.append(static_cast<char const*>(tensor.data), tensor.bytes);
  return result;
}
void sort_by_name(learning::tensor_file& file) {
  std::sort(file.tensors.begin(), file.tensors.end(),
            [](auto const& a, auto const& b) { return a.name < b.name; });
}
// Ignores the order of tensors, which is ambiguous for tensors without elements.
bool equal_files(learning::tensor_file a, learning::tensor_file b) {
  sort_by_name(a), sort_by_name(b);
  if (a.meta != b.meta || a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    auto const &x = a.tensors[i], &y = b.tensors[i];
    if (x.name != y.name || x.dtype != y.dtype || x.shape != y.shape || x.bytes != y.bytes ||
        std::memcmp(x.data, y.data, x.bytes) != 0)
      return false;
  }
  return true;
}
void check_bytes(std::string_view bytes) {
  learning::tensor_file file;
  try {
    file = learning::read_tensors(bytes);
  } catch (learning::checkpoint_error const&) {
    return;
  }
  std::string const rewritten = serialize(file);
  if (!equal_files(file, learning::read_tensors(rewritten))) std::abort();
}
void check_file(learning::tensor_file const& file) {
  std::string bytes;
  try {
    bytes = serialize(file);
  } catch (learning::checkpoint_error const&) {
    return;
  }
  if (!equal_files(file, learning::read_tensors(bytes))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  check_bytes(text);
  check_file(read_file(byte_reader(text)));
  // Parses the bytes as entries of a header of valid length, followed by 16 bytes of data.
  std::string header =
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}," + std::string(text) + "}";
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  check_bytes(length + header + std::string(16, '\x7f'));
  return 0;
}
