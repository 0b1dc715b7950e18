// SPDX-License-Identifier: Apache-2.0
// Outputs of slicesort_train's models: checkpoint_logits CHECKPOINT IN OUT FLAGS.. builds the model
// of the flags, loads its parameters, and writes the outputs for the samples of IN, float [size,
// outputs]. IN contains two int64, the number of samples and 1 if they have lengths; the lengths,
// int64 [size]; and tokens, int32 [size, length], or numbers, float [size, length, features], in
// native byte order.
#include "learning/checkpoint.hpp"
#include "learning/gemm.hpp"
#include "learning/tasks/by_name.hpp"
#include "settings.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

using namespace learning;

template <class T>
std::vector<T> read(std::ifstream& file, index_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file) throw std::runtime_error("the file of samples is too short");
  return values;
}

// The first forward counts the memory that the second one uses, as in a trainer.
std::vector<float> outputs(model<float>& model, batch<float> const& input) {
  thread_pool threads(1);
  memory stack;
  context<float> c{threads, stack};
  c.training = false;
  std::vector<float> y(static_cast<std::size_t>(input.size * input.shape.outputs));
  matrix<float> const result(y.data(), input.size, input.shape.outputs);
  model.forward(c, input, result);
  stack.allocate();
  model.forward(c, input, result);
  return y;
}

void run(char const* checkpoint, char const* from, char const* to, int count, char** words) {
  CLI::App app;
  settings s(app);
  task_maker make_task;
  read_flags(app, count, words, [&] { make_task = add_task(app, s.task); });
  sample_shape const shape = make_task()->shape();
  std::unique_ptr<model<float>> const model = s.make_model(shape);
  load_checkpoint(checkpoint, model->params());
  use_single_threaded_blas();

  std::ifstream file(from, std::ios::binary);
  auto const header = read<std::int64_t>(file, 2);
  batch<float> input;
  input.size = header[0], input.shape = shape;
  auto const lengths = read<index_t>(file, header[1] != 0 ? input.size : 0);
  input.lengths = {lengths.data(), static_cast<index_t>(lengths.size())};
  index_t const rows = input.size * shape.length;
  auto const tokens = read<std::int32_t>(file, shape.features > 0 ? 0 : rows);
  auto const numbers = read<float>(file, rows * shape.features);
  input.tokens = tokens.data(), input.numbers = numbers.data();

  std::vector<float> const y = outputs(*model, input);
  std::ofstream out(to, std::ios::binary);
  out.write(reinterpret_cast<char const*>(y.data()),
            static_cast<std::streamsize>(y.size() * sizeof(float)));
  if (!out.flush()) throw std::runtime_error("cannot write the outputs");
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  try {
    run(words[1], words[2], words[3], count - 3, words + 3);
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "checkpoint_logits: %s\n", e.what());
    return 1;
  }
}
