# SPDX-License-Identifier: Apache-2.0
"""Pages of the API reference from Doxygen's XML: one for each public name, that is, each name of the namespace slicesort outside of
detail:: that is not deprecated, and one table of them by header with the comments of the headers."""
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ("public-type", "public-attrib", "public-static-attrib", "public-func", "public-static-func")
COLUMNS = 88


def plain(node: Element | None) -> str:
    return "" if node is None else " ".join("".join(node.itertext()).split())


def markdown(node: Element) -> str:
    """Returns the Markdown of a description."""
    text = node.text or ""
    for child in node:
        inner = markdown(child)
        if child.tag == "para":
            inner += "\n\n"
        elif child.tag == "computeroutput":
            inner = f"`{inner}`"
        elif child.tag in ("bold", "emphasis"):
            inner = f"**{inner}**" if child.tag == "bold" else f"*{inner}*"
        elif child.tag == "listitem":
            inner = "- " + textwrap.indent(inner.strip(), "    ").lstrip() + "\n"
        elif child.tag in ("itemizedlist", "parameterlist"):
            inner = f"\n\n{'**Template parameters**' if child.get('kind') == 'templateparam' else ''}\n\n{inner}\n"
        elif child.tag == "parameteritem":
            inner = f"- `{plain(child.find('.//parametername'))}`: {markdown(child.find('parameterdescription')).strip()}"
        text += inner + (child.tail or "")
    return text


def description(node: Element) -> str:
    text = "".join(markdown(node.find(tag)) for tag in ("briefdescription", "detaileddescription") if node.find(tag) is not None)
    return re.sub(r"\n\s*\n\s*\n*", "\n\n", text).strip()


def type_text(node: Element | None) -> str:
    """Returns a type as the sources write it. A call of an operator returns void; its dry run returns a status."""
    text = re.sub(r"\s*([<>&*(])\s*", r"\1", plain(node)).replace(",", ", ").replace("  ", " ")
    text = re.sub(r"\b(detail::)?outcome<Exec>", "void", text)
    text = re.sub(r"\b(detail::)?outcome_size<Exec>", "std::size_t", text)
    return re.sub(r"([&*>])(?=\w)", r"\1 ", text.replace("detail::", ""))


def parameter(node: Element) -> str:
    name, default = plain(node.find("declname") if node.find("declname") is not None else node.find("defname")), plain(node.find("defval"))
    text = type_text(node.find("type"))
    text = text.replace("(&)", f"(&{name})") if "(&)" in text else f"{text} {name}".strip()
    return text + plain(node.find("array")) + (f" = {default}" if default else "")


def template(node: Element) -> str:
    """Returns the template parameters without those that only restrict calls."""
    head = node.find("templateparamlist")
    parameters = [] if head is None else [parameter(p) for p in head if not re.search(r"\bif_\w+|enable_if|require_", plain(p))]
    return f"template <{', '.join(parameters)}>\n" if parameters else ""


def declaration(node: Element) -> str:
    """Returns the declaration of a function, variable, type or enumeration."""
    name, kind = plain(node.find("name")), node.get("kind")
    if kind == "enum":
        values = "".join(f"  {plain(v.find('name'))}{' ' + plain(v.find('initializer')) if v.find('initializer') is not None else ''},"
                         f"{comment(v)}\n" for v in node.findall("enumvalue"))
        return f"enum class {name} {{\n{values}}};"
    if kind == "typedef":
        value = re.sub(r"\s*([<>])\s*", r"\1", plain(node.find("definition")).split(" = ", 1)[-1].strip())
        return f"{template(node)}using {name} = {value.replace('detail::', '')};"
    result = type_text(node.find("type"))
    static = "static " if node.get("static") == "yes" else ""
    if kind == "variable":
        return f"{static}{result} {name}{plain(node.find('argsstring'))}{initializer(node)};"
    parameters = [parameter(p) for p in node.findall("param")]
    suffix = (" const" if node.get("const") == "yes" else "") + (" noexcept" if node.get("noexcept") == "yes" else "") + ";"
    start = f"{static}{result} {name}(".replace("  ", " ").lstrip()
    line = start + ", ".join(parameters) + ")" + suffix
    if len(line) > COLUMNS:
        line = start + "\n    " + ",\n    ".join(parameters) + ")" + suffix
    return template(node) + line


def initializer(node: Element) -> str:
    value = plain(node.find("initializer"))
    return value if value.startswith("{") else f" {value}" if value else ""


def comment(node: Element) -> str:
    text = plain(node.find("briefdescription")) + plain(node.find("detaileddescription"))
    return f"  // {text}" if text else ""


def fence(code: str) -> str:
    return f"```cpp\n{code}\n```\n"


def anchor(header: str) -> str:
    return re.sub(r"[^a-z_]", "", header)


def summary(nodes: list[Element]) -> str:
    """Returns the first sentence of the first description, in one line."""
    text = next(filter(None, map(description, nodes)), "")
    return " ".join(re.split(r"(?<=[.])(?<!eq\.)(?<!al\.)\s", text.split("\n\n")[0])[0].split())


