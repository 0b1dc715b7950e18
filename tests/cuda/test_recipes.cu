// SPDX-License-Identifier: Apache-2.0
// The recipes of examples/recipes on a GPU, compared with the host. Most in float only: 16-bit
// kernels have tests of their own, and tests/recipes checks where recipes round.
#include "backend/device.hpp"

#include "recipes/check.hpp"

#include "recipes/linformer.hpp"
#include "recipes/long_short.hpp"
#include "recipes/mega/mega.hpp"
#include "recipes/mega/mega_csp.hpp"
#include "recipes/mega/moving_average.hpp"
#include "recipes/mega/pointwise_attend.hpp"
#include "recipes/nystromformer.hpp"
#include "recipes/reformer.hpp"
#include "recipes/sinkformer.hpp"
#include "recipes/sinkhorn_transformer.hpp"
#include "recipes/sort_net.hpp"
#include "recipes/state_space/etsmlp.hpp"
#include "recipes/state_space/s4d.hpp"
#include "recipes/state_space/s5.hpp"
#include "recipes/state_space/spade.hpp"
#include "recipes/synthesizer.hpp"
#include "recipes/synthesizer_maps.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

using namespace recipe_checks;
using ss::bfloat16, ss::float16, ss::extents4, ss::index_t, ss::tensor4;
using support::device_bytes, support::device_stream;

namespace {

std::vector<index_t> const lengths{9, 21};
constexpr extents4 shape{2, 2, 21, 16};

// Tensors of a layer in device memory.
template <class T>
class device_tensors {
 public:
  explicit device_tensors(std::vector<owned<T>>& tensors) : tensors_(tensors) {
    for (owned<T> const& x : tensors) {
      memory_.push_back(std::make_unique<device_bytes>(x.values.size() * sizeof(T)));
      memory_.back()->upload(x.values.data());
    }
  }
  tensor4<T> operator[](std::size_t i) const {
    return {static_cast<T*>(memory_[i]->data()), tensors_[i].shape};
  }
  void download() {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      auto const bytes = memory_[i]->download();
      std::memcpy(static_cast<void*>(tensors_[i].values.data()), bytes.data(), bytes.size());
      CHECK(memory_[i]->red_zones_intact());
    }
  }

 private:
  std::vector<owned<T>>& tensors_;
  std::vector<std::unique_ptr<device_bytes>> memory_;
};
template <class T>
struct host_tensors {
  std::vector<owned<T>>& tensors;
  tensor4<T> operator[](std::size_t i) const { return tensors[i].view(); }
};

