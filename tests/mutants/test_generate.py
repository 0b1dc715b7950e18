#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the list of mutants is reproducible, that a mutant changes the text that it names, and that the edit of a line
does not affect the mutants of others."""
import re
import unittest

import generate
import run

SOURCE = """#pragma once
// A comment: a + b.
template <int N, class T>
struct tile {
  static constexpr int twice = 2 * N;
  int rows(int a, int b) const;
};
template <int N, class T>
int tile<N, T>::rows(int a, int b) const {
  constexpr int four = 2 * 2;
  constexpr int eight = int{1} << (2 + 1);
  int lines[2 * N];
  int const c = a < b ? lines[a + 1] : f(a, b);  // the smaller one
  if (a == b && c > 0) return std::min(a, c);
  g.put(a);
  int x(a);
  tile<N + 1, T> other;
  return c * four;
}
"""


def mutations(text: str) -> list[str]:
    return [mutant.mutation for mutant in generate.find_mutants("x.hpp", text)]


class Candidates(unittest.TestCase):
    def test_every_kind(self):
        self.assertEqual(mutations(SOURCE), [
            "a < b -> a <= b", "a + 1 -> a - 1", "a + 1 -> a + 2", "a + 1 -> a + 0", "f(a, b) -> f(b, a)", "a == b && c > 0 -> a != b && c > 0",
            "a == b && c > 0 -> a == b || c > 0", "a == b && c > 0 -> a == b && c >= 0", "a == b && c > 0 -> a == b && c > 1",
            "std::min(a, c) -> std::max(a, c)", "c * four -> c + four", "g.put(a); -> nothing"])

    def test_no_brackets_of_templates(self):
        self.assertEqual(mutations("void f() {\n  auto const v = vec<int, (1 << 2)>(x) + load<T>(y);\n}\n"),
                         ["vec<int, (1 << 2)>(x) + load<T>(y) -> vec<int, (1 << 2)>(x) - load<T>(y)"])

    def test_an_assignment_is_one_expression(self):
        self.assertEqual(mutations("void f() {\n  a += b ? 1 : c;\n}\n"),
                         ["a += b ? 1 : c -> a -= b ? 1 : c", "1 -> 2", "1 -> 0", "a += b ? 1 : c; -> nothing"])

    def test_a_statement_below_an_else(self):
        text = "void f() {\n  if (a)\n    g(a);\n  else\n    h[a] = b;\n}\n"
        mutants = generate.find_mutants("x.hpp", text)
        self.assertEqual([m.mutation for m in mutants], ["g(a); -> nothing", "h[a] = b; -> nothing"])
        self.assertIn("{ if (!SLICESORT_MUTANT(7)) { g(a); } }\n  else", generate.mutate(text, [(7, mutants[0])]))


class Choice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mutants = generate.find_all_mutants(generate.ROOT)
        cls.chosen = generate.choose(cls.mutants)

    def test_reproducible(self):
        self.assertEqual(generate.choose(generate.find_all_mutants(generate.ROOT)), self.chosen)

    def test_enough_of_every_area(self):
        self.assertGreaterEqual(len(self.chosen), 300)
        self.assertEqual({m.area for m in self.chosen.values()}, {m.area for m in self.mutants})

    def test_keys_are_unique(self):
        self.assertEqual(len({m.key for m in self.mutants}), len(self.mutants))

    def test_mutants_change_the_text_they_name(self):
        for number, mutant in self.chosen.items():
            text = (generate.ROOT / generate.DETAIL / mutant.file).read_text(encoding="utf-8")
            old, new = mutant.mutation.split(" -> ") if mutant.mutation.count(" -> ") == 1 else ("", "")
            without_spaces = re.sub(r"\s*//[^\n]*|\s+", "", text[mutant.begin:mutant.end])
            if old:
                self.assertEqual(without_spaces, re.sub(r"\s+", "", old), mutant.key)
                self.assertIn(new if new != "nothing" else old, generate.mutate(text, [(number, mutant)]))
            self.assertEqual(generate.mutate(text, [(number, mutant)]).count("\n"), text.count("\n"), mutant.key)

    def test_rejected_mutants_are_replaced(self):
        rejected = self.chosen[min(self.chosen)].key
        chosen = generate.choose(self.mutants, frozenset([rejected]))
        self.assertEqual(len(chosen), len(self.chosen))
        self.assertNotIn(rejected, {m.key for m in chosen.values()})
        self.assertGreaterEqual(sum(chosen.get(n) == m for n, m in self.chosen.items()), len(chosen) - 2)

    def test_equivalent_mutants_exist(self):
        self.assertEqual(run.read_equivalent().keys() - {mutant.key for mutant in self.mutants}, set())

    def test_survivors_of_earlier_runs_exist(self):
        self.assertEqual(set(generate.ALWAYS) - {(mutant.file, mutant.mutation) for mutant in self.mutants}, set())

    def test_edits_do_not_affect_other_lines(self):
        file = next(iter(self.chosen.values())).file
        path = generate.ROOT / generate.DETAIL / file
        edited = "\n\n" + path.read_text(encoding="utf-8")
        keys = {m.key for m in generate.find_mutants(file, edited)}
        self.assertEqual(keys, {m.key for m in self.mutants if m.file == file})


if __name__ == "__main__":
    unittest.main()
