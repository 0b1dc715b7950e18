// SPDX-License-Identifier: Apache-2.0
// The door of slicing-sort, all but the views: lengths, orders, execution, workspace.
#include "call.hpp"

#include <slicesort/detail/host/isa.hpp>

using namespace support;
using call = call_of<>;

TEST_CASE("lengths") {
  call c;
  SUBCASE("count") {
    c.lengths = {5};
    CHECK(c.forward() == "slicing_sort.forward: lengths.size is 1, must be 2 (batch)");
    CHECK(c.backward() == "slicing_sort.backward: lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("too long") {
    c.lengths = {5, 6};
    CHECK(c.forward() == "slicing_sort.forward: lengths[1] is 6, must be in 0..5 (length)");
  }
  SUBCASE("negative") {
    c.lengths = {-1, 5};
    CHECK(c.backward() == "slicing_sort.backward: lengths[0] is -1, must be in 0..5 (length)");
  }
  SUBCASE("null") {
    ss::slicing_sort<> const op;
    auto const verdict = op.check(c.on, c.x, c.y, ss::no_saved, c.scratch, {{nullptr, 2}});
    CHECK(std::string(verdict.message) ==
          "slicing_sort.forward: lengths.data is null, must point to 2 lengths");
  }
}

TEST_CASE("the first broken rule is the one reported") {
  call c;
  c.x = {c.x.data(), {2, -5, 3}};
  c.scratch = {};
  c.lengths = {1, 2, 3};
  CHECK(says(c.forward(), "x.length is -5"));
}

TEST_CASE("orders that refuse their parameters") {
  SUBCASE("half_half") {
    call_of<ss::half_half> c;
    c.order.heads = 2;
    CHECK(c.forward() ==
          "slicing_sort.forward: order half_half: channels must be a multiple of heads (channels "
          "is 3)");
    c.order.heads = 0;
    CHECK(says(c.forward_not_saved(), "half_half"));
    c.order.heads = 3;
    CHECK(c.forward() == "");
  }
  SUBCASE("interleave") {
    call_of<ss::interleave> c;
    for (index_t layer : {0, 4, -1}) {
      c.order = {layer, 3};
      CHECK(c.forward() ==
            "slicing_sort.forward: order interleave: layer must be in 1..layers (channels is 3)");
    }
    c.order = {3, 3};
    CHECK(c.forward() == "");
  }
  SUBCASE("haar_interleave") {
    call_of<ss::haar_interleave> c;
    c.order = {-1, 1};
    CHECK(
        c.forward() ==
        "slicing_sort.forward: order haar_interleave: level must not be negative (channels is 3)");
    c.order = {0, 2};
    CHECK(says(c.forward(), "channels must be a multiple of heads"));
    c.order = {200, 1};
    CHECK(c.forward() == "");
  }
}

TEST_CASE("execution policies that cannot run") {
  call c;
  c.on.threads = 0;
  CHECK(c.forward() == "slicing_sort.forward: exec.threads is 0, must be at least 1");
  CHECK(c.backward() == "slicing_sort.backward: exec.threads is 0, must be at least 1");
  c.on.threads = 1;
  for (ss::isa set : {ss::isa::avx2, ss::isa::avx512}) {
    c.on.instructions = set;
    if (ss::impl::isa_available(set)) {
      CHECK(c.forward() == "");
    } else {
      CHECK(says(c.forward(), "exec.instructions is avx"));
    }
  }
}

TEST_CASE("workspace: one byte short is refused, the exact size is not") {
  for (unsigned threads : {1u, 3u}) {
    call c;
    c.on.threads = threads;
    std::size_t const need = ss::slicing_sort<>::workspace_bytes<float>(c.on, c.shape);
    REQUIRE(need > 0);
    c.scratch.bytes = need;
    CHECK(c.forward() == "");
    CHECK(c.backward() == "");
    c.scratch.bytes = need - 1;
    auto const rest = "workspace.bytes is " + std::to_string(need - 1) + ", must be at least " +
                      std::to_string(need);
    CHECK(c.forward() == "slicing_sort.forward: " + rest);
    CHECK(c.forward_not_saved() == "slicing_sort.forward: " + rest);
    CHECK(c.backward() == "slicing_sort.backward: " + rest);
    c.scratch = {nullptr, need};
    CHECK(c.forward() == "slicing_sort.forward: workspace.data is null, must point to " +
                             std::to_string(need) + " bytes");
  }
}

TEST_CASE("empty tensors need no data") {
  call c;
  extents3 const e{2, 0, 3};
  c.x = {nullptr, e};
  c.y = {nullptr, e};
  c.perm = tensor3<std::uint32_t>(nullptr, e);
  CHECK(c.forward() == "");
  CHECK(c.forward_not_saved() == "");
  CHECK(c.backward() == "");
}
