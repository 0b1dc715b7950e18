// SPDX-License-Identifier: Apache-2.0
// Argument checks of slicing_sort: every invalid argument has its message, a dry run returns the
// error that the call throws, and a failed call writes nothing.
#include "call.hpp"

#include <slicesort/detail/host/isa.hpp>

using namespace support;
using call = slicing_sort_call<>;

TEST_CASE("a valid call is accepted") {
  CHECK(call{}.forward() == "");
  CHECK(call{}.forward_not_saved() == "");
  call c;
  CHECK(c.forward() == "");  // saves a valid permutation for backward
  CHECK(c.backward() == "");
}

TEST_CASE("argsort") {
  call c;
  ss::index_tensor3 indices = c.perm;
  auto const forward = [&] {
    ss::argsort<> const op;
    return error_message(op.forward(ss::exec::dry_run{c.exec}, c.x, indices, c.scratch),
                         [&] { op.forward(c.exec, c.x, indices, c.scratch); });
  };
  CHECK(forward() == "");
  SUBCASE("shape") {
    indices = tensor3<std::uint32_t>(static_cast<std::uint32_t*>(c.perm.data()), {2, 4, 3});
    CHECK(forward() == "argsort.forward: indices.length is 4, must be 5 (x.length)");
  }
  SUBCASE("null data") {
    indices = tensor3<std::uint32_t>(nullptr, c.shape);
    CHECK(forward() == "argsort.forward: indices.data is null, must point to [2, 5, 3]");
  }
  SUBCASE("overlap") {
    indices = tensor3<std::uint32_t>(reinterpret_cast<std::uint32_t*>(c.memory.data()), c.shape);
    CHECK(says(forward(), "argsort.forward: indices overlaps x ("));
  }
  SUBCASE("16-bit indices and long columns") {
    indices = tensor3<std::uint16_t>(static_cast<std::uint16_t*>(c.perm.data()), {1, 65537, 0});
    c.x = {c.x.data(), {1, 65537, 0}};
    CHECK(forward() ==
          "argsort.forward: indices has 16-bit indices, which hold lengths up to 65536; the length "
          "is 65537");
  }
  SUBCASE("workspace") {
    c.scratch.bytes = 0;
    CHECK(says(forward(), "argsort.forward: workspace.bytes is 0, must be at least "));
    CHECK(error_message([] {
            (void)ss::argsort<>::workspace_bytes<float>(ss::exec::host{}, {-1, 5, 3});
          }) == "argsort.workspace_bytes: x.batch is -1, must not be negative");
  }
}

TEST_CASE("argsort, descending: ties keep the lower row first") {
  ss::exec::host const exec;
  ss::scratch memory;
  std::vector<float> const values = {2, 7, 7, 1};
  std::vector<std::uint32_t> order(4);
  tensor3<float const> const x(values.data(), {1, 4, 1});
  tensor3<std::uint32_t> const indices(order.data(), {1, 4, 1});
  // [snippet]
  ss::argsort<ss::descending> const op;
  op.forward(exec, x, indices, memory);
  // [/snippet]
  CHECK(order == std::vector<std::uint32_t>{1, 2, 0, 3});
}

