// SPDX-License-Identifier: Apache-2.0
// Losses of a few training steps of every kind of mixer, one a line: compiled with the library's
// own products and with a BLAS, for check_losses.py.
#include "learning/gemm.hpp"
#include "learning/mixers/attention.hpp"
#include "learning/mixers/sorting.hpp"
#include "learning/mixers/sparse_mix.hpp"
#include "learning/tasks/noise.hpp"
#include "learning/trainer.hpp"

#include <cstdio>

namespace {

using namespace learning;

template <class Mixer, class Block>
void print_losses(char const* name) {
  noise const samples(64);
  encoder_config with;
  with.width = 32, with.hidden = 48;
  encoder<Mixer, Block> m(samples.shape(), with, {}, 1);
  training_rules rules;
  rules.batch = 20, rules.steps = 8, rules.update.clip = 1;
  trainer t(m, samples, rules);
  while (t.step() < t.steps()) {
    double const loss = t.train().mean_loss();
    std::printf("%s %lld %.9g\n", name, static_cast<long long>(t.step()), loss);
  }
}

}  // namespace

int main() {
  std::printf("products %s\n", learning::gemm_name);
  print_losses<mixers::sorting<>, pre_norm>("sorting");
  print_losses<mixers::attention<>, post_norm>("attention");
  print_losses<mixers::sparse_mix<>, bare>("sparse_mix");
}
