"""What mkdocs does with the pages of this project: README and its neighbours are pages too, and so are notebooks.

A link to a file that is no page, such as one of the code, becomes its name.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
BESIDE = {"README.md": "index.md", "CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md"}
SEARCHED_FROM_DISK = "assets/iframe-worker.js"
STYLE = "assets/site.css"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/ as pages."""
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, content=_linked((ROOT / name).read_text("utf-8"), "")))
    files.append(File.generated(config, SEARCHED_FROM_DISK, content=Path(__file__).with_name("iframe-worker.js").read_text("utf-8")))
    files.append(File.generated(config, STYLE, content=Path(__file__).with_name("site.css").read_text("utf-8")))
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            files.remove(file)
            text = notebook(json.loads(Path(file.abs_src_path).read_text("utf-8")))
            files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=_linked(text, "docs")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of docs/ lead to the page that stands for the file."""
    return markdown if page.file.generated_by else _linked(markdown, posixpath.join("docs", posixpath.dirname(page.file.src_uri)))


def notebook(cells: dict[str, Any]) -> str:
    """A notebook as Markdown: text, code, and what it printed."""
    parts = []
    for cell in cells["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        language = "sh" if source.startswith("%%bash") else "python"
        parts.append(f"```{language}\n{source.removeprefix('%%bash').strip()}\n```")
        output = "".join("".join(one.get("text") or one.get("data", {}).get("text/plain", "")) for one in cell["outputs"])
        if output.strip():
            parts.append(f"```text\n{output.rstrip()}\n```")
    return "\n\n".join(parts)


def _linked(text: str, folder: str) -> str:
    """The text of a file in this folder of the project, with links as the site has them; code is left alone."""

    def target(found: re.Match[str]) -> str:
        image, name, address = found.groups()
        if re.match(r"[a-z]+:|#", address):
            return found[0]
        path, _, anchor = address.partition("#")
        path = posixpath.normpath(posixpath.join(folder, path))
        page = BESIDE.get(path, path.removeprefix("docs/").replace(".ipynb", ".md") if path.startswith("docs/") else None)
        if page is None:
            return f"`{name}`" if "`" not in name else name
        return f"{image}[{name}]({page}{'#' if anchor else ''}{anchor})"

    return "".join(part if part.startswith("```") else LINK.sub(target, part) for part in FENCE.split(text))