class Reference:
    """The public names, and their pages."""

    def __init__(self, xml: Path) -> None:
        compounds = [ElementTree.parse(path).getroot()[0] for path in sorted(xml.glob("*.xml")) if re.match("class|struct|namespace", path.name)]
        self.compounds = {plain(c.find("compoundname")): c for c in compounds}
        namespaces = {name for name, c in self.compounds.items() if c.get("kind") == "namespace" and not re.match("std|.*detail", name)}
        self.names: dict[str, list[Element]] = {}
        for name, node in self.compounds.items():
            if node.get("kind") != "namespace" and name.rpartition("::")[0] in namespaces and "<" not in name:
                self.names[name] = [node]
        for space in sorted(namespaces):
            for node in self.compounds[space].findall("sectiondef/memberdef"):
                name = f"{space}::{plain(node.find('name'))}"
                # A function with the name of a class is a deduction guide.
                if name not in self.names and not self.is_deprecated(node):
                    self.names.setdefault(name, []).append(node)
        self.pages = {name.removeprefix("slicesort::"): nodes for name, nodes in sorted(self.names.items())}
        self.undocumented = [name for name, nodes in self.pages.items() if not any(map(description, nodes))]
        self.files = {name: re.sub(r"\W+", "_", name.replace("<<", "_output")) + ".md" for name in self.pages}

    def is_deprecated(self, node: Element) -> bool:
        place = node.find("location")
        return "[[deprecated" in (ROOT / "include" / place.get("file")).read_text(encoding="utf-8").splitlines()[int(place.get("line")) - 1]

    def header(self, name: str) -> str:
        return re.sub(r"detail/(\w+)/params", r"\1", self.pages[name][0].find("location").get("file"))

    def group(self, name: str) -> str:
        if any(plain(m.find("name")) in ("forward", "run") for node in self.pages[name] for m in self.members(node)) and "exec" not in name:
            return "Operators"
        return "Policies" if "/policies/" in self.header(name) else "Functions" if self.pages[name][0].get("kind") == "function" else "Types"

    def members(self, node: Element, inherited: bool = False) -> Iterator[Element]:
        """Yields the public members, also those of base classes, except for constructors of those."""
        class_name = plain(node.find("compoundname"))
        for section in node.findall("sectiondef"):
            if section.get("kind") in PUBLIC:
                yield from (m for m in section if plain(m.find("name")) != "refused" and not plain(m.find("argsstring")).endswith("=delete")
                            and not (inherited and class_name.endswith("::" + plain(m.find("name")))))
        for base in node.findall("basecompoundref"):
            if found := self.compounds.get("slicesort::" + plain(base).split("<")[0].strip().removeprefix("slicesort::")):
                yield from self.members(found, inherited=True)

    def page(self, name: str) -> str:
        header = self.header(name)
        guide = f", [guide](../docs/operators/{name}.md)" if (ROOT / f"docs/operators/{name}.md").exists() else ""
        text = f"# {name}\n\n`#include <{header}>` ([header](README.md#{anchor(header)}){guide})\n\n"
        return text + self.link("\n".join(self.body(node) for node in self.pages[name]), name)

    def body(self, node: Element) -> str:
        if node.tag == "memberdef":
            return f"{fence(declaration(node))}\n{description(node)}\n"
        bases = [type_text(b).replace("slicesort::", "") for b in node.findall("basecompoundref") if "detail" not in plain(b)]
        members = list(self.members(node))
        fields = "".join(textwrap.indent(declaration(m) + comment(m), "  ") + "\n" for m in members if m.get("kind") in ("variable", "typedef"))
        head = f"{template(node)}{node.get('kind')} {plain(node.find('compoundname')).rpartition('::')[2]}{' : ' + ', '.join(bases) if bases else ''}"
        text = fence(f"{head} {{\n{fields}}};" if fields else f"{head};") + f"\n{description(node)}\n"
        functions = [m for m in members if m.get("kind") == "function"]
        documented = {plain(m.find("name")) for m in functions if description(m)}
        for name in sorted(documented, key=[plain(m.find("name")) for m in functions].index):
            text += f"\n## {name}\n\n" + "\n".join(f"{fence(declaration(m))}\n{description(m)}\n" for m in functions if plain(m.find("name")) == name)
        if others := [declaration(m) for m in functions if plain(m.find("name")) not in documented]:
            text += f"\n## {'Other members' if documented else 'Members'}\n\n" + fence("\n".join(others))
        return text

    def link(self, text: str, page_name: str) -> str:
        """Links the public names in code spans to their pages."""
        def replace(match: re.Match) -> str:
            file = self.files.get(match[1])
            return f"[{match[0]}]({file})" if file and match[1] != page_name else match[0]
        parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)
        return "".join(part if part.startswith("```") else re.sub(r"`([\w:]+)`", replace, part) for part in parts)

    def index(self) -> str:
        """Returns the tables of the names of each header."""
        text = "# API reference\n\nThe public names of the namespace `slicesort`, by header.\n"
        headers = sorted({self.header(name) for name in self.pages}, key=lambda h: (h.count("/"), h))
        for header in headers:
            lines = (ROOT / "include" / header).read_text(encoding="utf-8").splitlines()
            about = "\n".join(line[4:] for line in lines[1:next(i for i, line in enumerate(lines) if line.startswith("#pragma"))])
            about = re.sub(r"^((?![- ] ).+\n)(?=- )", r"\1\n", about, flags=re.MULTILINE)
            rows = "".join(f"| [`{name}`]({self.files[name]}) | {summary(nodes)} |\n" for name, nodes in self.pages.items() if self.header(name) == header)
            text += f"\n## {header.removeprefix('slicesort/')} {{: #{anchor(header)} }}\n\n{about}\n\n| name | |\n|---|---|\n{rows}"
        return text
