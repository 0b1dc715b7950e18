// SPDX-License-Identifier: Apache-2.0
// softmax_attention with streaming{products::native}: results are within error bounds if the
// processor has an instruction for pairs of bfloat16, otherwise they have the bits of exact
// products.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"
#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace support;

namespace {

constexpr ss::streaming native{ss::products::native};

// Prints errors relative to their bounds.
void report(attention_error_ratios const& max_ratios) {
  MESSAGE("errors of y, state, dq, dk, dv and dbias take up " << max_ratios.describe()
                                                              << " of their bounds");
}

}  // namespace

TEST_CASE_TEMPLATE("other types and backends give the bits of exact products", T, float, double,
                   float16) {
  std::uint64_t seed = 100;
  for (attention_size size :
       {attention_size{2, 2, 50, 70, 9, 8}, attention_size{1, 1, 130, 129, 16, 5}}) {
    auto const p = random_attention<T>(size, ++seed);
    for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      CHECK(same_results(run_attention(p, exec, native), run_attention(p, exec, ss::streaming{})));
    });
  }
}

// Without the instruction, and on a GPU, native products have no effect. With it all results must
// change, which proves that it was used.
TEST_CASE("bfloat16 has the bits of exact products, unless the processor multiplies pairs") {
  auto const p =
      normal_attention<bfloat16>({1, 2, 100, 150, 64, 64}, {mask_kind::causal, 50, 0}, 7);
  auto const differ = [](std::vector<bfloat16> const& a, std::vector<bfloat16> const& b) {
    return !same_bits(a, b);
  };
  for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const actual = run_attention(p, exec, native),
               exact = run_attention(p, exec, ss::streaming{});
    if (!uses_native_products<bfloat16>(native, exec)) {
      CHECK(same_results(actual, exact));
      return;
    }
    CHECK(differ(actual.y, exact.y));
    CHECK(!same_bits(actual.state, exact.state));
    CHECK((differ(actual.dq, exact.dq) && differ(actual.dk, exact.dk) &&
           differ(actual.dv, exact.dv)));
  });
  if (!processor_has_native_products())
    MESSAGE("this processor does not multiply pairs of bfloat16");
}

TEST_CASE("every mask") {
  attention_error_ratios max_ratios;
  std::uint64_t seed = 300;
  attention_size const sizes[] = {{2, 2, 33, 33, 8, 8},
                                  {1, 2, 40, 21, 5, 17},
                                  {2, 1, 19, 70, 16, 3},
                                  {1, 1, 64, 64, 33, 40},
                                  {1, 1, 130, 259, 64, 64}};
  for (mask_kind kind : all_mask_kinds)
    for (attention_size size : sizes) {
      solved_attention<bfloat16> const solved(random_attention<bfloat16>(size, ++seed, kind));
      for_each_backend(solved.problem.backend_seed(), [&](any_exec const& exec) {
        CHECK(check_attention(solved, exec, native, memory_layout{}, &max_ratios) == "");
      });
    }
  report(max_ratios);
}

// Odd and even sizes around tile edges, and empty and tiny problems.
TEST_CASE("every size") {
  attention_error_ratios max_ratios;
  std::uint64_t seed = 500;
  index_t const edges[] = {1, 2, 3, 7, 8, 9, 47, 48, 49, 63, 64, 65, 127, 128, 129, 130};
  index_t const channels[] = {1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100};
  random_stream random(seed);
  auto const choose = [&](auto const& list) {
    return list[random.below(sizeof list / sizeof list[0])];
  };
  for (int i = 0; i < (full_suite() ? 200 : 40); ++i) {
    attention_size size{1, 1, choose(edges), choose(edges), choose(channels), choose(channels)};
    if (size.queries * size.keys < 3000) size.batch = 1 + static_cast<index_t>(random.below(2));
    if (size.queries * size.keys < 1500) size.heads = 1 + static_cast<index_t>(random.below(3));
    solved_attention<bfloat16> const solved(random_attention<bfloat16>(size, ++seed));
    for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_attention(solved, exec, native, memory_layout{}, &max_ratios) == "");
    });
  }
  for (attention_size size : {attention_size{1, 1, 5, 6, 0, 3}, attention_size{1, 1, 5, 6, 4, 0},
                              attention_size{1, 1, 5, 0, 4, 3}, attention_size{1, 1, 0, 6, 4, 3}}) {
    solved_attention<bfloat16> const solved(normal_attention<bfloat16>(size, {}, ++seed, true));
    for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_attention(solved, exec, native) == "");
    });
  }
  report(max_ratios);
}

