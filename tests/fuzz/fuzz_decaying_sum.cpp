// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of decaying_sum (element type, states, number type,
// direction, constant or per-row decays, shape, layout, lengths, gradient mode, threads,
// instruction set, data). Forward and backward must match the reference bit for bit and write
// nothing else. Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "decaying_sum/problem.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace support;

namespace {

template <class T>
void run_type(byte_reader& reader) {
  using A = typename decay_problem<T>::A;
  std::uint64_t const flags = reader.take(3);
  bool const has_lengths = (flags & 32) != 0, has_special_values = (flags & 64) != 0;
  extents3 shape = read_extents(reader);
  if (shape.size() > 2000) shape.channels = std::min<index_t>(shape.channels, 3);
  decay_variant const variant{static_cast<index_t>(1 + reader.take() % 5), (flags & 1) != 0,
                              static_cast<ss::decay_direction>((flags >> 1) % 3), (flags & 8) != 0};
  auto p = make_decay_problem<T>(
      shape, variant, flags, has_lengths ? read_lengths(reader, shape) : std::vector<index_t>{},
      (flags & 128) != 0 ? ss::grad_mode::accumulate : ss::grad_mode::overwrite);
  layout const x_layout = read_layout(reader, shape), y_layout = read_layout(reader, shape);
  if (has_special_values) {
    p.x = read_tensor<T>(reader, shape, flags, (flags & 16) != 0);
    p.compute_expected();
  }

  auto const report = [&](std::string const& error) {
    require_no_error(error, std::to_string(variant.states) + " states", "");
  };
  fuzzed_exec fuzzed(flags);
  any_exec const exec = fuzzed.get();
  ss::decaying_sum const op = p.op();
  bool const accumulates = p.mode == ss::grad_mode::accumulate;
  strided_tensor<T> const x(p.x, x_layout.strides, x_layout.offset),
      dy(p.dy, x_layout.strides, x_layout.offset);
  strided_tensor<T> y(shape, y_layout.strides, y_layout.offset),
      dx(accumulates ? p.old_dx : tensor<T>(shape), y_layout.strides, y_layout.offset);
  number_tensor<A> last = p.initial, dinitial = p.dlast;
  number_tensor<T> da = accumulates ? p.old_da : p.a, dw = accumulates ? p.old_dw : p.w;
  ss::decay_inputs<T> const in{std::as_const(p.a).view(), std::as_const(p.w).view()};
  tensor4<A const> const initial = std::as_const(p.initial).view(),
                         dlast = std::as_const(p.dlast).view();
  guarded_workspace scratch(op.workspace_bytes(exec, x.view()), reader.take() % 64);

  op.forward(exec, x.view(), in, y.view(), {initial, last.view()}, scratch.get(),
             {view_of(p.lengths)});
  if (!same_bits(y.contents().elements(), p.y.elements())) report("y differs");
  op.backward(exec, dy.view(), x.view(), in, {dx.view(), da.view(), dw.view()},
              {initial, dlast, dinitial.view()}, scratch.get(), {p.mode, view_of(p.lengths)});
  if (!same_bits(dx.contents().elements(), p.dx.elements())) report("dx differs");
  if (!same_bits(last.elements, p.last.elements)) report("last state differs");
  if (!same_bits(dinitial.elements, p.dinitial.elements)) report("dinitial differs");
  if (!same_bits(da.elements, p.da.elements)) report("da differs");
  if (!same_bits(dw.elements, p.dw.elements)) report("dw differs");
  if (!y.padding_intact() || !dx.padding_intact()) report("wrote outside of the elements");
  if (!scratch.red_zones_intact()) report("wrote outside of the workspace");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<float, double, bfloat16>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
