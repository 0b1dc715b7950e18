# SPDX-License-Identifier: Apache-2.0
"""Writes the sources of the documentation site to a folder, for mkdocs: the pages of README.md and docs/, every file that they link to
(source code as a page with its text), and the API reference (api.py). Paths are those of the repository without leading dots, so
relative links stay as they are. docs/build calls it: generate.py FOLDER DOXYGEN_XML SITE."""
import json
import re
import shutil
import sys
from pathlib import Path

from api import ROOT, Reference

PAGES = {
    "Home": "README.md",
    "Using the library": ["docs/README.md", "docs/workspace_and_saved_state.md", "docs/masks/README.md", "docs/random_rows.md", "docs/execution.md",
                          "docs/dtypes.md", "docs/errors.md", "docs/packaging/README.md", "examples/torch/README.md", "examples/jax/README.md",
                          "examples/bindings/README.md", "docs/gpu_runs.md", "docs/rank_collapse.md", "docs/softmax_numerics/README.md"],
    "Operators": ["docs/operators/README.md", "docs/operators/*.md", "docs/recipes/README.md", "docs/learning/README.md",
                  "docs/learning/results/README.md"],
    "API": None,
    "Benchmarks": ["docs/arena/README.md", "docs/benchmarks/README.md", "docs/benchmarks/*.md", "docs/gpu_model.md"],
    "Development": ["docs/design.md", "docs/adding_an_operator.md", "docs/glossary.md", "docs/*.md", "docs/ptx_machine/*.md", "tests/mutants/README.md",
                    ".github/CONTRIBUTING.md", ".github/SECURITY.md"],
    "Changelog": "docs/CHANGELOG.md",
}
LANGUAGES = {".hpp": "cpp", ".cuh": "cpp", ".inl": "cpp", ".cpp": "cpp", ".cu": "cuda", ".py": "python", ".json": "json", ".cmake": "cmake"}
PICTURES = (".svg", ".png")
FENCED = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\(|(?:src|srcset|href)=\")([^)#\"\s]+)((?:#[^)\"]*)?[)\"])")
PICTURE = re.compile(r"<picture>\s*<source [^>]*srcset=\"([^\"]+)\">\s*<img src=\"([^\"]+)\"(.*?)>\s*</picture>", re.DOTALL)


def site_path(path: Path) -> Path:
    """Returns the path of a file's copy or page. mkdocs ignores names with a leading dot."""
    parts = [part.lstrip(".") for part in path.relative_to(ROOT).parts]
    name = Path(*parts)
    return name if path.suffix in (".md", *PICTURES) else name.with_name(name.name + ".md")


