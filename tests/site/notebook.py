"""docs/tutorial.ipynb, from its text below: `python -m tests.site.notebook` writes it with the outputs of a fresh kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.ipynb"
SOURCE = Path(__file__).with_name("tutorial.md")
CELL = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def written() -> Any:
    """The notebook without outputs: text in cells of its own between those of code."""
    from nbformat import v4

    cells = []
    for number, part in enumerate(CELL.split(SOURCE.read_text("utf-8"))):
        if part.strip():
            made = v4.new_code_cell if number % 2 else v4.new_markdown_cell
            cells.append(made(part.strip(), id=f"cell-{number}"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def executed() -> Any:
    """The notebook with its outputs; raises where a cell fails."""
    from nbclient import NotebookClient

    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    client = NotebookClient(written(), timeout=300, record_timing=False, resources={"metadata": {"path": str(TUTORIAL.parent)}})
    return client.execute()


def said(notebook: Any) -> list[str]:
    """What each cell of code printed."""
    return ["".join(one.get("text", "") for one in cell["outputs"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


if __name__ == "__main__":
    import nbformat

    done = executed()
    done["metadata"]["language_info"] = {"name": "python"}  # not the version that happened to run it
    nbformat.write(done, TUTORIAL)
