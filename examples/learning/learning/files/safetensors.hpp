// SPDX-License-Identifier: Apache-2.0
// Tensors in files of the safetensors format, which Python's package of that name reads and writes:
// 8 bytes with the header's length, a JSON header, and the data.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace learning {

using slicesort::index_t;

/// A tensor of a file; does not own its data.
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

/// The tensors in the bytes of a whole file, which must outlive the result. Refused are: a header
/// past the end or over 100 MB, what is no JSON or not said by the format, types but F32 and F64,
/// names that come twice, and tensors that overlap, leave holes or end before the file does.
tensor_file read_tensors(std::string_view file);
/// The file's beginning that `read_tensors` reads, up to the data, which follow in the order of the
/// tensors. Refuses what would be refused there.
std::string header_of(std::vector<stored_tensor> const& tensors, metadata const& about);
/// Writes tensors, sorted by name, as `replace_file` does. Throws `checkpoint_error`.
void save_tensors(std::string const& path, std::vector<stored_tensor> tensors,
                  metadata const& about);

}  // namespace learning