TEST_CASE("extents and strides") {
  call c;
  SUBCASE("negative extent") {
    c.x = {c.x.data(), {2, -5, 3}};
    CHECK(c.forward() == "slicing_sort.forward: x.length is -5, must not be negative");
  }
  SUBCASE("negative stride of an input") {
    c.x = {c.x.data(), c.shape, {15, -3, 1}};
    CHECK(c.forward() == "slicing_sort.forward: x.stride.length is -3, must be zero or positive");
    CHECK(c.backward() ==
          "slicing_sort.backward: dy.stride.length is -3, must be zero or positive");
  }
  SUBCASE("repeated elements in an output") {
    c.y = {c.y.data(), c.shape, {0, 3, 1}};
    CHECK(c.forward() == "slicing_sort.forward: y.stride.batch is 0, must be positive");
    c.y = {c.y.data(), c.shape, {15, 1, 1}};
    CHECK(c.forward_not_saved() ==
          "slicing_sort.forward: y.strides are [15, 1, 1] for extents [2, 5, 3], must give every "
          "element its own place");
  }
  SUBCASE("too far") {
    index_t const far = index_t{1} << 62;
    c.x = {c.x.data(), c.shape, {far, 3, 1}};
    CHECK_MESSAGE(c.forward() ==
                      "slicing_sort.forward: x [2, 5, 3] spans more than 2^63 bytes or 2^57 "
                      "elements, must span less",
                  far);
  }
  SUBCASE("extents whose product overflows") {
    index_t const huge = index_t{1} << 40;
    c.x = {c.x.data(), {huge, huge, huge}, {0, 0, 0}};
    CHECK(says(c.forward(), "x [1099511627776, 1099511627776, 1099511627776] spans more"));
  }
  SUBCASE("null data") {
    c.x = {nullptr, c.shape};
    CHECK(c.forward() == "slicing_sort.forward: x.data is null, must point to [2, 5, 3]");
    c.x = {c.memory.data(), c.shape};
    c.perm = tensor3<std::uint32_t>(nullptr, c.shape);
    CHECK(c.forward() == "slicing_sort.forward: perm.data is null, must point to [2, 5, 3]");
    CHECK(c.backward() == "slicing_sort.backward: perm.data is null, must point to [2, 5, 3]");
  }
}

TEST_CASE("shapes must be equal in every axis") {
  call c;
  auto* const index = reinterpret_cast<std::uint32_t*>(c.memory.data() + 2 * call::floats_per_view);
  SUBCASE("batch") {
    c.y = {c.y.data(), {3, 5, 3}};
    CHECK(c.forward() == "slicing_sort.forward: y.batch is 3, must be 2 (x.batch)");
    CHECK(c.backward() == "slicing_sort.backward: dx.batch is 3, must be 2 (dy.batch)");
  }
  SUBCASE("length") {
    c.y = {c.y.data(), {2, 4, 3}};
    CHECK(c.forward() == "slicing_sort.forward: y.length is 4, must be 5 (x.length)");
  }
  SUBCASE("channels") {
    c.perm = tensor3<std::uint32_t>(index, {2, 5, 1});
    CHECK(c.forward() == "slicing_sort.forward: perm.channels is 1, must be 3 (x.channels)");
    CHECK(c.backward() == "slicing_sort.backward: perm.channels is 1, must be 3 (dy.channels)");
  }
}

TEST_CASE("16-bit indices support at most 65536 rows") {
  tensor<float> x({1, 65537, 1}), y({1, 65537, 1});
  tensor<std::uint16_t> perm({1, 65537, 1});
  call c;
  c.x = x.view();
  c.y = y.view();
  c.perm = perm.view();
  char const* const error =
      "perm has 16-bit indices, which hold lengths up to 65536; the length is 65537";
  CHECK(c.forward() == std::string("slicing_sort.forward: ") + error);
  CHECK(c.backward() == std::string("slicing_sort.backward: ") + error);
}

TEST_CASE("overlap") {
  call c;
  SUBCASE("in place is accepted") {
    c.y = {c.memory.data(), c.shape};
    CHECK(c.forward() == "");
  }
  SUBCASE("y overlaps x with an offset") {
    for (index_t shift : {1, 2, 29}) {
      c.y = {c.memory.data() + shift, c.shape};
      CHECK(says(c.forward(), "slicing_sort.forward: y overlaps x ("));
      CHECK(says(c.forward(), "), must be the very same view or share no element"));
    }
    c.y = {c.memory.data() + 30, c.shape};  // adjacent: no overlap
    CHECK(c.forward() == "");
  }
  SUBCASE("y on x with other strides") {
    c.y = {c.memory.data(), c.shape, {1, 6, 2}};
    CHECK(says(c.forward(), "slicing_sort.forward: y overlaps x ("));
  }
  SUBCASE("perm on x and on y") {
    c.perm = tensor3<std::uint32_t>(reinterpret_cast<std::uint32_t*>(c.memory.data()), c.shape);
    CHECK(says(c.forward(), "slicing_sort.forward: perm overlaps x ("));
    CHECK(says(c.forward(), "), must share no element"));
    CHECK(says(c.backward(), "slicing_sort.backward: perm overlaps dy ("));
    c.perm = tensor3<std::uint32_t>(reinterpret_cast<std::uint32_t*>(c.y.data()), c.shape);
    CHECK(says(c.forward(), "slicing_sort.forward: perm overlaps y ("));
    CHECK(says(c.backward(), "slicing_sort.backward: perm overlaps dx ("));
  }
  SUBCASE("slices of a packed tensor") {
    strides3 const s{30, 6, 1};
    c.x = {c.memory.data(), c.shape, s};
    c.y = {c.memory.data() + 3, c.shape, s};
    CHECK(c.forward_not_saved() == "");
    c.y = {c.memory.data() + 2, c.shape, s};
    CHECK(says(c.forward_not_saved(), "y overlaps x ("));
    c.y = {c.memory.data() + 4, c.shape,
           s};  // its last channel is x's first channel of the next row
    CHECK(says(c.forward_not_saved(), "y overlaps x ("));
  }
}

