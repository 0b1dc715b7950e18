// SPDX-License-Identifier: Apache-2.0
// Tests examples/bindings, which select operators and types by name at run time: results with the
// bits of the library's calls, and messages for wrong names and types.
#include "../../../examples/bindings/csp.hpp"
#include "../../../examples/bindings/decaying_sum.hpp"
#include "../../../examples/bindings/linear_attention.hpp"
#include "../../../examples/bindings/max_exchange.hpp"
#include "../../../examples/bindings/multi_permutation.hpp"
#include "../../../examples/bindings/pointwise_attention.hpp"
#include "../../../examples/bindings/policies/check_policy.hpp"
#include "../../../examples/bindings/short_convolution.hpp"
#include "../../../examples/bindings/shuffle.hpp"
#include "../../../examples/bindings/sinkhorn.hpp"
#include "../../../examples/bindings/slicing_sort.hpp"
#include "../../../examples/bindings/softmax_attention.hpp"
#include "../../../examples/bindings/sparse_mix.hpp"

#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <locale>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ss = slicesort;
using bindings::array;
using bindings::dtype;

namespace {

int failures = 0;
void check(bool ok, std::string const& message) {
  if (ok) return;
  std::printf("FAILED: %s\n", message.c_str());
  ++failures;
}

template <class F>
void expect_error(char const* message, F const& f) {
  try {
    f();
  } catch (ss::invalid_argument const& error) {
    check(std::strstr(error.what(), message) != nullptr,
          std::string(error.what()) + " does not say: " + message);
    return;
  }
  check(false, std::string("accepted, and should have said: ") + message);
}

struct host_call {
  ss::exec::host exec{2};
  ss::scratch memory;
};

template <class T>
constexpr dtype type_of = sizeof(T) == 2 ? dtype::u16 : dtype::f32;

template <class T>
array wrap(std::vector<T>& data, std::vector<ss::index_t> const& extents) {
  array a{"x", data.data(), type_of<T>, static_cast<int>(extents.size())};
  ss::index_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    a.extents[i] = extents[i];
    a.strides[i] = stride;
    stride *= extents[i];
  }
  return a;
}

std::vector<float> normal_values(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw;
  std::vector<float> x(n);
  for (float& value : x) value = draw(engine);
  return x;
}

constexpr ss::extents3 shape{2, 37, 6};
constexpr std::size_t size = 2 * 37 * 6;

// Compares an operator that is called by name with the library's call.
template <class BoundOp, class LibraryOp>
void compare(char const* message, BoundOp const& bound_op, LibraryOp const& library_op) {
  std::vector<float> x = normal_values(size, 1), y(size), expected(size);
  host_call call;
  bound_op(call, wrap(x, {2, 37, 6}), wrap(y, {2, 37, 6}));
  ss::scratch memory;
  library_op(ss::exec::host{}, ss::view(std::as_const(x), shape), ss::view(expected, shape),
             ss::workspace(memory));
  check(std::memcmp(y.data(), expected.data(), size * sizeof(float)) == 0, message);
}

void check_sorts() {
  auto const compare_sort = [](char const* name, auto order) {
    compare(
        name,
        [&](auto& call, array x, array y) {
          bindings::slicing_sort(call, name, x, y, std::nullopt, std::nullopt);
        },
        [&](auto exec, auto x, auto y, auto scratch) {
          ss::slicing_sort<decltype(order)>(order).forward(exec, x, y, ss::no_saved, scratch);
        });
  };
  compare_sort("ascending", ss::ascending{});
  compare_sort(" descending ", ss::descending{});
  compare_sort("half_half{3}", ss::half_half{3});
  compare_sort("interleave{1, 3}", ss::interleave{1, 3});
  compare_sort("haar_interleave{ 1 , 2 }", ss::haar_interleave{1, 2});
  compare(
      "max_exchange",
      [](auto& call, array x, array y) {
        bindings::max_exchange(call, 2, x, y, std::nullopt, std::nullopt);
      },
      [](auto exec, auto x, auto y, auto) {
        ss::max_exchange(2).forward(exec, x, y, ss::no_saved);
      });
  compare(
      "shuffle",
      [](auto& call, array x, array y) {
        bindings::shuffle(call, 5, "per_channel", x, y, std::nullopt);
      },
      [](auto exec, auto x, auto y, auto scratch) {
        ss::shuffle<ss::per_channel>(5).forward(exec, x, y, scratch);
      });
  compare(
      "multi_permutation",
      [](auto& call, array x, array y) {
        std::vector<float> weights{0.5f, -2.0f};
        bindings::multi_permutation(call, "descending", x, wrap(weights, {2}), y, std::nullopt,
                                    std::nullopt);
      },
      [](auto exec, auto x, auto y, auto scratch) {
        float const weights[]{0.5f, -2.0f};
        ss::multi_permutation<ss::descending>(2).forward(
            exec, x, ss::tensor1<float const>(weights, 2), y, ss::no_saved, scratch);
      });
}

