// SPDX-License-Identifier: Apache-2.0
// What the models of slicesort_train answer: checkpoint_logits CHECKPOINT IN OUT FLAGS.. makes the
// model that the program makes of these flags, reads its parameters, and writes the answers to the
// samples of IN, float [size, outputs]. IN begins with two int64, the number of samples and whether
// they have lengths; then come these, int64 [size], and tokens, int32 [size, length], or numbers,
// float [size, length, features]. All are in the machine's byte order.
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
std::vector<T> read(std::ifstream& in, index_t count) {
  std::vector<T> all(static_cast<std::size_t>(count));
  in.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(count * sizeof(T)));
  if (!in) throw std::runtime_error("the file of samples is too short");
  return all;
}

// Memory is counted first, as a trainer does.
std::vector<float> answers(model<float>& of, batch<float> const& in) {
  thread_pool threads(1);
  memory stack;
  call<float> c{threads, stack};
  c.training = false;
  std::vector<float> y(static_cast<std::size_t>(in.size * in.shape.outputs));
  matrix<float> const to(y.data(), in.size, in.shape.outputs);
  of.forward(c, in, to);
  stack.allocate();
  of.forward(c, in, to);
  return y;
}

void answer(char const* checkpoint, char const* from, char const* to, int count, char** words) {
  CLI::App app;
  settings s(app);
  task_maker make_task;
  read_flags(app, count, words, [&] { make_task = add_task(app, s.task); });
  sample_shape const shape = make_task()->shape();
  std::unique_ptr<model<float>> const of = s.make_model(shape);
  load_checkpoint(checkpoint, of->learned());
  use_one_thread_a_product();

  std::ifstream file(from, std::ios::binary);
  auto const header = read<std::int64_t>(file, 2);
  batch<float> in;
  in.size = header[0], in.shape = shape;
  auto const lengths = read<index_t>(file, header[1] != 0 ? in.size : 0);
  in.lengths = {lengths.data(), static_cast<index_t>(lengths.size())};
  index_t const rows = in.size * shape.length;
  auto const tokens = read<std::int32_t>(file, shape.features > 0 ? 0 : rows);
  auto const numbers = read<float>(file, rows * shape.features);
  in.tokens = tokens.data(), in.numbers = numbers.data();

  std::vector<float> const y = answers(*of, in);
  std::ofstream out(to, std::ios::binary);
  out.write(reinterpret_cast<char const*>(y.data()),
            static_cast<std::streamsize>(y.size() * sizeof(float)));
  if (!out.flush()) throw std::runtime_error("cannot write the answers");
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  try {
    answer(words[1], words[2], words[3], count - 3, words + 3);
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "checkpoint_logits: %s\n", e.what());
    return 1;
  }
}
