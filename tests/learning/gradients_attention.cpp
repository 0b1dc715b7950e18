// SPDX-License-Identifier: Apache-2.0
// Compares the gradients of models with softmax attention with central differences in double.
#include "learning/mixers/attention.hpp"
#include "trial.hpp"

#include <doctest/doctest.h>

using namespace learning_tests;
namespace ss = slicesort;

TEST_CASE("softmax attention, with dropout of its weights and a mask, in both blocks") {
  generated_batch<double> const samples(small_tokens());
  mixers::attention<ss::mask::full, double>::config full;
  full.heads = 2, full.dropout = 0.25, full.inputs = full.out = bias::learned;
  encoder<mixers::attention<ss::mask::full, double>> first(small_tokens(), small_encoder(), full,
                                                           1);
  check_gradients(first, samples.view());

  mixers::attention<ss::mask::window, double>::config window;
  window.mask = {2, 1}, window.inner = 6, window.heads = 3;
  encoder<mixers::attention<ss::mask::window, double>, post_norm> second(
      small_tokens(), small_encoder(), window, 1);
  check_gradients(second, samples.view());
}
