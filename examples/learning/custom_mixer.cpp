// SPDX-License-Identifier: Apache-2.0
// Trains a Sliceformer, and the same model with a custom mixer, on the adding problem with a class
// token: information must flow from the marked rows to row 0.
#include "learning/mixers/sorting.hpp"
#include "learning/tasks/synthetic.hpp"
#include "learning/trainer.hpp"

#include <cstdio>

namespace {

using namespace learning;

// [snippet custom]
// Replaces every row by the mean of the valid rows. `projected` adds a projection before and after.
template <class T>
class averaging {
 public:
  using element = T;
  struct config {};
  averaging(parameter_scope<T> const&, config const&) {}

  void forward(context<T>& c, tensor3<T const> v, tensor3<T> y) { average(c, v, y); }
  // The matrix is symmetric, so backward equals forward.
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dv) { average(c, dy, dv); }

 private:
  static void average(context<T>& c, tensor3<T const> x, tensor3<T> y) {
    extents3 const shape = x.extents();
    c.compute([&] {  // skipped while the memory of a step is measured
      c.threads.parallel_for(static_cast<unsigned>(shape.batch), [&](unsigned sample) {
        index_t const b = sample, rows = c.valid_rows(b, shape.length);
        for (index_t i = 0; i < shape.channels; ++i) {
          T sum = 0;
          for (index_t n = 0; n < rows; ++n) sum += x(b, n, i);
          for (index_t n = 0; n < rows; ++n) y(b, n, i) = sum / static_cast<T>(rows);
        }
      });
    });
  }
};
using averaging_mixer = mixers::projected<averaging<float>>;
// [/snippet custom]

// [snippet train]
template <class Mixer>
double train_and_test() {
  adding const task({32, /*seed*/ 1, /*to learn from*/ 100000, /*tests*/ 1000});
  encoder_config config;
  config.width = 32, config.hidden = 64, config.pool_kind = pooling::cls;
  encoder<Mixer> model(task.shape(), config, typename Mixer::config{}, /*seed*/ 1);

  training_config training;
  training.batch = 40, training.steps = 600, training.threads = 2;
  training.rate.rate = 2e-3, training.rate.warmup = 100;
  trainer run(model, task, training);
  while (run.step() < run.steps()) run.train();
  return run.test([] { return true; }).accuracy();
}
// [/snippet train]

}  // namespace

int main() {
  // [snippet swap]
  double const sorted = train_and_test<mixers::sorting<ss::ascending>>();
  double const averaged = train_and_test<averaging_mixer>();
  // [/snippet swap]
  std::fprintf(stderr, "sorting %.3f, averaging %.3f\n", sorted, averaged);
  double const constant = 0.1536;  // accuracy of a constant output of 0.5
  std::printf("sorting is above a constant: %s\n", sorted > 2 * constant ? "yes" : "no");
  std::printf("averaging is above a constant: %s\n", averaged > 2 * constant ? "yes" : "no");
}

// output:
// sorting is above a constant: yes
// averaging is above a constant: yes
