// SPDX-License-Identifier: Apache-2.0
// The image of a call's memory, with the host backend in place of the device: views, gaps and
// aliases are copied and restored, and writes outside of them are reported.
#include "image.hpp"

#include "support/buffers.hpp"
#include "support/inputs.hpp"

#include <doctest/doctest.h>
#include <slicesort/detail/multi_permutation/params.hpp>
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace support;

namespace {

using sort_params = ss::detail::transfer_forward<ss::detail::slicing_sort_op<ss::ascending>, float>;

// Runs f(params) on a copy of the image; returns the error of copy_back().
template <class F>
std::string run_on_copy(sort_params params, F const& f) {
  memory_image image;
  for_each_view(params, [&](auto& view, access use) { image.add(range_of(view), use); });
  image.copy_from_host();
  std::vector<unsigned char> device_memory = image.bytes();
  for (auto& region : image.regions()) region.device = device_memory.data() + region.offset;
  sort_params device_params = params;
  for_each_view(device_params,
                [&](auto& view, access) { move_to(view, image.device_address(view.data())); });
  f(device_params);
  image.bytes() = device_memory;
  return image.copy_back();
}
void sort(sort_params const& params) {
  ss::slicing_sort<> const op;
  ss::exec::host const exec{};
  guarded_workspace scratch(op.workspace_bytes<float>(exec, params.x.extents()));
  op.forward(exec, params.x, params.y, {params.state}, scratch.get(), {params.lengths});
}

constexpr extents3 e{3, 20, 5};
tensor<float> input() {
  tensor<float> x(e);
  x.elements() = make_column<float>(input_kind::few_unique, x.elements().size(), 4);
  return x;
}

}  // namespace

TEST_CASE("strides, gaps, lengths and 16-bit rows") {
  std::vector<index_t> const lengths = {20, -99, 7, -99, 0};
  tensor<float> const values = input();
  tensor<float> y(e);
  tensor<std::uint16_t> perm(e);
  sort_params plain{{}, values.view(), y.view(), perm.view(), true, {lengths.data(), 3, 2}};
  sort(plain);
  strided_tensor<float> const x(values, strides_in_order(e, {2, 0, 1}, 3), 1);
  strided_tensor<float> sorted(e, strides_in_order(e, {1, 2, 0}, 2), 5);
  strided_tensor<std::uint16_t> saved(e, strides_in_order(e, {0, 2, 1}, 1), 2);
  sort_params const params{{}, x.view(), sorted.view(), saved.view(), true, plain.lengths};
  CHECK(run_on_copy(params, [&](sort_params const& device_params) {
          CHECK(static_cast<void const*>(device_params.x.data()) != params.x.data());
          CHECK(static_cast<void const*>(device_params.state.data()) != params.state.data());
          sort(device_params);
        }) == "");
  CHECK(same_bits(sorted.contents().elements(), y.elements()));
  CHECK(same_bits(saved.contents().elements(), perm.elements()));
  CHECK((x.padding_intact() && sorted.padding_intact() && saved.padding_intact()));
}

TEST_CASE("in place, and views that interleave") {
  tensor<float> const values = input();
  tensor<float> y(e), values_in_place = values;
  tensor<std::uint32_t> perm(e), saved(e);
  sort({{}, values.view(), y.view(), perm.view(), true, {}});
  sort_params const in_place{{}, values_in_place.view(), values_in_place.view(), saved.view(), true,
                             {}};
  CHECK(run_on_copy(in_place, [](sort_params const& device_params) {
          CHECK(static_cast<void const*>(device_params.x.data()) == device_params.y.data());
          sort(device_params);
        }) == "");
  CHECK(same_bits(values_in_place.elements(), y.elements()));

  // x and y are the halves of every row of one packed tensor.
  extents3 const packed{e.batch, e.length, 2 * e.channels};
  strides3 const s = row_major(packed);
  tensor<float> packed_halves(packed);
  for_each_position(
      e, [&](index_t b, index_t n, index_t c) { packed_halves(b, n, c) = values(b, n, c); });
  tensor3<float> const first_half(packed_halves.view().data(), e, s),
      second_half(packed_halves.view().data() + e.channels, e, s);
  CHECK(run_on_copy({{}, first_half, second_half, saved.view(), true, {}},
                    [](sort_params const& device_params) {
                      CHECK(device_params.y.data() - device_params.x.data() == e.channels);
                      sort(device_params);
                    }) == "");
  for_each_position(e, [&](index_t b, index_t n, index_t c) {
    CHECK(same_bits(packed_halves(b, n, c), values(b, n, c)));
    CHECK(same_bits(packed_halves(b, n, c + e.channels), y(b, n, c)));
  });
}

