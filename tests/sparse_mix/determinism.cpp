// SPDX-License-Identifier: Apache-2.0
// sparse_mix gives the same bits for any number of threads, any executor, any instruction set, any
// layout, any split of the batch and any checkpoints. A chain gives the same bits as calling its
// factors one by one.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"
#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

constexpr residual_kind all_residuals[] = {residual_kind::per_factor, residual_kind::none,
                                           residual_kind::initial};

// Returns factor `m` of a problem as a problem with a single factor.
template <class T>
mix_problem<T> extract_factor(mix_problem<T> const& p, index_t m) {
  mix_problem<T> single = p;
  single.factors = 1;
  auto const slice = [&](auto const& chain, index_t size) {
    auto const first = chain.begin() + static_cast<std::ptrdiff_t>(m * size);
    return std::decay_t<decltype(chain)>(first, first + static_cast<std::ptrdiff_t>(size));
  };
  single.offsets = slice(p.offsets, p.links);
  single.w = slice(p.w, p.e.size() / std::max<index_t>(p.e.channels, 1) * p.links);
  return single;
}

}  // namespace

TEST_CASE_TEMPLATE("same bits for any checkpoints", T, float, float16) {
  std::uint64_t seed = 20;
  for (index_t factors : {1, 2, 3, 5, 8})
    for (residual_kind residual : all_residuals) {
      ++seed;
      extents3 const e{3, 13, 7};
      auto const p = normal_mix<T>(e, factors, 4, residual, seed, random_lengths(e, seed));
      for (index_t every : {index_t{0}, index_t{1}, index_t{2}, index_t{3}, factors, factors + 5})
        for_each_backend_once(
            p.backend_seed() + static_cast<std::uint64_t>(every),
            [&](any_exec const& exec) { CHECK(check_mix(p, exec, ss::save_every(every)) == ""); });
    }
}

TEST_CASE_TEMPLATE("same bits in any layout", T, float, float16) {
  std::uint64_t seed = 40;
  for (extents3 e : {extents3{1, 1, 1}, extents3{3, 9, 5}, extents3{2, 17, 33}, extents3{4, 6, 40}})
    for (int layout = 1; layout < memory_layout::count; ++layout)
      for (residual_kind residual : all_residuals) {
        random_stream random(++seed);
        auto const p = normal_mix<T>(e, 3, static_cast<index_t>(1 + random.below(5)), residual,
                                     seed, random_lengths(e, seed));
        auto const saved = ss::save_every(static_cast<index_t>(random.below(3)));
        for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
          CHECK(check_mix(p, exec, saved, memory_layout{layout}) == "");
        });
      }
}

TEST_CASE_TEMPLATE("same bits for any number of threads and executor" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, bfloat16) {
  std::uint64_t seed = 60;
  for (extents3 e : {extents3{1, 40, 70}, extents3{5, 12, 33}, extents3{1, 9, 200}})
    for (residual_kind residual : all_residuals) {
      random_stream random(++seed);
      auto const p = normal_mix<T>(e, 4, 3, residual, seed, random_lengths(e, seed));
      auto const saved = ss::save_every(static_cast<index_t>(random.below(3)));
      for (ss::isa set : portable_and_best_isa())
        for (unsigned threads : {1u, 2u, 3u, 4u, 33u})
          CHECK(check_mix(p, ss::exec::host{threads, set}, saved) == "");
      for (auto schedule : {test_executor::schedule::forwards, test_executor::schedule::backwards,
                            test_executor::schedule::scattered, test_executor::schedule::threads}) {
        test_executor executor{schedule};
        CHECK(check_mix(p, any_exec(executor, 5), saved) == "");
      }
    }
}

// Long and short samples use different kernels; together they cover all of them.
TEST_CASE_TEMPLATE("same bits for every device and tuning" *
                       doctest::skip(!testing(backend_kind::blocks)),
                   T, float, float16) {
  std::uint64_t seed = 120;
  for (index_t n : {1, 33, 129, 600})
    for (any_exec const exec : block_execs()) {
      random_stream random(++seed);
      auto const factors = static_cast<index_t>(random.below(4)) + 2;
      extents3 const e{2, n, n > 200 ? 5 : 11};
      auto const p = normal_mix<T>(e, factors, 3, all_residuals[random.below(3)], seed,
                                   random_lengths(e, seed));
      CHECK(check_mix(p, exec, ss::save_every(static_cast<index_t>(random.below(4)))) == "");
    }
}

