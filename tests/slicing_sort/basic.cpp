// SPDX-License-Identifier: Apache-2.0
// Basic tests of slicing_sort: every length up to 130 with every kind of input, on every backend.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

using namespace support;

TEST_CASE("instruction sets of this machine") {
  for (ss::isa set : {ss::isa::avx2, ss::isa::avx512})
    if (!ss::detail::is_isa_available(set))
      MESSAGE("skipped: this machine or compiler lacks ", ss::detail::isa_name(set));
  CHECK(available_isas().front() == ss::isa::portable);
}

TEST_CASE_TEMPLATE("golden permutations", T, float, double, float16, bfloat16) {
  struct golden_case {
    std::vector<double> x;
    row_order ascending, descending;
  };
  golden_case const cases[] = {{{3, 1, 2, 0}, {3, 1, 2, 0}, {0, 2, 1, 3}},
                               {{.5, 2, -1, 1, 0}, {2, 4, 0, 3, 1}, {1, 3, 0, 4, 2}},
                               {{1, 1, 0, 0, 1}, {2, 3, 0, 1, 4}, {0, 1, 4, 2, 3}},
                               {{0, -0.0, 0, -0.0}, {0, 1, 2, 3}, {0, 1, 2, 3}}};
  for (golden_case const& golden : cases)
    for (bool ascends : {true, false}) {
      auto const n = static_cast<index_t>(golden.x.size());
      tensor<T> x({1, n, 1}), y({1, n, 1});
      tensor<std::uint16_t> perm({1, n, 1});
      for (std::size_t i = 0; i < golden.x.size(); ++i)
        x.elements()[i] = from_double<T>(golden.x[i]);
      ss::slicing_sort<pattern_order> const op(pattern_order{ascends ? up : down});
      for_each_backend(static_cast<std::uint64_t>(n), [&](any_exec const& exec) {
        guarded_workspace scratch(op.template workspace_bytes<T>(exec, x.extents()));
        op.forward(exec, x.view(), y.view(), {perm.view()}, scratch.get());
        row_order const actual(perm.elements().begin(), perm.elements().end());
        CHECK(actual == (ascends ? golden.ascending : golden.descending));
        for (std::size_t i = 0; i < actual.size(); ++i)
          CHECK(same_bits(y.elements()[i], x.elements()[actual[i]]));
      });
    }
}

TEST_CASE_TEMPLATE("every length up to 130, one kind of input at a time", T, float, double, float16,
                   bfloat16) {
  // The fast suite tests half of the kinds at each length, and the others at the next length of the
  // same parity.
  for (index_t n = 0; n <= 130; ++n)
    for (int k = 0; k < all_kinds; ++k) {
      if (!full_suite() && (n / 2 + k + static_cast<int>(sizeof(T))) % 2 != 0) continue;
      // One kind fills a tile and the partial tile after it, so fast paths see no other kind.
      auto const kind = static_cast<input_kind>(k);
      std::uint64_t const order = (n + k) % 3 == 0 ? up : (n + k) % 3 == 1 ? down : irregular;
      auto const p = make_problem<T>({1, n, (n + k) % 2 == 0 ? 34 : 5}, kind,
                                     static_cast<std::uint64_t>(n), order);
      CHECK(check_all_paths(p) == "");
    }
}

TEST_CASE_TEMPLATE("every length up to 130, with different kinds of input in one tile", T, float,
                   double, float16, bfloat16) {
  for (index_t n = 0; n <= 130; ++n) {
    auto const seed = static_cast<std::uint64_t>(n);
    CHECK(check_all_paths(make_mixed_problem<T>({2, n, 23}, all_kinds, seed, irregular)) == "");
    CHECK(check_all_paths(make_mixed_problem<T>({2, n, 21}, ordinary_kinds, seed, zigzag)) == "");
  }
}

TEST_CASE("int32 saved indices") {
  for (index_t n : {0, 1, 2, 31, 64, 100}) {
    auto const p = make_mixed_problem<float>({2, n, 35}, all_kinds, 5, irregular);
    for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_saved<float, std::int32_t>(p, exec, pattern_order{irregular}) == "");
    });
  }
}