void check_short_convolution() {
  for (ss::index_t groups : {6, 2}) {
    std::vector<float> weights = normal_values(static_cast<std::size_t>(4 * groups), 3);
    compare(
        "short_convolution",
        [&](auto& call, array x, array y) {
          bindings::short_convolution(call, 1, x, wrap(weights, {groups, 4}), y, std::nullopt);
        },
        [&](auto exec, auto x, auto y, auto scratch) {
          ss::short_convolution(4, 1).forward(
              exec, x, ss::tensor3<float const>(weights.data(), {1, 4, groups}, {0, 1, 4}), y,
              scratch);
        });
  }
}

void check_decaying_sum() {
  std::vector<float> a = normal_values(4 * 6, 3), w = normal_values(4 * 6, 4),
                     initial(static_cast<std::size_t>(shape.batch * 4 * 6), 1.0f), last(initial);
  compare(
      "decaying_sum",
      [&](auto& call, array x, array y) {
        array const states = wrap(initial, {shape.batch, 4, 6});
        bindings::decaying_sum(call, {true, "both"},
                               {x, wrap(a, {4, 6}), wrap(w, {4, 6}), states, std::nullopt}, y,
                               wrap(last, {shape.batch, 4, 6}));
      },
      [&](auto exec, auto x, auto y, auto scratch) {
        ss::extents4 const numbers{1, 4, 1, 6};
        ss::tensor4<float const> const states(initial.data(), {shape.batch, 4, 1, 6});
        ss::decaying_sum(1, ss::decay_numbers::complex, ss::decay_direction::both)
            .forward(exec, x, {{a.data(), numbers}, {w.data(), numbers}}, y, {states}, scratch);
      });
}

void check_csp() {
  auto const compare_csp = [](char const* shift, char const* alignment, auto library_shift,
                              auto library_op) {
    compare(
        shift,
        [&](auto& call, array x, array y) {
          bindings::csp(call, {"group_size{5}", shift, alignment}, x, y, std::nullopt,
                        std::nullopt);
        },
        [&](auto exec, auto x, auto y, auto scratch) {
          ss::csp(ss::group_size{5}, library_shift, library_op)
              .forward(exec, x, y, ss::no_saved, scratch);
        });
  };
  std::int32_t const table[]{0, -1, 5, 40, 2, 7};
  compare_csp("none", "ascending", ss::shift::none{}, ss::ascending{});
  compare_csp("linear", "reference{1}", ss::shift::linear{}, ss::reference{1});
  compare_csp("linear_step{3}", "reference", ss::shift::linear_step{3}, ss::reference{});
  compare_csp("per_head{2}", "descending", ss::shift::per_head{2}, ss::descending{});
  compare_csp("modular", "reference", ss::shift::modular{}, ss::reference{});
  compare_csp("power{1, 3}", "reference", ss::shift::power{1, 3}, ss::reference{});
  compare_csp("power_ceil{1, 3}", "reference", ss::shift::power_ceil{1, 3}, ss::reference{});
  compare_csp("table{0, -1, 5, 40, 2, 7}", "reference", ss::shift::table{{table, 6}},
              ss::reference{});
  compare(
      "sinkhorn",
      [](auto& call, array x, array y) {
        bindings::sinkhorn(call, {0.5, 3, true}, x, y, std::nullopt, std::nullopt);
      },
      [](auto exec, auto x, auto y, auto scratch) {
        ss::sinkhorn(0.5, {3, ss::side::rows}).forward(exec, x, y, scratch);
      });
  compare(
      "sinkhorn_csp",
      [](auto& call, array x, array y) {
        bindings::sinkhorn_csp(call, {"group_count{4}", "linear", 0.5, 3, 1}, x, y, std::nullopt);
      },
      [](auto exec, auto x, auto y, auto scratch) {
        ss::sinkhorn_csp(ss::group_count{4}, ss::sinkhorn{0.5, 3}, ss::shift::linear{},
                         ss::reference{1})
            .forward(exec, x, y, scratch);
      });
}