// Calls run(exec, tensors, lengths), which writes some of the tensors, on the host in double, and
// on a stream in T. To first order, results differ by `roundings` roundings to T, and by the errors
// of sums over the length and the channels.
template <class T, class Run>
void check_on_device(std::vector<extents4> const& shapes, double roundings, Run const& run) {
  std::vector<owned<double>> expected;
  std::vector<owned<T>> tensors;
  for (extents4 const e : shapes) {
    expected.push_back(random_tensor(e, expected.size() + 1));
    tensors.push_back(convert<T>(expected.back()));
  }
  run(ss::exec::host{}, host_tensors<double>{expected}, lengths_of(lengths));

  device_stream const stream;
  device_bytes device_lengths(lengths.size() * sizeof(index_t));
  device_lengths.upload(lengths.data());
  device_tensors<T> device(tensors);
  run(ss::exec::cuda{stream.get()}, device,
      ss::row_lengths(ss::tensor1<index_t const>(static_cast<index_t*>(device_lengths.data()),
                                                 static_cast<index_t>(lengths.size()))));
  stream.wait();
  device.download();
  double const tolerance = rounding_error<T>(roundings, shape.length + shape.channels);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CAPTURE(i);
    check_close(tensors[i], expected[i], tolerance, 1);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("linformer", T, float) {
  extents4 const w{1, 2, 8, 24};
  check_on_device<T>({shape, shape, shape, w, w, shape, shape, shape, shape, shape, w, w}, 6,
                     [](auto exec, auto const& t, ss::row_lengths rows) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::linformer<U, decltype(exec)> layer(exec);
                       recipes::linformer_params<U> const params{t[0], t[1], t[2], t[3], t[4]};
                       layer.forward(params, t[6], rows);
                       layer.backward(t[5], params, t[6], {t[7], t[8], t[9], t[10], t[11]});
                     });
}
TEST_CASE_TEMPLATE("nystromformer", T, float) {
  extents4 const filters{1, 2, 1, 3};
  check_on_device<T>({shape, shape, shape, filters, shape, shape, shape, shape, shape, filters}, 6,
                     [](auto exec, auto const& t, ss::row_lengths rows) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::nystromformer<U, decltype(exec)> layer(exec, 12);
                       recipes::nystromformer_params<U> const params{t[0], t[1], t[2], t[3]};
                       layer.forward(params, t[5], rows);
                       layer.backward(t[4], params, t[5], {t[6], t[7], t[8], t[9]});
                     });
}
TEST_CASE_TEMPLATE("synthesizer with a dense map", T, float) {
  extents4 const x{2, 1, 21, 16}, w1{1, 2, 16, 8}, w2{1, 2, 8, 24}, map{2, 2, 21, 21};
  check_on_device<T>({x, w1, w2, shape, shape, map, shape, map, shape, x, w1, w2}, 6,
                     [](auto exec, auto const& t, ss::row_lengths rows) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::dense_map<U, decltype(exec)> dense(exec);
                       recipes::synthesizer<U, decltype(exec)> layer(exec);
                       recipes::dense_map_params<U> const map_params{t[0], t[1], t[2]};
                       recipes::synthesizer_params<U> const params{{}, {}, t[3], t[5]};
                       dense.forward(map_params, t[5], rows);
                       layer.forward(params, t[6], rows);
                       layer.backward(t[4], params, t[6], {{}, {}, t[8], t[7]});
                       dense.backward(t[7], map_params, {t[9], t[10], t[11]});
                     });
}
TEST_CASE_TEMPLATE("factorized map", T, float, double, float16, bfloat16) {
  extents4 const factor{1, 2, 21, 4}, map{1, 2, 21, 21};
  check_on_device<T>({factor, factor, map, map, factor, factor}, 6,
                     [](auto exec, auto const& t, ss::row_lengths) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::factorized_map<U, decltype(exec)> layer(exec);
                       recipes::factorized_map_params<U> const params{t[0], t[1]};
                       layer.forward(params, t[2]);
                       layer.backward(t[3], params, {t[4], t[5]});
                     });
}
TEST_CASE_TEMPLATE("long_short", T, float) {
  extents4 const x{2, 1, 21, 8}, w{1, 2, 8, 4}, norm{1, 2, 1, 16};
  check_on_device<T>({shape, shape, shape, x, w, shape, shape, shape, shape, shape, x, w}, 8,
                     [](auto exec, auto const& t, ss::row_lengths rows) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::long_short<U, decltype(exec)> layer(exec, {3, 2});
                       recipes::long_short_params<U> const params{t[0], t[1], t[2], t[3], t[4]};
                       layer.forward(params, t[6], rows);
                       layer.backward(t[5], params, t[6], {t[7], t[8], t[9], t[10], t[11]});
                     });
  // With norms, whose deviations of at least 1/2 double errors.
  check_on_device<T>({shape, shape, shape, x,    w,    shape, shape, shape, shape, shape,
                      x,     w,     norm,  norm, norm, norm,  norm,  norm,  norm,  norm},
                     2 * 12, [](auto exec, auto const& t, ss::row_lengths rows) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::long_short<U, decltype(exec)> layer(exec, {3, 2}, .25);
                       recipes::long_short_params<U> const params{
                           t[0], t[1], t[2], t[3], t[4], {t[12], t[13]}, {t[14], t[15]}};
                       layer.forward(params, t[6], rows);
                       layer.backward(
                           t[5], params, t[6],
                           {t[7], t[8], t[9], t[10], t[11], {t[16], t[17]}, {t[18], t[19]}});
                     });
}
TEST_CASE_TEMPLATE("reformer", T, float) {
  // Two buckets: the sign of the score of a row, which rounding keeps.
  extents4 const rotations{1, 2, 1, 16};
  for (bool causal : {false, true})
    check_on_device<T>({shape, shape, rotations, shape, shape, shape, shape}, 8,
                       [=](auto exec, auto const& t, ss::row_lengths rows) {
                         using U = typename decltype(t[0])::value_type;
                         recipes::reformer<U, decltype(exec)> layer(exec, 4, causal);
                         recipes::reformer_params<U> const params{t[0], t[1], t[2]};
                         layer.forward(params, t[4], rows);
                         layer.backward(t[3], params, t[4], {t[5], t[6]});
                       });
}
TEST_CASE_TEMPLATE("sinkformer", T, float) {
  check_on_device<T>({shape, shape, shape, shape, shape, shape, shape, shape}, 8,
                     [](auto exec, auto const& t, ss::row_lengths rows) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::sinkformer<U, decltype(exec)> layer(exec);
                       recipes::sinkformer_params<U> const params{t[0], t[1], t[2]};
                       layer.forward(params, t[4], rows);
                       layer.backward(t[3], params, t[4], {t[5], t[6], t[7]});
                     });
}
TEST_CASE_TEMPLATE("sinkhorn_transformer and sort_net", T, float) {
  extents4 const w{1, 2, 16, 6}, logits{2, 2, 5, 5};
  for (auto join : {recipes::joined_by::softmax, recipes::joined_by::sum})
    check_on_device<T>(
        {shape, shape, shape, w, shape, logits, shape, shape, shape, shape, logits, shape, w}, 8,
        [=](auto exec, auto const& t, ss::row_lengths rows) {
          using U = typename decltype(t[0])::value_type;
          recipes::sort_net<U, decltype(exec)> net(exec, 5);
          recipes::sinkhorn_transformer<U, decltype(exec)> layer(exec, 5, join);
          recipes::sort_net_params<U> const net_params{t[1], t[3]};
          recipes::sinkhorn_transformer_params<U> const params{t[0], t[1], t[2], t[5]};
          net.forward(net_params, t[5], rows);
          layer.forward(params, t[6], rows);
          layer.backward(t[4], params, t[6], {t[7], t[8], t[9], t[10]});
          net.backward(t[10], net_params, {t[11], t[12]});
        });
}
// State spaces round results once; their decays are floats.
constexpr extents4 rows{2, 1, 21, 16}, per_channel{1, 1, 1, 16};
constexpr extents4 per_number(index_t numbers) { return {1, numbers, 1, 16}; }

