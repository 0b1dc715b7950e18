// SPDX-License-Identifier: Apache-2.0
// The weights of each recipe as a matrix, beside those of softmax attention. With the identity as
// values, the output of a layer is its matrix. docs/recipes/draw_recipe_maps.py draws the output.
#include "recipes/linformer.hpp"
#include "recipes/long_short.hpp"
#include "recipes/mega/mega.hpp"
#include "recipes/nystromformer.hpp"
#include "recipes/reformer.hpp"
#include "recipes/sinkformer.hpp"
#include "recipes/sinkhorn_transformer.hpp"
#include "recipes/state_space/etsmlp.hpp"
#include "recipes/state_space/s4d.hpp"
#include "recipes/synthesizer.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

using host = ss::exec::host;
constexpr ss::index_t rows = 16, channels = 4;
constexpr ss::extents4 row_shape{1, 1, rows, channels}, map_shape{1, 1, rows, rows};

struct matrix {
  ss::extents4 shape;
  std::vector<double> elements;

  explicit matrix(ss::extents4 e) : shape(e), elements(static_cast<std::size_t>(e.size())) {}
  ss::tensor4<double> view() { return {elements.data(), shape}; }
};
matrix identity() {
  matrix m(map_shape);
  for (ss::index_t i = 0; i < rows; ++i) m.view()(0, 0, i, i) = 1;
  return m;
}
// Slow rotations: neighboring rows are similar, and so are rows a period apart. Row 5 is larger,
// and attracts weight.
matrix rotating_rows() {
  matrix m(row_shape);
  std::size_t next = 0;
  for (ss::index_t i = 0; i < rows; ++i)
    for (double const frequency : {0.4, 0.8})
      for (double const phase : {0.0, 1.5})
        m.elements[next++] =
            (i == 5 ? 2.0 : 1.2) * std::cos(frequency * static_cast<double>(i) + phase);
  return m;
}
// Parameters in -size .. size, which training would find.
matrix parameters(ss::extents4 e, double size, std::uint32_t seed) {
  matrix m(e);
  for (double& element : m.elements) {
    seed = seed * 1664525 + 1013904223;
    element = size * (static_cast<double>(seed >> 8) * 0x1p-23 - 1);
  }
  return m;
}

// Prints the output of a layer, in percent.
template <class Layer, class Params>
void print_map(char const* name, Layer&& layer, Params const& params) {
  matrix map(map_shape);
  layer.forward(params, map.view());
  std::printf("%s\n", name);
  for (ss::index_t i = 0; i < rows; ++i) {
    for (ss::index_t j = 0; j < rows; ++j)
      std::printf("%4d", static_cast<int>(std::lround(100 * map.view()(0, 0, i, j))));
    std::printf("\n");
  }
}

}  // namespace