def indent_by_four(text: str, fenced: bool) -> str:
    """Indents what belongs to an item of a list, by two or three columns on GitHub, by four."""
    def replace(match: re.Match) -> str:
        columns = len(fence[0] if fenced else match[0])
        return match[0] + " " * (4 * ((columns + 1) // 2) - columns)
    fence = re.match(" *", text)
    return re.sub(r"^ *", replace, text, flags=re.MULTILINE)


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder, self.done = folder, set()

    def write(self, path: Path, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def add(self, path: Path) -> Path:
        """Adds a file or folder, with all that it links to, and returns its path in the site."""
        if path.is_dir():
            return self.add(path / "README.md") if (path / "README.md").exists() else self.add_folder(path)
        target = site_path(path)
        if path in self.done:
            return target
        self.done.add(path)
        if path.suffix in PICTURES:
            (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.folder / target)
        elif path.suffix == ".md":
            self.write(target, self.convert(path))
        else:
            text = path.read_text(encoding="utf-8")
            language = LANGUAGES.get(path.suffix) or ("bash" if text.startswith("#!/usr/bin/env bash") else "python" if text.startswith("#!") else "text")
            self.write(target, f"---\nsearch:\n  exclude: true\n---\n# {path.relative_to(ROOT)}\n\n````{language}\n{text}````\n")
        return target

    def add_folder(self, folder: Path) -> Path:
        """Adds a page that lists a folder without README.md."""
        target = site_path(folder / "README.md")
        rows = "".join(f"- `{path.name}{'/' if path.is_dir() else ''}`\n" for path in sorted(folder.iterdir()) if not path.name.startswith("__"))
        self.write(target, f"---\nsearch:\n  exclude: true\n---\n# {folder.relative_to(ROOT)}\n\n{rows}")
        return target

    def convert(self, page: Path) -> str:
        """Returns the Markdown of a page as mkdocs reads it: links lead to pages of the site, pictures follow the theme that the reader
        selects, and items of lists are indented by four columns."""
        def replace_link(match: re.Match) -> str:
            path = (page.parent / match[2]).resolve()
            if "://" in match[2] or match[2].startswith("mailto:") or not path.exists():
                return match[0]
            depth = len(site_path(page).parts) - 1
            return match[1] + Path(*[".."] * depth, self.add(path)).as_posix() + match[3]

        parts = FENCED.split(page.read_text(encoding="utf-8"))
        for i in range(0, len(parts), 2):
            text = re.sub(r"<!--.*?-->\n?", "", parts[i], flags=re.DOTALL)
            text = PICTURE.sub(r'<img src="\2#only-light"\3><img src="\1#only-dark"\3>', text)
            parts[i] = LINK.sub(replace_link, text)
        head = "---\nhide: [navigation]\n---\n" if page == ROOT / "README.md" else ""
        return head + "".join(indent_by_four(part, i % 2 == 1) for i, part in enumerate(parts))


def navigation(site: Site, reference: Reference) -> list:
    listed = {page for pages in PAGES.values() for page in ([pages] if isinstance(pages, str) else pages or []) if "*" not in page}
    entries = []
    for title, pages in PAGES.items():
        if title == "API":
            groups = {}
            for name in reference.pages:
                groups.setdefault(reference.group(name), []).append({name: f"api/{reference.files[name]}"})
            entries.append({"API": ["api/README.md", *({group: groups[group]} for group in ("Operators", "Functions", "Policies", "Types"))]})
        elif isinstance(pages, str):
            entries.append({title: str(site.add(ROOT / pages))})
        else:
            found = [path for page in pages for path in sorted(ROOT.glob(page)) if "*" not in page or str(path.relative_to(ROOT)) not in listed]
            entries.append({title: [str(site.add(path)) for path in found]})
    return entries


def main() -> None:
    folder, xml, target = (Path(argument).resolve() for argument in sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    reference, site = Reference(xml), Site(folder)
    if missing := reference.undocumented:
        sys.exit(f"public names without a description: {', '.join(missing)}")
    for name, file in reference.files.items():
        site.write(Path("api", file), reference.page(name))
    site.write(Path("api/README.md"), reference.index())
    shutil.copyfile(ROOT / "docs/site/extra.css", folder / "extra.css")
    version = ".".join(re.findall(r"VERSION_\w+ (\d+)", (ROOT / "include/slicesort/version.hpp").read_text(encoding="utf-8")))
    # JSON is YAML, too.
    config = {"INHERIT": str(ROOT / "docs/site/mkdocs.yml"), "docs_dir": str(folder), "site_dir": str(target / version),
              "nav": navigation(site, reference)}
    (folder.parent / "mkdocs.yml").write_text(json.dumps(config), encoding="utf-8")
    # The selector of versions: every folder of the target that has the name of one.
    versions = sorted({version, *(path.name for path in target.glob("[0-9]*.[0-9]*.[0-9]*"))}, key=lambda v: [int(n) for n in v.split(".")], reverse=True)
    target.mkdir(parents=True, exist_ok=True)
    (target / "versions.json").write_text(json.dumps([{"version": v, "title": v, "aliases": []} for v in versions]), encoding="utf-8")
    (target / "index.html").write_text(f'<meta http-equiv="refresh" content="0; url={versions[0]}/index.html">\n', encoding="utf-8")


main()
