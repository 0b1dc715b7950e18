// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.3 "Floating-Point Instructions".
#include "floating_point.hpp"

#include "form.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

template <class T>
struct sum {
  static T of(T a, T b) { return canonical(a + b); }
};
template <class T>
struct difference {
  static T of(T a, T b) { return canonical(a - b); }
};
template <class T>
struct product {
  static T of(T a, T b) { return canonical(a * b); }
};
template <class T>
struct quotient {
  static T of(T a, T b) { return canonical(a / b); }
};
template <class T>
struct fused {
  static T of(T a, T b, T c) { return canonical(std::fma(a, b, c)); }
};
template <class T>
struct reciprocal {
  static T of(T a) { return canonical(1 / a); }
};
template <class T>
struct root {
  static T of(T a) { return canonical(std::sqrt(a)); }
};
// The manual leaves open which NaN abs and neg give.
template <class T>
struct absolute {
  static T of(T a) { return std::fabs(a); }
};
template <class T>
struct negative {
  static T of(T a) { return -a; }
};
// Of a number and a NaN, the number; -0 is less than +0.
template <class T>
struct minimum {
  static T of(T a, T b) {
    bool const first = a < b || (a == b && std::signbit(a)) || b != b;
    return canonical(first ? a : b);
  }
};
template <class T>
struct maximum {
  static T of(T a, T b) {
    bool const first = a > b || (a == b && !std::signbit(a)) || b != b;
    return canonical(first ? a : b);
  }
};
// .NaN: of a number and a NaN, the NaN.
template <template <class> class Operation>
struct with_nan {
  template <class T>
  struct variant {
    static T of(T a, T b) { return a != a || b != b ? canonical(a + b) : Operation<T>::of(a, b); }
  };
};

// The device approximates 2^a to within two units in the last place; here it is rounded.
float power_of_two(float a) { return canonical(std::exp2(a)); }

// `opcode{.ftz}.type d, a, ..;` behind the modifiers of rounding.
template <template <class> class Operation>
void alike(statement& s, instruction& n) {
  bool const flush = s.take("ftz");
  n.t = flush ? s.take_type({type::f32}) : s.take_type({type::f32, type::f64});
  n.act = n.t == type::f64 ? lanewise<Operation<double>::of>
          : flush          ? lanewise<flushing<Operation<float>::of>::of>
                           : lanewise<Operation<float>::of>;
  s.result(n, n.t);
  for (std::size_t i = 0; i < lanewise_of<Operation<float>::of>::sources; ++i) s.source(n, n.t);
}

// To nearest is what add, sub and mul do when nothing is said; other roundings are not known here.
template <template <class> class Operation>
void may_round(statement& s, instruction& n) {
  s.take("rn");
  alike<Operation>(s, n);
}
template <template <class> class Operation>
void must_round(statement& s, instruction& n) {
  s.expect("rn");
  alike<Operation>(s, n);
}

template <template <class> class Operation>
void decode_extremum(statement& s, instruction& n) {
  // .ftz comes before .NaN; the type is behind both.
  bool const flush = s.take("ftz"), nan = s.take("NaN");
  using strict = with_nan<Operation>;
  n.t = flush ? s.take_type({type::f32}) : s.take_type({type::f32, type::f64});
  n.act =
      n.t == type::f64
          ? (nan ? lanewise<strict::template variant<double>::of> : lanewise<Operation<double>::of>)
      : flush
          ? (nan ? lanewise<flushing<strict::template variant<float>::of>::of>
                 : lanewise<flushing<Operation<float>::of>::of>)
          : (nan ? lanewise<strict::template variant<float>::of> : lanewise<Operation<float>::of>);
  s.result(n, n.t);
  s.source(n, n.t);
  s.source(n, n.t);
}

void decode_ex2(statement& s, instruction& n) {
  s.expect("approx");
  n.act = s.take("ftz") ? lanewise<flushing<power_of_two>::of> : lanewise<power_of_two>;
  n.t = s.take_type({type::f32});
  s.result(n, n.t);
  s.source(n, n.t);
}

}  // namespace

std::vector<form> floating_point() {
  constexpr numbers floats = numbers::floating_point;
  return {
      {"add", "9.7.3.3", may_round<sum>, floats},
      {"sub", "9.7.3.4", may_round<difference>, floats},
      {"mul", "9.7.3.5", may_round<product>, floats},
      {"fma", "9.7.3.6", must_round<fused>},
      {"mad", "9.7.3.7", must_round<fused>, floats},
      {"div", "9.7.3.8", must_round<quotient>, floats},
      {"abs", "9.7.3.9", alike<absolute>, floats},
      {"neg", "9.7.3.10", alike<negative>, floats},
      {"min", "9.7.3.11", decode_extremum<minimum>, floats},
      {"max", "9.7.3.12", decode_extremum<maximum>, floats},
      {"rcp", "9.7.3.13", must_round<reciprocal>},
      {"sqrt", "9.7.3.15", must_round<root>},
      {"ex2", "9.7.3.21", decode_ex2},
  };
}

}  // namespace ptx