void check_sparse_mix() {
  auto const compare_mix = [](char const* topology, char const* residual, auto const& library_op) {
    ss::stack_extents const e{4, 2, 37, 5};
    std::vector<float> w = normal_values(4 * 2 * 37 * 5, 2);
    compare(
        topology,
        [&](auto& call, array x, array y) {
          bindings::sparse_mix(call, {topology, residual, 1}, x, wrap(w, {4, 2, 37, 5}), y,
                               std::nullopt, std::nullopt);
        },
        [&](auto exec, auto x, auto y, auto scratch) {
          library_op.forward(exec, x, ss::tensor_stack<float const>(w.data(), e), y, ss::no_saved,
                             scratch);
        });
  };
  ss::index_t const list[]{0, 3, -1, 9, 100};
  compare_mix("chord", "per_factor", ss::sparse_mix<>());
  compare_mix("chord{5}", "none",
              ss::sparse_mix<ss::topology::chord, ss::residual::none>(ss::topology::chord{5}));
  compare_mix("cdil{2}", "initial",
              ss::sparse_mix<ss::topology::cdil, ss::residual::initial>(ss::topology::cdil{2}));
  compare_mix("offsets{0, 3, -1, 9, 100}", "per_factor",
              ss::sparse_mix<ss::topology::offsets>(ss::topology::offsets{{list, 5}}));
}

// Self-attention of x with one head: [2, 1, 37, 6].
template <class LibraryOp>
void compare_attention(char const* mask, LibraryOp const& library_op) {
  std::vector<float> x = normal_values(size, 1), y(size), expected(size);
  ss::extents4 const e{2, 1, 37, 6};
  host_call call;
  array const q = wrap(x, {2, 1, 37, 6});
  bindings::softmax_attention(call, {mask, std::nullopt, {}, {}, 0.25, 9}, {q, q, q, {}},
                              wrap(y, {2, 1, 37, 6}), std::nullopt);
  ss::tensor4<float const> const qkv(x.data(), e);
  ss::scratch memory;
  library_op.forward(ss::exec::host{}, {qkv, qkv, qkv}, ss::tensor4<float>(expected.data(), e),
                     ss::no_saved, memory, ss::dropout{0.25, 9});
  check(std::memcmp(y.data(), expected.data(), size * sizeof(float)) == 0, mask);
}