TEST_CASE("sorting whole columns rejects 8-bit indices") {
  call c;
  std::vector<std::uint8_t> bytes(30);
  c.perm = tensor3<std::uint8_t>(bytes.data(), c.shape);
  char const* const error = "perm has 8-bit indices, must have 16-bit or 32-bit ones";
  CHECK(c.forward() == std::string("slicing_sort.forward: ") + error);
  CHECK(c.backward() == std::string("slicing_sort.backward: ") + error);
}

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
    auto const status = op.forward(ss::exec::dry_run{c.exec}, c.x, c.y, ss::no_saved, c.scratch,
                                   ss::tensor1<index_t const>(nullptr, 2));
    CHECK(std::string(status.message) ==
          "slicing_sort.forward: lengths.data is null, must point to 2 lengths");
  }
}

TEST_CASE("the first error is reported") {
  call c;
  c.x = {c.x.data(), {2, -5, 3}};
  c.scratch = {};
  c.lengths = {1, 2, 3};
  CHECK(says(c.forward(), "x.length is -5"));
}

TEST_CASE("order policies that reject their parameters") {
  SUBCASE("half_half") {
    slicing_sort_call<ss::half_half> c;
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
    slicing_sort_call<ss::interleave> c;
    for (index_t layer : {0, 4, -1}) {
      c.order = {layer, 3};
      CHECK(c.forward() ==
            "slicing_sort.forward: order interleave: layer must be in 1..layers (channels is 3)");
    }
    c.order = {3, 3};
    CHECK(c.forward() == "");
  }
  SUBCASE("haar_interleave") {
    slicing_sort_call<ss::haar_interleave> c;
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
  c.exec.threads = 0;
  CHECK(c.forward() == "slicing_sort.forward: exec.threads is 0, must be at least 1");
  CHECK(c.backward() == "slicing_sort.backward: exec.threads is 0, must be at least 1");
  c.exec.threads = 1;
  for (ss::isa set : {ss::isa::avx2, ss::isa::avx512}) {
    c.exec.instructions = set;
    if (ss::detail::is_isa_available(set)) {
      CHECK(c.forward() == "");
    } else {
      CHECK(says(c.forward(), "exec.instructions is avx"));
    }
  }
}

TEST_CASE("a workspace of the exact size is accepted, one byte less is not") {
  for (unsigned threads : {1u, 3u}) {
    call c;
    c.exec.threads = threads;
    std::size_t const required = ss::slicing_sort<>::workspace_bytes<float>(c.exec, c.shape);
    REQUIRE(required > 0);
    c.scratch.bytes = required;
    CHECK(c.forward() == "");
    CHECK(c.backward() == "");
    c.scratch.bytes = required - 1;
    auto const error = "workspace.bytes is " + std::to_string(required - 1) +
                       ", must be at least " + std::to_string(required);
    CHECK(c.forward() == "slicing_sort.forward: " + error);
    CHECK(c.forward_not_saved() == "slicing_sort.forward: " + error);
    CHECK(c.backward() == "slicing_sort.backward: " + error);
    c.scratch = {nullptr, required};
    CHECK(c.forward() == "slicing_sort.forward: workspace.data is null, must point to " +
                             std::to_string(required) + " bytes");
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