TEST_CASE_TEMPLATE("s4d", T, float, bfloat16) {
  extents4 const state = per_number(3), c = per_number(12);
  check_on_device<T>({rows, per_channel, state, state, c, per_channel, rows, rows, rows,
                      per_channel, state, state, c, per_channel},
                     2, [](auto exec, auto const& t, ss::row_lengths valid) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::s4d<U, decltype(exec)> layer(exec);
                       recipes::s4d_params<U> const params{t[0], t[1], t[2], t[3], t[4], t[5]};
                       layer.forward(params, t[7], valid);
                       layer.backward(t[6], params, t[7], {t[8], t[9], t[10], t[11], t[12], t[13]});
                     });
}
TEST_CASE_TEMPLATE("etsmlp", T, float) {
  // Angles are below pi / 2, so that all decays are limited, to 0.5.
  extents4 const number = per_number(4);
  check_on_device<T>(
      {rows, number, number, per_channel, rows, rows, rows, number, number, per_channel}, 8,
      [](auto exec, auto const& t, ss::row_lengths valid) {
        using U = typename decltype(t[0])::value_type;
        recipes::etsmlp<U, decltype(exec)> layer(exec);
        recipes::etsmlp_params<U> const params{t[0], t[1], t[2], t[3], .5};
        layer.forward(params, t[5], valid);
        layer.backward(t[4], params, t[5], {t[6], t[7], t[8], t[9]});
      });
}
TEST_CASE_TEMPLATE("moving_average", T, float) {
  extents4 const number = per_number(6);
  check_on_device<T>({rows, number, number, number, number, per_channel, rows, rows, rows, number,
                      number, number, number, per_channel},
                     2, [](auto exec, auto const& t, ss::row_lengths valid) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::moving_average<U, decltype(exec)> layer(exec);
                       recipes::moving_average_params<U> const params{t[0], t[1], t[2],
                                                                      t[3], t[4], t[5]};
                       layer.forward(params, t[7], valid);
                       layer.backward(t[6], params, t[7], {t[8], t[9], t[10], t[11], t[12], t[13]});
                     });
}
TEST_CASE_TEMPLATE("s5", T, float) {
  extents4 const state{1, 1, 1, 3}, b{1, 2, 3, 16}, c{1, 4, 16, 3};
  check_on_device<T>(
      {rows, state, state, state, b, c, per_channel, rows, rows, rows, state, state, state, b, c,
       per_channel},
      2, [](auto exec, auto const& t, ss::row_lengths valid) {
        using U = typename decltype(t[0])::value_type;
        recipes::s5<U, decltype(exec)> layer(exec);
        recipes::s5_params<U> const params{t[0], t[1], t[2], t[3], t[4], t[5], t[6]};
        layer.forward(params, t[8], valid);
        layer.backward(t[7], params, t[8], {t[9], t[10], t[11], t[12], t[13], t[14], t[15]});
      });
}
TEST_CASE_TEMPLATE("spade", T, float) {
  extents4 const state = per_number(3), c = per_number(12), heads{1, 2, 1, 16},
                 joined{2, 1, 21, 48};
  check_on_device<T>(
      {shape,  shape,       shape,       rows,  per_channel, state,       state,
       c,      per_channel, heads,       heads, per_channel, per_channel, joined,
       joined, shape,       shape,       shape, rows,        per_channel, state,
       state,  c,           per_channel, heads, heads,       per_channel, per_channel},
      2 * 8, [](auto exec, auto const& t, ss::row_lengths valid) {
        using U = typename decltype(t[0])::value_type;
        recipes::spade<U, decltype(exec)> layer(exec, {3, 2}, .25);
        typename decltype(layer)::params_type const params{
            t[0], t[1], t[2], {t[3], t[4], t[5], t[6], t[7], t[8]}, {t[9], t[10]}, {t[11], t[12]}};
        layer.forward(params, t[14], valid);
        layer.backward(t[13], params, t[14],
                       {t[15],
                        t[16],
                        t[17],
                        {t[18], t[19], t[20], t[21], t[22], t[23]},
                        {t[24], t[25]},
                        {t[26], t[27]}});
      });
}
template <class T, class Attention>
void check_mega(Attention attention) {
  extents4 const pair{1, 2, 1, 16}, bias{1, 1, 1, 41};
  for (index_t chunk : {0, 5})
    check_on_device<T>(
        {rows, rows, rows, pair, pair, bias, rows, rows, rows, rows, rows, pair, pair, bias}, 8,
        [=](auto exec, auto const& t, ss::row_lengths valid) {
          using U = typename decltype(t[0])::value_type;
          recipes::mega<U, decltype(exec), Attention> layer(exec, chunk, attention);
          recipes::mega_params<U> const params{t[0], t[1], t[2], t[3], t[4], t[5]};
          layer.forward(params, t[7], valid);
          layer.backward(t[6], params, t[7], {t[8], t[9], t[10], t[11], t[12], t[13]});
        });
}
TEST_CASE_TEMPLATE("mega", T, float) {
  check_mega<T>(ss::softmax_attention<>());
  check_mega<T>(ss::pointwise_attention<>(ss::per_key{}));
}
// In place of csp, whose bits test_every_call.cpp compares. Its kernels would be a fifth of this
// unit.
struct doubled_rows {
  extents3 saved_extents(extents3 e) const { return e; }
  ss::index_width saved_width(extents3) const { return ss::index_width::bits8; }

