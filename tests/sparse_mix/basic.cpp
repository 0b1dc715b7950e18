// SPDX-License-Identifier: Apache-2.0
// Basic tests of sparse_mix: golden values, and exact bits for every shape and type.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

constexpr residual_kind all_residuals[] = {residual_kind::per_factor, residual_kind::none,
                                           residual_kind::initial};

// All weights are 1, and x is the first unit vector.
template <class T, class Topology, class Residual>
void check_golden(Topology topology, Residual, std::vector<double> const& expected) {
  auto const n = static_cast<index_t>(expected.size());
  index_t const links = topology.links(3);
  tensor<T> x({1, n, 1}), y({1, n, 1});
  x(0, 0, 0) = from_double<T>(1);
  std::vector<T> const w(static_cast<std::size_t>(3 * n * links), from_double<T>(1));
  ss::tensor_stack<T const> const weights(w.data(), {3, 1, n, links});
  ss::sparse_mix<Topology, Residual> const op{topology};
  for_each_backend(static_cast<std::uint64_t>(links), [&](any_exec const& exec) {
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, x.extents(), weights.extents()));
    op.forward(exec, x.view(), weights, y.view(), ss::no_saved, scratch.get());
    CHECK(same_bits(y.column(0, 0), elements_of<T>(expected)));
  });
}

}  // namespace

TEST_CASE_TEMPLATE("golden", T, float, double, float16, bfloat16) {
  using ss::topology::cdil;
  using ss::topology::chord;
  ss::residual::per_factor const per_factor;
  ss::residual::none const none;
  check_golden<T>(chord{4}, per_factor, {17, 6, 16, 15, 22, 13, 21, 15});
  check_golden<T>(chord{}, per_factor, {17, 6, 16, 15, 22, 13, 21, 15});
  check_golden<T>(chord{}, none, {7, 6, 10, 9, 10, 7, 9, 6});
  check_golden<T>(cdil{}, per_factor, {8, 8, 8, 8, 8, 8, 8, 8});
  check_golden<T>(cdil{}, none, {1, 4, 3, 5, 2, 5, 3, 4});
}

TEST_CASE_TEMPLATE("results have the bits of the definition", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 0;
  index_t const lengths[] = {1, 2, 3, 5, 7, 8, 9, 31, 33, 64, 65, 127};
  index_t const channels[] = {1, 31, 32, 33, 5, 64, 65, 130, 3, 17, 48, 2};
  index_t const links[] = {1, 3, 5, 0, 9, 2, 4, 7, 6, 40, 11, 8};
  for (std::size_t i = 0; i < 12; ++i)
    for (residual_kind residual : all_residuals) {
      random_stream random(++seed);
      extents3 const e{static_cast<index_t>(random.below(3)) + 1, lengths[i],
                       channels[(i + random.below(12)) % 12]};
      auto const factors = static_cast<index_t>(random.below(6));
      auto const p = normal_mix<T>(e, factors, links[random.below(12)], residual, seed,
                                   random_lengths(e, seed));
      for_each_backend(p.backend_seed(),
                       [&](any_exec const& exec) { CHECK(check_mix(p, exec) == ""); });
    }
}

TEST_CASE_TEMPLATE("chains with many links have the bits of the definition", T, float, double,
                   float16, bfloat16) {
  std::uint64_t seed = 300;
  for (index_t links : {15, 16, 17, 33, 40, 63, 64, 65, 130}) {
    auto const p = random_mix<T>({2, 20, 40}, 2, links, all_residuals[links % 3], ++seed);
    for_each_backend(p.backend_seed(),
                     [&](any_exec const& exec) { CHECK(check_mix(p, exec) == ""); });
  }
}

// Tensors of a megabyte that are aligned to cache lines are written by streaming stores; full tiles
// are stored while they are computed. The other cases have a last tile of 16 channels, or are not
// aligned.
TEST_CASE_TEMPLATE("same bits for large tensors" * doctest::skip(!testing(backend_kind::host)), T,
                   float, bfloat16) {
  for (index_t channels : {64, 48})
    for (residual_kind residual : all_residuals) {
      index_t const length = (index_t{1} << 20) / (channels * index_t{sizeof(T)}) + 1;
      extents3 const e{1, length, channels};
      index_t const rows = length / 512 * 512;
      auto p = normal_mix<T>(e, 3, 2, residual, 160, {rows});
      // Offsets of the last two factors, which the host applies together.
      std::vector<index_t> const windows = {1, 0, -3, 2},
                                 classes = {rows / 8, 0, rows / 4, -rows / 8};
      if (residual != residual_kind::initial)
        std::copy_n((residual == residual_kind::none ? windows : classes).begin(), 4,
                    p.offsets.begin() + 2);
      p = with_mode(p, ss::grad_mode::overwrite);
      stack_extents const saved{2, 1, length, channels};
      tensor_stack<T const> const w(p.w.data(), p.weight_extents());
      for (index_t misalignment : {0, 1}) {
        auto const size = static_cast<std::size_t>(e.size()), room = 64 / sizeof(T) + 1;
        std::vector<T> outputs[] = {std::vector<T>(size + room), std::vector<T>(2 * size + room),
                                    std::vector<T>(size + room)};
        T* aligned[3];
        for (int n = 0; n < 3; ++n) {
          auto const address = reinterpret_cast<std::uintptr_t>(outputs[n].data());
          aligned[n] = outputs[n].data() + (64 - address % 64) % 64 / sizeof(T) + misalignment;
        }
        for (ss::isa set : available_isas()) {
          ss::exec::host const exec{1, set};
          with_mix(p, ss::save_all, [&](auto const& op) {
            guarded_workspace scratch(op.template workspace_bytes<T>(exec, e, p.weight_extents()));
            op.forward(exec, p.x.view(), w, tensor3<T>(aligned[0], e),
                       {tensor_stack<T>(aligned[1], saved)}, scratch.get(), {view_of(p.lengths)});
            op.backward(exec, p.dy.view(), w, tensor3<T>(aligned[2], e), scratch.get(),
                        {ss::grad_mode::overwrite, view_of(p.lengths)});
          });
          auto const matches = [&](T const* actual, std::vector<T> const& expected) {
            return same_bits(std::vector<T>(actual, actual + size), expected);
          };
          CHECK(matches(aligned[0], p.y.elements()));
          CHECK(matches(aligned[1], p.states[1].elements()));
          CHECK(matches(aligned[1] + size, p.states[2].elements()));
          CHECK(matches(aligned[2], p.dx.elements()));
        }
      }
    }
}

TEST_CASE_TEMPLATE("empty tensors, and chains without factors or links", T, float, float16) {
  for (extents3 e : {extents3{0, 5, 4}, extents3{3, 0, 4}, extents3{2, 5, 0}, extents3{2, 5, 4}})
    for (index_t factors : {0, 1, 3})
      for (index_t links : {0, 2})
        for (residual_kind residual : all_residuals) {
          auto const p = normal_mix<T>(e, factors, links, residual, 3);
          auto const with_zero_lengths =
              normal_mix<T>(e, factors, links, residual, 4,
                            std::vector<index_t>(static_cast<std::size_t>(e.batch), 0));
          for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
            CHECK(check_mix(p, exec) == "");
            CHECK(check_mix(with_zero_lengths, exec) == "");
          });
        }
}
