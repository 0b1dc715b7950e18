// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.3 "Floating-Point Instructions".
#include "floating_point.hpp"

#include "form.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

template <class T>
struct sum {
  static T apply(T a, T b) { return canonicalize(a + b); }
};
template <class T>
struct difference {
  static T apply(T a, T b) { return canonicalize(a - b); }
};
template <class T>
struct product {
  static T apply(T a, T b) { return canonicalize(a * b); }
};
template <class T>
struct quotient {
  static T apply(T a, T b) { return canonicalize(a / b); }
};
template <class T>
struct fused_multiply_add {
  static T apply(T a, T b, T c) { return canonicalize(std::fma(a, b, c)); }
};
template <class T>
struct reciprocal {
  static T apply(T a) { return canonicalize(1 / a); }
};
template <class T>
struct square_root {
  static T apply(T a) { return canonicalize(std::sqrt(a)); }
};
// The NaN that abs and neg return is unspecified.
template <class T>
struct absolute_value {
  static T apply(T a) { return std::fabs(a); }
};
template <class T>
struct negate {
  static T apply(T a) { return -a; }
};
// min and max ignore one NaN; -0 is less than +0.
template <class T>
struct minimum {
  static T apply(T a, T b) {
    bool const selects_a = a < b || (a == b && std::signbit(a)) || b != b;
    return canonicalize(selects_a ? a : b);
  }
};
template <class T>
struct maximum {
  static T apply(T a, T b) {
    bool const selects_a = a > b || (a == b && !std::signbit(a)) || b != b;
    return canonicalize(selects_a ? a : b);
  }
};
// .NaN: propagates a NaN.
template <template <class> class Operation>
struct propagate_nan {
  template <class T>
  struct variant {
    static T apply(T a, T b) {
      return a != a || b != b ? canonicalize(a + b) : Operation<T>::apply(a, b);
    }
  };
};

// 2^a, correctly rounded; a device approximates it to two units in the last place.
float power_of_two(float a) { return canonicalize(std::exp2(a)); }

// Decodes `opcode{.ftz}.type d, a, ..;` after the rounding modifier.
template <template <class> class Operation>
void decode_same_type(statement& s, instruction& instr) {
  bool const flush = s.take("ftz");
  instr.result_type = flush ? s.take_type({type::f32}) : s.take_type({type::f32, type::f64});
  instr.act = instr.result_type == type::f64 ? lanewise<Operation<double>::apply>
              : flush                        ? lanewise<with_flush<Operation<float>::apply>::apply>
                                             : lanewise<Operation<float>::apply>;
  s.take_result(instr, instr.result_type);
  for (std::size_t i = 0; i < lanewise_of<Operation<float>::apply>::source_count; ++i)
    s.take_source(instr, instr.result_type);
}

// add, sub and mul round to nearest by default; other rounding modes are not supported.
template <template <class> class Operation>
void decode_optional_rn(statement& s, instruction& instr) {
  s.take("rn");
  decode_same_type<Operation>(s, instr);
}
template <template <class> class Operation>
void decode_required_rn(statement& s, instruction& instr) {
  s.expect("rn");
  decode_same_type<Operation>(s, instr);
}

template <template <class> class Operation>
void decode_extremum(statement& s, instruction& instr) {
  // .ftz precedes .NaN; the type follows both.
  bool const flush = s.take("ftz"), propagates_nan = s.take("NaN");
  using with_nan = propagate_nan<Operation>;
  instr.result_type = flush ? s.take_type({type::f32}) : s.take_type({type::f32, type::f64});
  instr.act = instr.result_type == type::f64
                  ? (propagates_nan ? lanewise<with_nan::template variant<double>::apply>
                                    : lanewise<Operation<double>::apply>)
              : flush ? (propagates_nan
                             ? lanewise<with_flush<with_nan::template variant<float>::apply>::apply>
                             : lanewise<with_flush<Operation<float>::apply>::apply>)
                      : (propagates_nan ? lanewise<with_nan::template variant<float>::apply>
                                        : lanewise<Operation<float>::apply>);
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
}

void decode_ex2(statement& s, instruction& instr) {
  s.expect("approx");
  instr.act = s.take("ftz") ? lanewise<with_flush<power_of_two>::apply> : lanewise<power_of_two>;
  instr.result_type = s.take_type({type::f32});
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
}

}  // namespace

std::vector<opcode_info> floating_point() {
  constexpr type_class floats = type_class::floating_point;
  return {
      {"add", "9.7.3.3", decode_optional_rn<sum>, floats},
      {"sub", "9.7.3.4", decode_optional_rn<difference>, floats},
      {"mul", "9.7.3.5", decode_optional_rn<product>, floats},
      {"fma", "9.7.3.6", decode_required_rn<fused_multiply_add>},
      {"mad", "9.7.3.7", decode_required_rn<fused_multiply_add>, floats},
      {"div", "9.7.3.8", decode_required_rn<quotient>, floats},
      {"abs", "9.7.3.9", decode_same_type<absolute_value>, floats},
      {"neg", "9.7.3.10", decode_same_type<negate>, floats},
      {"min", "9.7.3.11", decode_extremum<minimum>, floats},
      {"max", "9.7.3.12", decode_extremum<maximum>, floats},
      {"rcp", "9.7.3.13", decode_required_rn<reciprocal>},
      {"sqrt", "9.7.3.15", decode_required_rn<square_root>},
      {"ex2", "9.7.3.21", decode_ex2},
  };
}

}  // namespace ptx