TEST_CASE("every memory layout, and every gradient, accumulated or overwritten") {
  std::uint64_t seed = 700;
  for (unsigned requested = 0; requested <= all_gradients; ++requested)
    for (int layout = 1; layout < memory_layout::count; ++layout) {
      auto p = random_attention<bfloat16>({1, 2, 33, 34, 5, 17}, ++seed);
      p.requested = requested;
      p.mode = layout % 2 == 0 ? ss::grad_mode::overwrite : ss::grad_mode::accumulate;
      solved_attention<bfloat16> const solved(p);
      for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
        CHECK(check_attention(solved, exec, native, memory_layout{layout}) == "");
      });
    }
}

TEST_CASE("a gradient computed alone has the same bits") {
  auto const p =
      normal_attention<bfloat16>({1, 2, 35, 37, 8, 9}, {mask_kind::causal, 2, 0}, 130, true);
  for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    CHECK(find_gradients_changed_when_alone(p, exec, native) == "");
  });
}

TEST_CASE("same bits for every thread count and executor" *
          doctest::skip(!testing(backend_kind::host))) {
  std::uint64_t seed = 800;
  for (attention_size size :
       {attention_size{2, 3, 40, 35, 8, 9}, attention_size{1, 1, 150, 131, 16, 5},
        attention_size{3, 1, 17, 70, 33, 32}}) {
    auto const p = random_attention<bfloat16>(size, ++seed);
    auto const expected = run_attention(p, ss::exec::host{}, native);
    auto const check = [&](any_exec const& exec) {
      CAPTURE(p.describe());
      CAPTURE(describe_exec(exec));
      CHECK(same_results(run_attention(p, exec, native), expected));
    };
    for (unsigned threads : {2u, 3u, 33u}) check(ss::exec::host{threads});
    test_executor executor{test_executor::schedule::scattered};
    check(any_exec(executor, 5));
    ss::softmax_attention<ss::mask::full> const op{native}, exact;
    ss::exec::host const exec{3};
    CHECK(op.workspace_bytes<bfloat16>(exec, size.q(), size.v()) ==
          exact.workspace_bytes<bfloat16>(exec, size.q(), size.v()));
  }
}

// Denormals are flushed to 0, also in products with large numbers. The bounds account for it.
TEST_CASE("denormals") {
  attention_size const size{1, 1, 18, 35, 4, 5};
  auto p = normal_attention<bfloat16>(size, {}, 30, true);
  auto const check = [&] {
    solved_attention<bfloat16> const solved(p);
    for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_attention(solved, exec, native) == "");
    });
  };
  p.q = make_column<bfloat16>(input_kind::denormals, p.q.size(), 1);
  p.bias = make_column<bfloat16>(input_kind::denormals, p.bias.size(), 2);
  check();
  for (bfloat16& k : p.k)
    k = from_double<bfloat16>(std::ldexp(static_cast<double>(decode(k).value), 120));
  check();
  p = normal_attention<bfloat16>(size, {}, 31, true);
  p.v = make_column<bfloat16>(input_kind::denormals, p.v.size(), 3);
  p.dy = make_column<bfloat16>(input_kind::denormals, p.dy.size(), 4);
  check();
  for (bfloat16& k : p.k)
    k = from_double<bfloat16>(std::ldexp(static_cast<double>(decode(k).value), -124));
  p.scale = 0x1p100;
  check();
}

// The instruction flushes denormals: 2^-130 times 2^126 is 0.
TEST_CASE("hand-computed results with denormals" *
          doctest::skip(!testing(backend_kind::host) || !processor_has_native_products())) {
  auto p = normal_attention<bfloat16>({1, 1, 1, 2, 1, 1}, {}, 1);
  p.q = elements_of<bfloat16>({0x1p-130});
  p.k = elements_of<bfloat16>({0x1p127, -0x1p127});
  p.v = elements_of<bfloat16>({1, 2});
  p.scale = 64;
  auto const y = [&](ss::streaming algorithm) {
    return decode(run_attention(p, ss::exec::host{}, algorithm).y[0]).value;
  };
  CHECK(y(ss::streaming{}) == 1);  // scores of 8 and -8
  CHECK(y(native) == 1.5L);        // scores of 0
}