void check_attention() {
  compare_attention("full", ss::softmax_attention<>());
  compare_attention("causal", ss::softmax_attention(ss::mask::causal{}));
  compare_attention("causal{-3}", ss::softmax_attention(ss::mask::causal{-3}));
  compare_attention("window{3, 0}", ss::softmax_attention(ss::mask::window{3, 0}));
  compare_attention("block_local{8}", ss::softmax_attention(ss::mask::block_local{8}));
  compare_attention("strided{5, 2}", ss::softmax_attention(ss::mask::strided{5, 2}));
  compare_attention("fixed{8, 2}", ss::softmax_attention(ss::mask::fixed{8, 2}));
  compare_attention("fixed{8, 2, 1}", ss::softmax_attention(ss::mask::fixed{8, 2, true}));
  compare_attention("dilated_window{2, 3, 2}",
                    ss::softmax_attention(ss::mask::dilated_window{2, 3, 2}));
  compare_attention("global_window{3, 1, 2}", ss::softmax_attention(ss::mask::either{
                                                  ss::mask::window{3, 1}, ss::mask::globals{2}}));
  compare_attention(
      "both{ causal, either{window{2, 1},globals{2}} }",
      ss::softmax_attention(ss::mask::both{
          ss::mask::causal{}, ss::mask::either{ss::mask::window{2, 1}, ss::mask::globals{2}}}));
  compare_attention("chunk_back{6}", ss::softmax_attention(ss::mask::chunk_back{6}));
  compare_attention("chunk_back{6, 1}", ss::softmax_attention(ss::mask::chunk_back{6, true, 37}));
  ss::mask::bigbird bigbird_mask{4, 3, 1, 2, 11};
  bigbird_mask.keys = 37;
  compare_attention("bigbird{4, 3, 1, 2, 11}", ss::softmax_attention(bigbird_mask));

  std::vector<float> x = normal_values(size, 1), y(size), expected(size);
  ss::extents4 const e{2, 1, 37, 6};
  array const q = wrap(x, {2, 1, 37, 6});
  host_call call;
  bindings::linear_attention(call, {"relu{0.125}", "at_least{0.5}", "causal", {}, {}},
                             {q, q, q, {}}, wrap(y, {2, 1, 37, 6}));
  ss::tensor4<float const> const qkv(x.data(), e);
  ss::scratch memory;
  ss::linear_attention(ss::feature::relu{0.125}, ss::divisor::at_least{0.5},
                       ss::direction::causal{})
      .forward(ss::exec::host{}, {qkv, qkv, qkv}, ss::tensor4<float>(expected.data(), e), memory);
  check(std::memcmp(y.data(), expected.data(), size * sizeof(float)) == 0, "linear_attention");
}

template <class LibraryOp>
void compare_pointwise(char const* function, std::optional<double> scale, bool per_key,
                       LibraryOp const& library_op) {
  std::vector<float> x = normal_values(size, 1), y(size), expected(size);
  ss::extents4 const e{2, 1, 37, 6};
  host_call call;
  array const q = wrap(x, {2, 1, 37, 6});
  bindings::pointwise_attention(call, {"causal", function, scale, per_key, {}, {}}, {q, q, q, {}},
                                wrap(y, {2, 1, 37, 6}));
  ss::tensor4<float const> const qkv(x.data(), e);
  ss::scratch memory;
  library_op.forward(ss::exec::host{}, {qkv, qkv, qkv}, ss::tensor4<float>(expected.data(), e),
                     memory);
  check(std::memcmp(y.data(), expected.data(), size * sizeof(float)) == 0, function);
}
void check_pointwise_attention() {
  ss::mask::causal const causal{};
  compare_pointwise("laplace", std::nullopt, false, ss::pointwise_attention(causal));
  compare_pointwise("laplace{0.25, 0.5}", 2.0, false,
                    ss::pointwise_attention(causal, ss::score_function::laplace{0.25, 0.5}, 2.0));
  compare_pointwise(
      "squared_relu", std::nullopt, true,
      ss::pointwise_attention(causal, ss::score_function::squared_relu{}, ss::per_key{}));
}

