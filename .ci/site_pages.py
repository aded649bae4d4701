"""What the documentation's site needs besides the pages in docs: those at the root, and where links out of docs lead."""

import re
from pathlib import Path

from mkdocs.structure.files import File

SOURCE = "https://github.com/holdfast-sim/holdfast/blob/main/"
ROOT = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md", "security.md": "SECURITY.md"}
PAGES = {source: page for page, source in ROOT.items()}
LINK = re.compile(r"\]\(([^)\s]+)\)")


def on_files(files, config):
    root = Path(config.config_file_path).parent
    for page, source in ROOT.items():
        text = LINK.sub(from_root, (root / source).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    return LINK.sub(from_docs, markdown)


def from_root(link):
    """A link of a page at the root, as it is from docs."""
    to = link[1]
    if to.startswith("docs/"):
        return f"]({to.removeprefix('docs/')})"
    return link[0] if ":" in to or to.startswith("#") else f"](../{to})"


def from_docs(link):
    """A link out of docs leads to the page of that file, or else to the source."""
    to = link[1]
    if not to.startswith("../"):
        return link[0]
    path = to.removeprefix("../")
    name, _, part = path.partition("#")
    if name in PAGES:
        return f"]({PAGES[name]}{'#' + part if part else ''})"
    root = Path(__file__).parent.parent
    if not (root / name).exists():
        raise FileNotFoundError(f"a page leads to {to}, which there is not")
    return f"]({SOURCE}{path})"