  template <class Exec, class T>
  void forward(Exec const& exec, ss::tensor3<T> x, ss::tensor3<T> y, ss::index_tensor3,
               ss::workspace, ss::row_lengths valid) const {
    recipes::copy(exec, ss::split_heads(x, 1), ss::split_heads(y, 1), 2, valid);
  }
  template <class Exec, class T>
  void backward(Exec const& exec, ss::tensor3<T> dy, ss::index_tensor3, ss::tensor3<T> dx,
                ss::workspace, ss::row_lengths valid) const {
    recipes::copy(exec, ss::split_heads(dy, 1), ss::split_heads(dx, 1), 2, valid);
  }
};
TEST_CASE_TEMPLATE("mega_csp and update_gate", T, float) {
  check_on_device<T>({rows, rows, rows, rows, rows, rows, rows, rows, rows, rows, rows}, 4,
                     [](auto exec, auto const& t, ss::row_lengths valid) {
                       using U = typename decltype(t[0])::value_type;
                       recipes::mega_csp<U, decltype(exec), doubled_rows> layer(exec, {});
                       recipes::mega_csp_params<U> const params{t[0], t[1]};
                       layer.forward(params, t[3], valid);
                       layer.backward(t[2], params, t[3], {t[4], t[5]});
                       recipes::update_gate<U, decltype(exec)> gate(exec);
                       recipes::update_gate_params<U> const update{t[0], t[1], t[2]};
                       gate.forward(update, t[7], valid);
                       gate.backward(t[6], update, t[7], {t[8], t[9], t[10]});
                     });
}