// Backward with native products, for 40 queries with three equal weights that are rounded to
// bfloat16.
TEST_CASE("hand-computed weights of backward" *
          doctest::skip(!testing(backend_kind::host) || !processor_has_native_products())) {
  auto p = normal_attention<bfloat16>({1, 1, 40, 3, 1, 1}, {}, 1);
  for (bfloat16& q : p.q) q = from_double<bfloat16>(0);
  for (bfloat16& dy : p.dy) dy = from_double<bfloat16>(1);
  auto const dv = [&](ss::streaming algorithm) {
    return decode(run_attention(p, ss::exec::host{}, algorithm).dv[0]).value;
  };
  CHECK(dv(ss::streaming{}) == 13.3125L);  // 40 / 3, rounded
  CHECK(dv(native) == 13.375L);            // 40 * 0.333984375, rounded
}

TEST_CASE("finite scores give no NaN, and equal scores have equal weights") {
  attention_size const size{1, 2, 21, 40, 1, 3};
  double const huge = 0x1p50, values[] = {huge, -huge, 1, -1, 0, 1 / huge, 0.3 * huge, -huge, huge};
  for (std::uint64_t seed = 0; seed < 14; ++seed) {
    auto p = normal_attention<bfloat16>(size, random_mask(mask_kind_of(seed), size, seed), seed,
                                        seed % 2 == 0);
    random_stream random(seed);
    auto const random_value = [&] { return from_double<bfloat16>(values[random.below(9)]); };
    for (bfloat16& q : p.q) q = random_value();
    for (bfloat16& k : p.k) k = random_value();
    for (bfloat16& bias : p.bias)
      bias = random.below(4) == 0 ? from_double<bfloat16>(-std::numeric_limits<double>::infinity())
                                  : random_value();
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const r = run_attention(p, exec, native);
      for (auto const* results : {&r.y, &r.dq, &r.dk, &r.dv, &r.dbias})
        for (bfloat16 result : *results) CHECK(decode(result).kind != number_class::nan);
    });
  }
  auto p = normal_attention<bfloat16>({1, 1, 1, 3, 1, 1}, {}, 1);
  p.q = elements_of<bfloat16>({0x1p50});
  p.k = elements_of<bfloat16>({0x1p50, -0x1p50, 0x1p50});
  p.v = elements_of<bfloat16>({2, 100, 4});
  for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
    CHECK(decode(run_attention(p, exec, native).y[0]).value == 3);
  });
}

TEST_CASE("padding rows are not read; a NaN in a query affects only its own row") {
  attention_size const size{4, 1, 34, 37, 9, 8};
  for (mask_kind kind : all_mask_kinds) {
    auto p = normal_attention<bfloat16>(size, random_mask(kind, size, 9), 50,
                                        static_cast<int>(kind) % 2 == 0);
    p.lengths = {37, 1, 0, 20};
    p.query_lengths = {1, 34, 20, 0};
    auto with_nan_padding = p;
    auto const fill_padding = [&](std::vector<bfloat16>& values, extents4 e, bool rows_are_keys) {
      for (index_t b = 0; b < e.batch; ++b)
        for (index_t i = rows_are_keys ? p.valid_keys(b) : p.valid_queries(b); i < e.length; ++i)
          for (index_t c = 0; c < e.channels; ++c)
            values[attention_size::offset_of(e, b, 0, i, c)] = nan_value<bfloat16>();
    };
    fill_padding(with_nan_padding.q, size.q(), false);
    fill_padding(with_nan_padding.dy, size.y(), false);
    fill_padding(with_nan_padding.k, size.k(), true);
    fill_padding(with_nan_padding.v, size.v(), true);
    solved_attention<bfloat16> const solved(p);
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      CHECK(check_attention(solved, exec, native) == "");
      CHECK(same_results(run_attention(with_nan_padding, exec, native),
                         run_attention(p, exec, native)));
    });
  }
  auto p = normal_attention<bfloat16>({1, 1, 33, 40, 8, 8}, {}, 70);
  p.requested = wants_dq | wants_dbias;
  auto with_nan_query = p;
  with_nan_query.q[attention_size::offset_of(p.size.q(), 0, 0, 17, 3)] = nan_value<bfloat16>();
  for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const actual = run_attention(with_nan_query, exec, native),
               expected = run_attention(p, exec, native);
    auto const same_rows = [&](std::vector<bfloat16> const& a, std::vector<bfloat16> const& b,
                               index_t width) {
      for (std::size_t i = 0; i < a.size(); ++i)
        if (i / static_cast<std::size_t>(width) != 17) CHECK(same_bits(a[i], b[i]));
    };
    same_rows(actual.y, expected.y, 8);
    same_rows(actual.dq, expected.dq, 8);
    same_rows(actual.dbias, expected.dbias, 40);
    CHECK(decode(actual.y[17 * 8]).kind == number_class::nan);
  });
}