// Checks that numbers in policies do not depend on the locale.
void check_numbers() {
  struct {
    char const* text;
    std::vector<double> values;
  } const cases[] = {{"w", {}},
                     {"w{}", {}},
                     {"w{1,2}", {1, 2}},
                     {"w { 0.5 , -1e-3,.25 }", {0.5, -1e-3, 0.25}},
                     {"w{+4.0, 1e3}", {4, 1000}}};
  for (auto const& [text, values] : cases) {
    bindings::policy const p("kind", text, {{"w", 0, 9}});
    bool is_equal = p.size() == values.size();
    for (std::size_t i = 0; is_equal && i < values.size(); ++i)
      is_equal = p.real(i, -7) == values[i];
    check(is_equal, std::string(text) + " in the locale " + std::setlocale(LC_NUMERIC, nullptr));
  }
  bindings::policy const p("kind", "w{9007199254740993, -9223372036854775808, 4.0}", {{"w", 0, 9}});
  check(p.integer(0) == 9007199254740993, "2^53 + 1");
  check(p.integer(1) == std::numeric_limits<ss::index_t>::min(), "-2^63");
  check(p.integer(2) == 4, "4.0");
  bindings::policy const seeds("kind", "w{18446744073709551615, -1}", {{"w", 0, 9}});
  check(seeds.bits(0) == ~std::uint64_t{0} && seeds.bits(1) == seeds.bits(0), "seeds of 64 bits");
  expect_error("must be integers in -2^63..2^63-1", [&] { seeds.integer(0); });
  for (std::string const text :
       {"w{9223372036854775808}", "w{-9223372036854775809}", "w{18446744073709551616}", "w{1e17}"})
    expect_error("must be integers in -2^63..2^63-1", [&] {
      bindings::policy("kind", text, {{"w", 0, 9}}).integer(0);
    });
  for (std::string const& text :
       {std::string("w{2}\0", 5), std::string("w{2\0}", 6), std::string("w{2}\0junk", 9),
        std::string("w{2}x"), std::string("w{1,}"), std::string("w{0x10}"), std::string("w{1e400}"),
        std::string("w{\xd9\xa3}")})
    expect_error("is not a name with numbers in braces", [&] {
      bindings::policy("kind", text, {{"w", 0, 9}});
    });
  expect_error("is none of w", [&] {
    bindings::policy("kind", std::string("w\0", 2), {{"w", 0, 9}});
  });
}
// Checks numbers under locales with a decimal comma, of the C library and of streams.
void check_locales() {
  struct decimal_comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  std::locale const previous = std::locale::global(std::locale(std::locale(), new decimal_comma));
  check_numbers();
  std::locale::global(previous);
  for (char const* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"})
    if (std::setlocale(LC_ALL, name) != nullptr) check_numbers();
  std::setlocale(LC_ALL, "C");
  check_numbers();
}

// Checks that policies can be validated before any tensor exists.
void check_policies_without_tensors() {
  using bindings::check_policy;
  check(check_policy("groups", "group_size{4.0}", 0) == 4, "group_size");
  check(check_policy("groups", "group_count{3}", 0) == -3, "group_count");
  check(check_policy("topology", "chord", 5) == 6, "chord");
  check(check_policy("topology", "cdil{2}", 5) == 5, "cdil");
  check(check_policy("topology", "offsets{0, 7}", 5) == 2, "offsets");
  check(check_policy("order", "half_half{2}", 8) == 0, "order");
  check(check_policy("alignment", "reference{7}", 8) == 0, "alignment");
  for (char const* mask :
       {"full", "causal{-3}", "bigbird", "chunk_back{5, 1}", "global_window{2, 2}"})
    check(check_policy("mask", mask, 0) == 0, mask);
  expect_error("groups \"group_size{0}\": must be at least 1",
               [] { check_policy("groups", "group_size{0}", 0); });
  expect_error("half_half: channels", [] { check_policy("order", "half_half{3}", 8); });
  expect_error("reference: channel", [] { check_policy("alignment", "reference{8}", 8); });
  expect_error("alignment \"up\" is none of", [] { check_policy("alignment", "up", 8); });
  expect_error("per_head", [] { check_policy("shift", "per_head{3}", 8); });
  expect_error("chord: there must be", [] { check_policy("topology", "chord{64}", 5); });
  expect_error("mask \"casual\" is none of full", [] { check_policy("mask", "casual", 0); });
  expect_error("window: left and right", [] { check_policy("mask", "window{-1, 2}", 0); });
  expect_error("window: left and right",
               [] { check_policy("mask", "either{full, window{-1, 2}}", 0); });
  expect_error("write it as both{a, b}", [] { check_policy("mask", "both{full}", 0); });
  expect_error("at most 4 masks",
               [] { check_policy("mask", "both{full, full, full, full, full}", 0); });
  expect_error("no kind of policy", [] { check_policy("colour", "red", 0); });
}

// Checks that permutations of the caller are rejected if they are out of range.
void check_rows_out_of_range() {
  std::vector<std::uint16_t> row_indices(2 * 5 * 3, 4);
  std::vector<ss::index_t> lengths{5, 0};
  array const perm = wrap(row_indices, {2, 5, 3});
  array counts{"lengths", lengths.data(), dtype::i64, 1};
  counts.extents[0] = 2, counts.strides[0] = 1;
  bindings::require_rows(perm, std::nullopt);
  bindings::require_rows(perm, counts);
  row_indices[2 * 3 + 1] = 5;
  expect_error("perm[0, 2, 1] is 5, must be in 0..4 (length)",
               [&] { bindings::require_rows(perm, std::nullopt); });
  lengths[0] = 2;
  expect_error("perm[0, 0, 0] is 4, must be in 0..1 (length)",
               [&] { bindings::require_rows(perm, counts); });
  lengths[0] = 0;
  bindings::require_rows(perm, counts);  // no row is read
  std::vector<std::int32_t> signed_rows(30, -1);
  array negative = perm;
  negative.data = signed_rows.data(), negative.type = dtype::i32;
  expect_error("perm[0, 0, 0] is -1", [&] { bindings::require_rows(negative, std::nullopt); });
}

void check_error_messages() {
  using bindings::named_order;
  expect_error("order \"up\" is none of ascending, descending, half_half{heads}",
               [] { named_order("up"); });
  expect_error("write it as interleave{layer, layers}", [] { named_order("interleave{1}"); });
  for (char const* text : {"half_half{2", "half_half{2}}", "half_half{2,}", "half_half{two}",
                           "half_half{,2}", "half_half{nan}", "half_half{2 3}"})
    expect_error("is not a name with numbers in braces", [&] { named_order(text, "order"); });
  expect_error("its numbers must be integers", [] { named_order("half_half{2.5}"); });
  expect_error("3000000000 is out of range", [] { bindings::named_shift("table{3000000000}"); });
  std::vector<float> x(size), y(size);
  std::vector<std::uint16_t> uint16_values(size);
  host_call call;
  expect_error("x must be [batch, length, channels], has 1 axis", [&] {
    bindings::shuffle(call, 0, "per_channel", wrap(x, {37}), wrap(y, {37}), std::nullopt);
  });
  expect_error("x: the dtype must be float32, float64, float16 or bfloat16", [&] {
    bindings::shuffle(call, 0, "per_channel", wrap(uint16_values, {2, 37, 6}), wrap(y, {2, 37, 6}),
                      std::nullopt);
  });
  expect_error("x must have dtype int64", [&] {
    bindings::shuffle(call, 0, "per_channel", wrap(x, {2, 37, 6}), wrap(y, {2, 37, 6}),
                      wrap(uint16_values, {2}));
  });
  std::vector<ss::index_t> no_elements;
  array no_lengths = wrap(uint16_values, {0});
  no_lengths.type = dtype::i64;
  no_lengths.data = no_elements.data();
  expect_error("lengths.size is 0", [&] {
    bindings::shuffle(call, 0, "per_channel", wrap(x, {2, 37, 6}), wrap(y, {2, 37, 6}), no_lengths);
  });
  expect_error("softmax_attention.forward: k.heads is 1, must be 2 (v.heads)", [&] {
    array const two_heads = wrap(x, {1, 2, 3, 4}), one_head = wrap(x, {1, 1, 3, 4});
    bindings::softmax_attention(call, {"full", std::nullopt, {}, {}, 0, 0},
                                {two_heads, one_head, two_heads, {}}, wrap(y, {1, 2, 3, 4}),
                                std::nullopt);
  });
  expect_error("scale must be a number or per_key", [&] {
    array const q = wrap(x, {1, 1, 3, 4});
    bindings::pointwise_attention(call, {"full", "laplace", 1.0, true, {}, {}}, {q, q, q, {}},
                                  wrap(y, {1, 1, 3, 4}));
  });
  expect_error("there must be as many states as ys", [&] {
    bindings::merge_attention(call, {wrap(x, {1, 1, 1, 1})}, {}, wrap(y, {1, 1, 1, 1}),
                              wrap(y, {1, 1, 1, 2}));
  });
}

}  // namespace

int main() {
  check_sorts();
  check_short_convolution();
  check_decaying_sum();
  check_csp();
  check_sparse_mix();
  check_attention();
  check_pointwise_attention();
  check_locales();
  check_policies_without_tensors();
  check_rows_out_of_range();
  check_error_messages();
  if (failures == 0) std::printf("bindings: fine\n");
  return failures != 0;
}
