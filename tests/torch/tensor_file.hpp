// SPDX-License-Identifier: Apache-2.0
// The main function of a program that a Python check calls: reads parameters and tensors from one
// file and writes the results to another. Tensors are contiguous, in native byte order.
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

// Implements main of PROGRAM host|cuda IN OUT. Reads `Params` from the start of IN and calls
// run_case(exec, element, params, input, output). `params.dtype` selects the type of `element`.
template <class Params, class RunCase>
int run_on_file(int argc, char** argv, RunCase const& run_case) {
  if (argc != 4) return 2;
  std::ifstream input(argv[2], std::ios::binary);
  std::ofstream output(argv[3], std::ios::binary);
  auto const run_on = [&](auto const& exec) {
    Params const params = read_tensor<Params>(input, 1).front();
    if (params.dtype == 0) run_case(exec, 0.0f, params, input, output);
    if (params.dtype == 1) run_case(exec, 0.0, params, input, output);
    if (params.dtype == 2) run_case(exec, ss::float16{}, params, input, output);
    if (params.dtype == 3) run_case(exec, ss::bfloat16{}, params, input, output);
  };
  try {
    if (std::string(argv[1]) == "host") run_on(ss::exec::host{2});
#if defined(SLICESORT_TEST_CUDA)
    if (std::string(argv[1]) == "cuda") run_on(cuda_exec{});
#endif
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}

}  // namespace support