// The host loads a row once for all sums of a block that use it by a short CHORD link.
TEST_CASE_TEMPLATE("same bits for CHORD links on every instruction set" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, double, float16) {
  std::uint64_t seed = 140;
  for (extents3 e : {extents3{1, 53, 40}, extents3{2, 24, 64}, extents3{1, 16, 33}})
    for (residual_kind residual : all_residuals) {
      ++seed;
      auto p = normal_mix<T>(e, 3, 6, residual, seed, random_lengths(e, seed));
      for (index_t k = 0; k < p.links; ++k)
        for (index_t m = 0; m < p.factors; ++m) {  // forward, backward, and almost CHORD offsets
          index_t const chord = k == 0 ? 0 : index_t{1} << (k - 1);
          p.offsets[static_cast<std::size_t>(m * p.links + k)] = m == 0   ? chord
                                                                 : m == 1 ? -chord
                                                                 : k == 4 ? 7
                                                                          : chord;
        }
      compute_expected(p);
      for (ss::isa set : available_isas()) CHECK(check_mix(p, ss::exec::host{1, set}) == "");
    }
}

// The host applies factors together if their links are short, or if their offsets have a large
// common divisor with the number of rows.
TEST_CASE_TEMPLATE("same bits for grouped factors on every instruction set" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, double) {
  std::uint64_t seed = 200;
  // Factors 0 to 2 lead to close rows, factors 4 to 6 to multiples of rows / 8.
  std::vector<index_t> const close = {0, 1, -1, 5, 0, 2, -9, -3, 8, 0, 130, -131};
  constexpr index_t rows = 512;
  for (residual_kind residual : {residual_kind::per_factor, residual_kind::none}) {
    auto p = normal_mix<T>({1, rows + 2, 3}, 7, 3, residual, ++seed, {rows});
    std::copy(close.begin(), close.end(), p.offsets.begin());
    for (std::size_t k = 12; k < p.offsets.size(); ++k)
      p.offsets[k] = rows / 8 * (static_cast<index_t>(k % 5) - 2);
    // Rows 17 apart are not grouped, since groups have runs of eight rows.
    auto apart = normal_mix<T>({1, 17 * 32, 3}, 4, 3, residual, ++seed, {});
    for (std::size_t k = 0; k < apart.offsets.size(); ++k)
      apart.offsets[k] = 17 * (3 * static_cast<index_t>(k % 5) - 5);
    for (auto* problem : {&p, &apart}) {
      compute_expected(*problem);
      for (ss::isa set : available_isas()) CHECK(check_mix(*problem, ss::exec::host{1, set}) == "");
    }
  }
}

TEST_CASE_TEMPLATE("a split of the batch changes nothing", T, float, double) {
  std::vector<index_t> const lengths = {11, 7, 0, 11, 10};
  for (residual_kind residual : all_residuals) {
    auto p = normal_mix<T>({5, 11, 35}, 3, 4, residual, 82, lengths);
    for (index_t b = 0; b < 5; ++b) {
      mix_problem<T> single = p;
      single.e.batch = 1;
      single.lengths = {p.rows(b)};
      for (auto tensor : {&mix_problem<T>::x, &mix_problem<T>::dy, &mix_problem<T>::y,
                          &mix_problem<T>::dx, &mix_problem<T>::dx_before})
        single.*tensor = sample_of(p.*tensor, b);
      for (auto& state : single.states) state = sample_of(state, b);
      for (auto weights : {&mix_problem<T>::w, &mix_problem<T>::dw, &mix_problem<T>::dw_before}) {
        (single.*weights).clear();
        for (index_t m = 0; m < p.factors; ++m)
          for (index_t i = 0; i < p.e.length; ++i)
            for (index_t k = 0; k < p.links; ++k)
              (single.*weights).push_back((p.*weights)[p.weight_index(m, b, i, k)]);
      }
      for_each_backend_once(p.backend_seed() + static_cast<std::uint64_t>(b),
                            [&](any_exec const& exec) { CHECK(check_mix(single, exec) == ""); });
    }
  }
}

