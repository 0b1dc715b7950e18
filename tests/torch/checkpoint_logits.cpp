// SPDX-License-Identifier: Apache-2.0
// Runs a model of slicesort_train on given samples and writes its logits:
// checkpoint_logits CHECKPOINT IN OUT FLAGS.. builds the model from the flags and loads its
// parameters. IN: the number of samples and 1 if they have lengths, both int64; the lengths, int64
// [size]; and tokens, int32 [size, length], or features, float [size, length, features]. OUT: float
// [size, outputs]. All in native byte order.
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

// The first pass only measures the memory, and the second one computes; a trainer does the same.
std::vector<float> compute_logits(model<float>& model, batch<float> const& input) {
  thread_pool threads(1);
  memory step_memory;
  context<float> ctx{threads, step_memory};
  ctx.training = false;
  std::vector<float> y(static_cast<std::size_t>(input.size * input.shape.outputs));
  matrix<float> const result(y.data(), input.size, input.shape.outputs);
  model.forward(ctx, input, result);
  step_memory.allocate();
  model.forward(ctx, input, result);
  return y;
}

void run(char const* checkpoint, char const* input_path, char const* output_path, int argc,
         char** argv) {
  CLI::App app;
  settings config(app);
  task_maker make_task;
  read_flags(app, argc, argv, [&] { make_task = add_task(app, config.task); });
  sample_shape const shape = make_task()->shape();
  std::unique_ptr<model<float>> const model = config.make_model(shape);
  load_checkpoint(checkpoint, model->params());
  use_single_threaded_blas();

  std::ifstream file(input_path, std::ios::binary);
  auto const header = read<std::int64_t>(file, 2);
  batch<float> input;
  input.size = header[0], input.shape = shape;
  auto const lengths = read<index_t>(file, header[1] != 0 ? input.size : 0);
  input.lengths = {lengths.data(), static_cast<index_t>(lengths.size())};
  index_t const rows = input.size * shape.length;
  auto const tokens = read<std::int32_t>(file, shape.features > 0 ? 0 : rows);
  auto const features = read<float>(file, rows * shape.features);
  input.tokens = tokens.data(), input.features = features.data();

  std::vector<float> const y = compute_logits(*model, input);
  std::ofstream output_file(output_path, std::ios::binary);
  output_file.write(reinterpret_cast<char const*>(y.data()),
                    static_cast<std::streamsize>(y.size() * sizeof(float)));
  if (!output_file.flush()) throw std::runtime_error("cannot write the outputs");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  try {
    run(argv[1], argv[2], argv[3], argc - 3, argv + 3);
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "checkpoint_logits: %s\n", e.what());
    return 1;
  }
}