int main() {
  matrix x_rows = rotating_rows(), identity_matrix = identity();
  ss::tensor4<double> const x = x_rows.view(), v = identity_matrix.view();
  host const exec;

  // One half-step is a softmax of the rows.
  print_map("softmax attention", recipes::sinkformer<double, host>(exec, 1),
            recipes::sinkformer_params<double>{x, x, v});

  matrix e = parameters({1, 1, 4, rows}, .5, 1), f = parameters({1, 1, 4, rows}, .5, 2);
  // [snippet]
  // v is the identity, so that the output is the matrix of the layer.
  print_map("linformer", recipes::linformer<double, host>(exec),
            recipes::linformer_params<double>{x, x, v, e.view(), f.view()});
  // [/snippet]

  matrix filter({1, 1, 1, 3});
  filter.elements = {.1, .2, .1};
  print_map("nystromformer", recipes::nystromformer<double, host>(exec, 4),
            recipes::nystromformer_params<double>{x, x, v, filter.view()});

  matrix map = parameters(map_shape, 3, 3);
  print_map("synthesizer", recipes::synthesizer<double, host>(exec),
            recipes::synthesizer_params<double>{{}, {}, v, map.view()});

  matrix w = parameters({1, 1, channels, 3}, 1, 4);
  print_map("long_short", recipes::long_short<double, host>(exec, ss::mask::window{2, 2}),
            recipes::long_short_params<double>{x, x, v, x, w.view()});

  matrix logits = parameters({1, 1, 4, 4}, 3, 5);
  print_map("sinkhorn_transformer", recipes::sinkhorn_transformer<double, host>(exec, 4),
            recipes::sinkhorn_transformer_params<double>{x, x, v, logits.view()});

  matrix rotations = parameters({1, 2, 2, channels}, 1, 6);  // two rounds, four buckets
  print_map("reformer", recipes::reformer<double, host>(exec, 4),
            recipes::reformer_params<double>{x, v, rotations.view()});

  print_map("sinkformer", recipes::sinkformer<double, host>(exec, 9),
            recipes::sinkformer_params<double>{x, x, v});

  // SiLU of this number is 1.
  constexpr double unit = 1.278464542761074;
  matrix gates(map_shape), values = identity(), gamma({1, 2, 1, channels}), beta = gamma,
                           bias({1, 1, 1, 2 * rows - 1});
  for (double& element : gates.elements) element = unit;
  for (double& element : values.elements) element *= unit;
  for (double& element : gamma.elements) element = 2;
  for (ss::index_t i = 0; i < 2 * rows - 1; ++i)
    bias.view()(0, 0, 0, i) = -.1 * std::fabs(static_cast<double>(i - rows + 1));
  recipes::mega_params<double> const mega{x,           gates.view(), values.view(), gamma.view(),
                                          beta.view(), bias.view()};
  print_map("mega", recipes::mega<double, host>(exec), mega);
  print_map("mega in chunks", recipes::mega<double, host>(exec, 8), mega);

  // The same parameters for all channels: one state forward, and one in reverse.
  matrix step({1, 1, 1, rows}), decay = step, frequency = step, skip = step, c({1, 4, 1, rows});
  for (ss::index_t i = 0; i < rows; ++i) {
    decay.view()(0, 0, 0, i) = std::log(.2), frequency.view()(0, 0, 0, i) = 1.2;
    c.view()(0, 0, 0, i) = .25, c.view()(0, 2, 0, i) = -.12;
  }
  print_map("s4d", recipes::s4d<double, host>(exec),
            recipes::s4d_params<double>{v, step.view(), decay.view(), frequency.view(), c.view(),
                                        skip.view()});
  matrix rates = parameters({1, 4, 1, rows}, .5, 7), weights = parameters({1, 4, 1, rows}, .5, 8);
  for (ss::index_t i = 0; i < rows; ++i)
    for (ss::index_t direction : {0, 1}) {
      rates.view()(0, 2 * direction, 0, i) -= .7;
      rates.view()(0, 2 * direction + 1, 0, i) += 2.5;
    }
  print_map("etsmlp", recipes::etsmlp<double, host>(exec),
            recipes::etsmlp_params<double>{v, rates.view(), weights.view(), skip.view()});
}