TEST_CASE_TEMPLATE("a chain equals its factors one by one", T, float, double, float16, bfloat16) {
  for (residual_kind residual : {residual_kind::per_factor, residual_kind::none}) {
    std::vector<index_t> const lengths{19, 8};
    auto const p = with_mode(normal_mix<T>({2, 19, 34}, 4, 5, residual, 91, lengths),
                             ss::grad_mode::overwrite);
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      tensor<T> v = p.x, dz = p.dy;
      std::vector<tensor<T>> inputs;
      ss::backward_options const options{ss::grad_mode::overwrite, view_of(p.lengths)};
      auto const with_factor = [&](index_t m, auto const& f) {
        auto const single = extract_factor(p, m);
        with_mix(single, ss::save_all, [&](auto const& op) {
          guarded_workspace scratch(
              op.template workspace_bytes<T>(exec, single.e, single.weight_extents()));
          // A view of rank 3 holds the weights of one factor.
          tensor3<T const> const w(single.w.data(), single.weight_extents().tensor());
          f(op, w, scratch.get(), single);
        });
      };
      for (index_t m = 0; m < p.factors; ++m)
        with_factor(m, [&](auto const& op, auto w, ss::workspace scratch, auto const&) {
          inputs.push_back(v);
          tensor<T> out(p.e);
          op.forward(exec, inputs.back().view(), w, out.view(), ss::no_saved, scratch,
                     {view_of(p.lengths)});
          v = out;
        });
      CHECK(same_bits(v.elements(), p.y.elements()));
      std::vector<T> dw;
      for (index_t m = p.factors; m-- > 0;)
        with_factor(m, [&](auto const& op, auto w, ss::workspace scratch, auto const& single) {
          tensor<T> dv(p.e);
          std::vector<T> slice(single.w.size());
          op.backward(exec, std::as_const(dz).view(), inputs[static_cast<std::size_t>(m)].view(), w,
                      ss::no_saved, dv.view(),
                      tensor3<T>(slice.data(), single.weight_extents().tensor()), scratch, options);
          dw.insert(dw.begin(), slice.begin(), slice.end());
          dz = dv;
        });
      CHECK(same_bits(dz.elements(), p.dx.elements()));
      if (sums_keep_their_order) CHECK(same_bits(dw, p.dw));
    });
  }
}

TEST_CASE(
    "the workspace may have any address and contents; it grows with the threads and is empty for empty tensors") {
  for (residual_kind residual : all_residuals) {
    auto const p =
        with_mode(normal_mix<float>({2, 21, 33}, 3, 4, residual, 100), ss::grad_mode::overwrite);
    with_mix(p, ss::recompute, [&](auto const& op) {
      for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
        std::size_t const bytes = op.template workspace_bytes<float>(exec, p.e, p.weight_extents());
        tensor_stack<float const> const w(p.w.data(), p.weight_extents());
        for (std::size_t offset = 0; offset < 64; offset += 13)
          for (unsigned char fill : std::vector<unsigned char>{0x00, 0xff, 0x7f}) {
            tensor<float> y(p.e), dx(p.e);
            std::vector<float> dw(p.w.size());
            guarded_workspace scratch(bytes, offset, fill);
            op.forward(exec, p.x.view(), w, y.view(), ss::no_saved, scratch.get());
            op.backward(exec, p.dy.view(), p.x.view(), w, ss::no_saved, dx.view(),
                        tensor_stack<float>(dw.data(), p.weight_extents()), scratch.get());
            CAPTURE(describe_exec(exec));
            CHECK(same_bits(y.elements(), p.y.elements()));
            CHECK(same_bits(dx.elements(), p.dx.elements()));
            if (sums_keep_their_order) CHECK(same_bits(dw, p.dw));
            CHECK(scratch.red_zones_intact());
          }
      });
      extents3 const e{4, 1000, 100};
      stack_extents const w{5, 4, 1000, 6};
      CHECK(op.template workspace_bytes<float>(ss::exec::host{2}, e, w) >=
            op.template workspace_bytes<float>(ss::exec::host{1}, e, w));
      for (extents3 empty : {extents3{0, 10, 4}, extents3{3, 0, 4}})
        CHECK(op.template workspace_bytes<float>(ss::exec::host{2}, empty,
                                                 {5, empty.batch, empty.length, 6}) == 0);
    });
  }
}
