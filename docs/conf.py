"""How the documentation is built. Nothing here, and nothing in the pages, needs a network."""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

from festina._version import __version__

matplotlib.use("Agg")
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # of the notebooks, which show their figures
os.environ["FESTINA_DATA"] = str(Path(__file__).resolve().parent / "_build" / "no-images")  # the same pages everywhere
for each in ("festina", "traitlets"):
    logging.getLogger(each).setLevel(logging.WARNING)  # what runs is told of by Sphinx itself
sys.path.insert(0, str(Path(__file__).resolve().parent / "_ext"))

project = "festina"
author = "The festina developers"
copyright = author
version = release = __version__

extensions = [
    "generated",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]

exclude_patterns = ["_build", "gallery_src", "**/README.txt", "**/GALLERY_HEADER.rst", "gallery/**/*.ipynb"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
root_doc = "index"

# Markdown: $inline$ and $$display$$ mathematics, labelled equations, and links to headings.
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False

# Tutorials are notebooks: each runs when the documentation is built, and again only if its text has changed.
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).resolve().parent / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_number_source_lines = False
nb_merge_streams = True
nb_output_stderr = "remove"
nb_ipywidgets_js = {}  # no page needs a network
suppress_warnings = ["mystnb.unknown_mime_type"]

# Works are cited by their keys in references.bib.
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Mathematics: Sphinx writes \( \) and \[ \] into the page, and the KaTeX kept in _static typesets them. The extension
# is named after MathJax; the only script it adds, to pages that have mathematics, is ours.
mathjax_path = "render-math.js"
mathjax_options = {"defer": "defer"}
math_number_all = False

# Reference: signatures without module paths, members in the order of the source.
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_preserve_defaults = True
autodoc_default_options = {"show-inheritance": True}
autosummary_generate = False  # the pages of objects are written by `_ext/generated_api.py`
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # attributes are a list; as members they would be described twice
napoleon_attr_annotations = False
add_module_names = False

# Gallery: every script `plot_*.py` runs when the documentation is built, so that a figure cannot go stale.
sphinx_gallery_conf = {
    "examples_dirs": "gallery_src",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "nested_sections": False,
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "plot_gallery": "True",
}

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"festina {release}"
html_static_path = ["_static"]
html_css_files = ["katex/katex.min.css", "festina.css"]
html_js_files = [
    ("katex/katex.min.js", {"defer": "defer", "priority": 300}),
    ("katex/auto-render.min.js", {"defer": "defer", "priority": 310}),
]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#7a3b12", "color-brand-content": "#7a3b12"},
    "dark_css_variables": {"color-brand-primary": "#e0a070", "color-brand-content": "#e0a070"},
}


LITERAL = re.compile(r"(``.*?``|:\w+:`[^`]*`)")


def plain_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let docstrings write |x| for a norm: outside literals, reStructuredText would read a substitution."""
    in_example = False
    for number, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if "|" in line and not in_example:
            parts = LITERAL.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[number] = "".join(parts)


def short_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """A model is made from its fields, which its page lists one by one."""
    if what == "class" and name.startswith("festina.models."):
        return "(**fields)", None
    return signature, returned


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-process-signature", short_signature)