TEST_CASE("addresses keep their alignment; empty views are unchanged") {
  std::vector<float> memory(1000);
  for (std::size_t offset = 0; offset < 70; ++offset) {
    tensor3<float> const y(memory.data() + offset, {1, 5, 3}),
        x(memory.data() + offset + 100, {1, 5, 3});
    CHECK(run_on_copy({{}, x, y, {}, false, {}}, [&](sort_params const& device_params) {
            auto const misalignment = [](void const* address) {
              return reinterpret_cast<std::uintptr_t>(address) % 16;
            };
            CHECK(misalignment(device_params.y.data()) == misalignment(y.data()));
            CHECK(misalignment(device_params.x.data()) == misalignment(x.data()));
          }) == "");
  }
  tensor3<float> const empty_view(memory.data(), {0, 5, 3});
  CHECK(run_on_copy({{}, empty_view, empty_view, {}, false, {}},
                    [&](sort_params const& device_params) {
                      CHECK(device_params.x.data() == empty_view.data());
                    }) == "");
}

TEST_CASE("views with gigabytes between their samples are rejected, not copied") {
  float element = 0;
  tensor3<float const> const distant_samples(&element, e, {index_t{1} << 31, e.channels, 1});
  memory_image image;
  image.add(range_of(distant_samples), access::read);
  CHECK_THROWS_AS(image.copy_from_host(), std::length_error);
}

TEST_CASE("a write outside of the views, or into an input, is reported") {
  tensor<float> x = input(), y(e);
  sort_params const params{{}, x.view(), y.view(), {}, false, {}};
  CHECK(run_on_copy(params, [](sort_params const& device_params) {
          device_params.y.data()[-1] = 1;
        }) == "a write outside of every view");
  CHECK(run_on_copy(params, [](sort_params const& device_params) {
          device_params.y.data()[e.size()] = 1;
        }) == "a write outside of every view");
  CHECK(run_on_copy(params, [](sort_params const& device_params) {
          const_cast<float*>(device_params.x.data())[3] = 99;
        }) == "an input was written");
}

TEST_CASE("every view of a call is visited, except for those without data") {
  using call = ss::detail::multi_permutation_backward<float>;
  using view_list = std::vector<std::pair<void const*, access>>;
  auto const views_of = [](call params) {
    view_list views_found;
    for_each_view(params,
                  [&](auto& view, access use) { views_found.emplace_back(view.data(), use); });
    return views_found;
  };
  tensor<float> dy(e), x(e), dx(e);
  tensor<std::uint16_t> perm(e);
  std::vector<float> weights(4), dweights(4);
  std::vector<index_t> lengths(3);
  auto const mode = ss::grad_mode::accumulate;
  CHECK(views_of({dy.view(),
                  x.view(),
                  {4, false, 0.0f, {weights.data(), 4}},
                  {perm.view()},
                  dx.view(),
                  {dweights.data(), 4},
                  true,
                  mode,
                  {lengths.data(), 3}}) == view_list{{dy.view().data(), access::read},
                                                     {x.view().data(), access::read},
                                                     {weights.data(), access::read},
                                                     {perm.view().data(), access::read},
                                                     {dx.view().data(), access::written},
                                                     {dweights.data(), access::written},
                                                     {lengths.data(), access::read}});
  CHECK(views_of(
            {dy.view(), {}, {4, true, 0.25f, {}}, {perm.view()}, dx.view(), {}, false, mode, {}}) ==
        view_list{{dy.view().data(), access::read},
                  {perm.view().data(), access::read},
                  {dx.view().data(), access::written}});
}