// output:
// softmax attention
//   19  14   7   3   2   1   3   4   4   4   3   2   3   5  10  17
//   15  19  14   7   4   1   2   3   4   5   4   3   2   3   5  10
//    7  14  19  15   8   3   2   2   3   4   5   4   3   2   2   4
//    3   7  14  20  15  10   3   2   2   3   4   5   4   3   2   2
//    2   3   7  13  17  27   6   3   2   2   3   4   4   3   2   2
//    0   0   1   3   9  68   9   3   1   0   0   1   1   1   1   0
//    2   2   2   3   6  28  17  14   7   3   2   2   2   3   4   3
//    4   3   2   2   3  11  15  20  15   7   3   2   2   3   4   4
//    5   4   3   2   2   3   8  16  20  14   7   3   2   2   3   4
//    4   5   4   3   2   2   4   8  15  19  15   8   4   2   2   3
//    3   4   5   5   3   1   2   3   7  14  20  16   8   4   2   2
//    2   3   4   5   4   2   2   2   3   7  15  20  15   8   4   2
//    3   2   3   4   5   3   3   2   2   4   8  15  20  15   8   4
//    5   3   2   3   4   4   4   3   2   2   4   8  15  20  15   8
//   10   4   2   2   2   3   4   4   3   2   2   3   7  15  20  16
//   17   9   4   2   2   2   4   4   4   3   2   2   3   8  15  20
// linformer
//  -21 -15  21  10  11  -9  11  -6 -15 -10  -8 -16 -23   9  -7  -1
//  -20 -15  24   9  10  -7  14  -5 -15 -10  -8 -14 -24   7  -6   1
//  -13 -14  19  12   1 -10  13  -1 -11  -2  -1  -4 -20   9  -5   7
//   -6 -10  13  15 -12 -11  12   6  -3  12  10  10 -14   8  -1  18
//   -7  -4  13  12 -17  -2  14  16   5  23  17  22 -13  -1  11  27
//  -17   6  24   1 -18  23  24  31  16  34  21  38 -19 -25  32  38
//  -16   4  21   3 -16  18  21  28  14  32  20  33 -17 -21  28  35
//  -18   5  23   2 -15  21  22  29  15  32  20  33 -18 -23  30  35
//  -19   3  22   2 -11  18  20  25  11  27  16  27 -19 -20  26  31
//  -24  -4  23   3   2   9  17  12   0  10   5   6 -22 -11  15  16
//  -29 -10  25   4  16   2  13   0 -11  -6  -7 -14 -25  -2   3   1
//  -28 -13  20   7  18  -6   9  -5 -14  -9  -8 -21 -23   5  -2  -3
//  -22 -13  12  12  13 -14   4  -5 -12  -4  -3 -20 -18  12  -6  -2
//  -17 -13   6  16   9 -20   1  -5 -11  -1   1 -18 -14  17  -8   0
//  -16 -14   8  16   7 -19   3  -5 -12  -1   1 -17 -15  17  -9   1
//  -18 -15  16  12   9 -14   8  -6 -14  -6  -4 -16 -19  13  -8   0
// nystromformer
//   30  22  11   8   5   1   3   3   3   3   4   4   6   8   9   9
//   21  36  26  11   6   0   2   2   4   4   4   4   3   3   4   8
//   11  26  37  22   7   2   3   3   4   5   5   4   2   2   3   7
//    8  12  23  30  17  11   6   5   4   4   4   3   2   2   3   5
//    4   6   6  17  29  35  11   7   4   3   3   2   3   3   3   4
//    0   0   1   4  21  67  28  11   4   0  -1   0   1   1   1   1
//    2   1   2   4   9  44  34  19   5   3   2   2   3   4   3   2
//    2   2   3   4   7  24  21  28  16   6   6   5   4   4   3   3
//    3   4   4   4   5  10   6  17  29  22  12   9   5   3   2   3
//    3   4   5   4   3   1   4   6  21  36  27  11   6   3   2   2
//    4   4   5   4   3  -1   3   6  11  27  37  22   7   4   3   3
//    5   4   4   4   3   1   3   5   9  13  23  30  18   7   7   5
//    6   3   2   2   3   3   4   4   5   6   7  18  30  23  13   9
//    7   3   1   2   3   4   4   4   3   2   3   6  21  37  27  12
//    8   4   3   2   3   3   4   3   2   1   2   6  11  27  38  22
//    9   8   7   5   4   2   3   3   3   2   3   5   9  13  23  31
// synthesizer
//    0   2  16   9   1  15   4   1   0   8   0  10   2   7   5  20
//    0   1   0   1   3   0   1   1   1   3  10  22  19  34   0   2
//    1   1   1   2   1   9  11   0   2  17   1   3  40   0   1  10
//    0   3   7   8   0  11   1  15   1   0  28   1   0   2   0  23
//    2   1   2   3   4   0  17   2   1   1   1   6   1  24  34   2
//    0   8  11   1   0   1   2  12  35   4   0   0   3   0   1  22
//   19  19   0   1   3   1  10  10   1   0  21   5   5   2   2   0
//    5   6   1  17   0  20   2   0   3  10   4  30   1   0   1   0
//    0   0  15  12  11  18   0  11   3  10  15   0   3   0   0   1
//    0   5   3   0   1   1   4   9   5   1  13  23   1  32   0   0
//    1   0  24   8   1  11   2  11   0   0   6   2  28   5   1   1
//    4   8   9   7  25   3   0   2  15   1   9   4   1   9   0   2
//    4   1   6   1  18   3  13   2   1   7   7   1   1   4  31   0
//    1  27   0   0   1  15   1  20   3   1   7  11   6   6   1   0
//    6   2   4  12  15   2  11  15   9   8  12   3   0   0   0   0
//    4   1   2   1   3   0   6   1   3   0   1   1  16  13  31  18
// long_short
//   39  28  14   1   2   3   1   1   1   1   1   2   2   2   1   1
//   23  29  22  12   1   3   1   1   1   1   1   1   2   1   1   1
//   10  19  26  21  12   3   1   1   1   1   1   1   2   1   1   1
//    1   9  19  25  20  16   1   1   1   1   1   1   2   1   1   1
//    1   1   8  16  21  35   9   1   1   1   1   1   2   2   1   1
//    0   0   1   4  10  69  10   3   0   0   0   0   1   1   0   0
//    1   1   1   1   9  36  21  16   8   0   1   1   2   1   1   1
//    1   1   1   1   1  16  20  25  19   9   1   1   2   1   1   1
//    1   1   1   1   1   2  12  21  26  19  10   1   2   1   1   1
//    1   1   1   1   1   2   1  11  20  26  20  11   2   1   1   1
//    1   1   1   1   1   2   1   1  10  19  26  21  12   2   1   1
//    1   1   1   1   1   3   1   1   1  10  20  27  21  11   1   1
//    1   1   1   1   1   3   1   1   1   1  10  20  27  20  10   1
//    1   1   1   1   1   3   1   1   1   1   1  11  21  26  20  11
//    1   1   1   1   1   3   1   1   1   1   1   2  12  23  29  23
//    1   1   1   1   2   3   1   1   1   1   1   2   2  16  30  38
// sinkhorn_transformer
//   31  22  11   6   1   1   1   2   1   2   2   3   3   3   5   6
//   21  26  20  11   1   1   1   1   1   1   2   2   2   2   3   4
//   10  21  28  22   1   1   1   1   1   1   1   2   3   2   3   3
//    6  13  25  34   1   1   1   1   2   2   1   1   4   3   3   3
//    1   2   3   6  24  39   9   4   1   2   3   5   0   0   0   0
//    0   0   0   1  10  74  10   3   0   0   0   1   0   0   0   0
//    3   2   1   2   8  37  23  18   2   1   1   1   0   0   0   0
//    6   3   2   2   5  16  23  31   5   3   2   1   0   0   0   0
//    0   0   0   0   4   5   9  13  28  21  11   7   0   0   0   0
//    0   0   0   0   4   3   5   8  21  26  21  12   0   0   0   0
//    0   0   0   0   4   2   4   5  11  21  29  23   0   0   0   0
//    0   0   0   0   6   4   4   4   7  13  26  35   0   0   0   0
//    4   3   3   2   1   0   0   0   1   1   1   1  34  26  15   8
//    3   3   3   2   1   0   0   0   1   1   1   1  22  27  22  13
//    3   3   3   3   0   0   0   0   1   1   1   1  12  21  28  22
//    3   3   4   3   0   1   1   0   1   1   1   1   9  15  26  32
// reformer
//    0  14   0   6   4   4  11  13  14  12   5   0   0   0   0  15
//   13   0  13   0   0   0   4   5   6   7  12   5   4   5   7  20
//    8  24   0  12   8   5   0   0   0   6  13   6   5   4   4   6
//    4  14  21   0  22  14   0   0   0   8  11   6   0   0   0   0
//    4  10  16  24   0  23   0   0   0   8   9   6   0   0   0   0
//    3   6  10  21  41   0   0   0   0   7   7   4   0   0   0   0
//    5   0   0   5   8  12   0  24  17   5   0   4   4   5   6   5
//    5   0   0   4   5   8  24   0  24   8   0   4   4   4   5   6
//    6   0   0   4   4   6  18  25   0  12   0   5   4   4   5   6
//    5  12   6   5   4   4   6   8  12   0  24   8   0   0   0   5
//    5  12   7   0   0   0   5   6   9  14   0  14   9   6   5   9
//    0   4  11   6   6   5   0   0   0   0  12   0  25  16  10   4
//    5   0   5   6   6   6   5   4   4   0   0  13   0  25  17   6
//    6   0   4   4   5   6   5   4   4   0   0   8  23   0  23   8
//   10   0   4   4   4   5   6   6   5   0   0   5  16  24   0  12
//   13   0   0   0   0   0  10  12  11   0   0   4  10  16  24   0
// sinkformer
//   19  14   7   3   2   1   3   4   5   4   3   2   3   5  10  17
//   14  19  15   8   4   1   2   3   4   5   4   3   2   3   5   9
//    7  15  20  16   8   1   2   2   3   5   5   4   3   2   2   4
//    3   8  16  21  16   5   4   2   2   3   5   5   4   3   2   2
//    2   4   8  16  20  14   7   4   2   2   3   4   5   4   2   2
//    1   1   1   5  14  49  15   5   2   1   1   1   2   2   1   1
//    3   2   2   4   7  15  20  16   8   4   2   2   3   4   4   4
//    4   3   2   2   4   5  16  21  16   8   3   2   2   3   4   4
//    5   4   3   2   2   2   8  16  20  15   7   3   2   2   3   4
//    4   5   5   3   2   1   4   8  15  20  15   8   4   2   2   3
//    3   4   5   5   3   1   2   3   7  15  20  15   8   4   2   2
//    2   3   4   5   4   1   2   2   3   8  15  20  16   8   3   2
//    3   2   3   4   5   2   3   2   2   4   8  16  20  15   7   4
//    5   3   2   3   4   2   4   3   2   2   4   8  15  20  15   8
//   10   5   2   2   2   1   4   4   3   2   2   3   7  15  20  15
//   17   9   4   2   2   1   4   4   4   3   2   2   4   8  15  19
// mega
//   54  21   4   1   1   0   1   2   3   1   0   0   0   1   2   8
//   38  30   9   4   2   1   1   2   3   2   1   1   1   1   2   6
//   16  21  19  12   7   2   2   2   3   3   2   2   2   2   2   4
//    7  11  16  17  12   5   4   3   3   4   4   3   3   2   2   2
//    4   6  10  12  14  12   9   6   4   4   4   4   3   3   2   2
//    1   0   1   1   3  51  23   7   1   1   1   1   1   3   4   1
//    1   1   1   2   3  34  26  13   4   2   1   1   1   3   5   2
//    5   3   1   1   2  11  15  25  15   5   2   1   1   2   4   5
//    7   4   2   2   2   2   5  17  30  13   4   2   2   1   2   6
//    4   4   2   2   3   2   3   8  18  17  11   8   6   3   3   4
//    1   2   2   2   3   2   2   3   5  10  18  21  16   8   4   2
//    1   1   1   2   2   1   1   1   2   6  15  26  22  11   4   2
//    1   1   1   1   1   2   1   1   1   3   9  18  25  20  10   4
//    1   1   1   1   1   3   2   1   1   1   3   5  12  32  28   7
//    2   1   0   0   0   3   2   2   1   1   1   2   4  20  42  19
//    9   3   1   0   0   1   1   2   2   1   1   1   2   6  22  48
// mega in chunks
//   64  25   5   2   1   1   1   2   0   0   0   0   0   0   0   0
//   44  35  11   4   2   1   1   2   0   0   0   0   0   0   0   0
//   20  26  23  15   8   3   3   3   0   0   0   0   0   0   0   0
//    9  15  21  22  16   7   6   4   0   0   0   0   0   0   0   0
//    5   8  13  17  19  17  13   8   0   0   0   0   0   0   0   0
//    1   1   1   2   3  58  27   8   0   0   0   0   0   0   0   0
//    2   1   2   2   4  42  32  16   0   0   0   0   0   0   0   0
//    7   4   2   2   4  18  24  39   0   0   0   0   0   0   0   0
//    0   0   0   0   0   0   0   0  50  21   7   4   3   3   4   9
//    0   0   0   0   0   0   0   0  25  24  15  12   9   5   4   6
//    0   0   0   0   0   0   0   0   6  12  21  25  19   9   4   3
//    0   0   0   0   0   0   0   0   3   7  17  29  25  13   5   2
//    0   0   0   0   0   0   0   0   2   4  10  20  27  22  11   4
//    0   0   0   0   0   0   0   0   1   1   3   6  14  36  31   8
//    0   0   0   0   0   0   0   0   1   1   1   2   5  22  47  21
//    0   0   0   0   0   0   0   0   3   1   1   1   2   7  26  58
// s4d
//   19   3  14   6  -6  -7   0   5   3  -1  -3  -1   1   1   0  -1
//   -7  19   3  14   6  -6  -7   0   5   3  -1  -3  -1   1   1   0
//  -28  -7  19   3  14   6  -6  -7   0   5   3  -1  -3  -1   1   1
//  -12 -28  -7  19   3  14   6  -6  -7   0   5   3  -1  -3  -1   1
//   12 -12 -28  -7  19   3  14   6  -6  -7   0   5   3  -1  -3  -1
//   15  12 -12 -28  -7  19   3  14   6  -6  -7   0   5   3  -1  -3
//    1  15  12 -12 -28  -7  19   3  14   6  -6  -7   0   5   3  -1
//   -9   1  15  12 -12 -28  -7  19   3  14   6  -6  -7   0   5   3
//   -6  -9   1  15  12 -12 -28  -7  19   3  14   6  -6  -7   0   5
//    3  -6  -9   1  15  12 -12 -28  -7  19   3  14   6  -6  -7   0
//    6   3  -6  -9   1  15  12 -12 -28  -7  19   3  14   6  -6  -7
//    2   6   3  -6  -9   1  15  12 -12 -28  -7  19   3  14   6  -6
//   -3   2   6   3  -6  -9   1  15  12 -12 -28  -7  19   3  14   6
//   -3  -3   2   6   3  -6  -9   1  15  12 -12 -28  -7  19   3  14
//    0  -3  -3   2   6   3  -6  -9   1  15  12 -12 -28  -7  19   3
//    2   0  -3  -3   2   6   3  -6  -9   1  15  12 -12 -28  -7  19
// etsmlp
//   42  19  11   9   7   1   3  -2   0  -1  -2   2   0   0   0   0
//   17  61  22   9  14   3   4  -1   1  -1  -2   0   0   0   0   0
//   11  20  70   8  22   6   6   0   3  -1  -2  -2   0   0   0   0
//    7  10  24  91  28  14   9   3   6   0  -2  -5   1   1   0   0
//    5   4  14  40  44  32  12  10   9   2  -1  -7   2   1   0   0
//    3   1   7  18  17 105  16  20  12   4   2  -8   3   1   0   0
//    2  -1   3   7  17  30  63  35  14   8   6  -6   5   2  -2  -1
//    1  -1   0   3  16  19  41  99  14  13  11   1   8   3  -3  -1
//    0  -1  -1   1  14  10  33  33  39  19  16  11  12   4  -4  -1
//    0   0  -1   0  11   4  24  24  21  63  20  23  17   6  -3   0
//    0   0  -1   0   9   1  14  17  15  20  74  32  24   8   2   1
//    0   0  -1   0   7   0   5  12  11   7  36  62  34  11  11   3
//    0   0   0   0   5  -1  -1   8   7   1  14  18  81  14  21   7
//    0   0   0   0   3  -1  -5   6   5  -2   0  11  30  43  28  14
//    0   0   0   0   2   0  -7   4   3  -2  -6   6  22  23  57  25
//    0   0   0   0   1   0  -7   2   2  -1  -6   4  13  18  33  61
