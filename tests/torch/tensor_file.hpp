// SPDX-License-Identifier: Apache-2.0
// A program that reads a request and tensors from a file, which a Python check writes, and writes
// result tensors to another. Tensors are contiguous, in native byte order.
#pragma once

#include "support/backends.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace support {

template <class T>
std::vector<T> read_tensor(std::ifstream& input, std::int64_t size) {
  std::vector<T> elements(static_cast<std::size_t>(size));
  input.read(reinterpret_cast<char*>(elements.data()),
             static_cast<std::streamsize>(elements.size() * sizeof(T)));
  if (!input) throw std::runtime_error("the file is too short");
  return elements;
}

template <class T>
void write_tensor(std::ofstream& output, std::vector<T> const& elements) {
  output.write(reinterpret_cast<char const*>(elements.data()),
               static_cast<std::streamsize>(elements.size() * sizeof(T)));
}

// Implements main of PROGRAM host|cuda IN OUT: calls answer(exec, zero of the element type,
// request, input, output). `dtype` of the request, which begins IN, selects the element type.
template <class Request, class Answer>
int answer_file(int argc, char** argv, Answer const& answer) {
  if (argc != 4) return 2;
  std::ifstream input(argv[2], std::ios::binary);
  std::ofstream output(argv[3], std::ios::binary);
  auto const run = [&](auto const& exec) {
    Request const r = read_tensor<Request>(input, 1).front();
    if (r.dtype == 0) answer(exec, 0.0f, r, input, output);
    if (r.dtype == 1) answer(exec, 0.0, r, input, output);
    if (r.dtype == 2) answer(exec, ss::float16{}, r, input, output);
    if (r.dtype == 3) answer(exec, ss::bfloat16{}, r, input, output);
  };
  try {
    if (std::string(argv[1]) == "host") run(ss::exec::host{2});
#if defined(SLICESORT_TEST_CUDA)
    if (std::string(argv[1]) == "cuda") run(cuda_exec{});
#endif
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
  return 0;
}

}  // namespace support
