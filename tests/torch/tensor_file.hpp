// SPDX-License-Identifier: Apache-2.0
// A program that is given a request and tensors in a file and puts its tensors into another: all
// contiguous, in the machine's byte order. The checks in Python write the one and read the other.
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
std::vector<T> read_tensor(std::ifstream& in, std::int64_t size) {
  std::vector<T> elements(static_cast<std::size_t>(size));
  in.read(reinterpret_cast<char*>(elements.data()),
          static_cast<std::streamsize>(elements.size() * sizeof(T)));
  if (!in) throw std::runtime_error("the file is too short");
  return elements;
}

template <class T>
void write_tensor(std::ofstream& out, std::vector<T> const& elements) {
  out.write(reinterpret_cast<char const*>(elements.data()),
            static_cast<std::streamsize>(elements.size() * sizeof(T)));
}

// main of such a program, PROGRAM host|cuda IN OUT: calls answer(on, zero of the element type,
// request, in, out) with the request at the beginning of IN, whose `dtype` is the type's number.
template <class Request, class Answer>
int answer_file(int argc, char** argv, Answer const& answer) {
  if (argc != 4) return 2;
  std::ifstream in(argv[2], std::ios::binary);
  std::ofstream out(argv[3], std::ios::binary);
  auto const on = [&](auto const& exec) {
    Request const r = read_tensor<Request>(in, 1).front();
    if (r.dtype == 0) answer(exec, 0.0f, r, in, out);
    if (r.dtype == 1) answer(exec, 0.0, r, in, out);
    if (r.dtype == 2) answer(exec, ss::float16{}, r, in, out);
    if (r.dtype == 3) answer(exec, ss::bfloat16{}, r, in, out);
  };
  try {
    if (std::string(argv[1]) == "host") on(ss::exec::host{2});
#if defined(SLICESORT_TEST_CUDA)
    if (std::string(argv[1]) == "cuda") on(cuda_exec{});
#endif
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
  return 0;
}

}  // namespace support
