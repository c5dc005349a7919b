"""Pages of results that others made: no browser runs what is in them, or asks for anything."""

import hashlib
import re
import threading
from base64 import b64decode, b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
import polars as pl
import pytest
from markupsafe import Markup
from matplotlib.figure import Figure

from asterism.core.messages.errors import UserError
from asterism.core.svg import svg_text, write_svg
from asterism.report.base.document import write_document
from asterism.report.base.pictures import svg, svg_file
from asterism.report.base.section import KeyFigure, ReportSection
from asterism.sweep.point import PointOutcome
from asterism.sweep.table import write_outcome, write_overview
from places import ROOT
from report.browser import CHROMIUM, browse
from terminal_text import HOSTILE, tame

in_a_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]

#: What tells that a script has run.
MARK = "document.documentElement.setAttribute('data-ran', '1')"
#: A colour that only the picture's own style gives.
GREEN = (0x12, 0xAB, 0x34)

DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 viewBox="0 0 100 50" onload="{mark}"><style>@import url({server}/style.css);
 rect {{ fill: #12ab34; }}</style>
<script>{mark}</script><script xlink:href="{server}/script.js"/>
<image href="{server}/image.png" width="9" height="9"/><use xlink:href="{server}/use.svg#a"/>
<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml">
<img src="{server}/foreign.png" onerror="{mark}"/><iframe src="{server}/frame.html"/></body>
</foreignObject><animate onbegin="{mark}" attributeName="x" dur="1s"/>
<a href="javascript:{mark}"><rect width="100" height="50"/></a></svg>"""

#: What a template that forgets to escape would put into the page.
UNESCAPED = """<script>{mark}</script><script src="{server}/script.js"></script>
<img src="x" onerror="{mark}"><img src="{server}/image.png"><iframe src="{server}/frame.html">
</iframe><iframe srcdoc="<script>parent.{mark}</script>"></iframe>
<link rel="stylesheet" href="{server}/style.css"><style>body {{ display: none; }}</style>
<object data="{server}/object.svg"></object><base href="{server}/"><svg onload="{mark}"></svg>
<form action="{server}/form"><button autofocus onfocus="{mark}">x</button></form>
<p style="background: url({server}/back.png)">x</p><video poster="{server}/v.png"></video>
<meta http-equiv="refresh" content="0; url=javascript:{mark}">"""


@pytest.fixture
def server():
    """A server that notes what it is asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        found.asked, found.address = asked, f"http://127.0.0.1:{found.server_port}"
        yield found
        found.shutdown()
        thread.join()


def section(body, name="Title"):
    return ReportSection("a", name, "Why?", (KeyFigure(name, name, name, (name,)),), body, 1)


def page_of(folder, body, name="Title"):
    write_document(folder / "index.html", [section(body, name)], "")
    return folder / "index.html"


class TestInABrowser:
    pytestmark = in_a_browser

    def test_a_strange_drawing_is_shown_and_does_nothing(self, tmp_path, server):
        text = DRAWING.format(mark=MARK, server=server.address)
        (tmp_path / "graph.svg").write_text(text)
        strange = f'"><script>{MARK}</script>'
        body = svg_file(tmp_path / "graph.svg", strange, strange, None, strange)
        page = page_of(tmp_path, body, f"<script>{MARK}</script><img src={server.address}/n.png>")
        shot = tmp_path / "shot.png"
        options = ["--window-size=900,2000", f"--screenshot={shot}"]
        assert "data-ran" not in browse(page, tmp_path / "a", "--dump-dom").split("<head")[0]
        browse(page, tmp_path / "b", *options)
        assert server.asked == []
        colours = np.unique(cv2.imread(str(shot))[..., ::-1].reshape(-1, 3), axis=0).tolist()
        assert list(GREEN) in colours, "the drawing is shown, in its own style"
        assert [0xF5, 0xF7, 0xF9] in colours, "the page has its style"

        page.write_text(f"<!doctype html><body>{text}</body>")
        opened = browse(page, tmp_path / "c", "--dump-dom")
        assert "data-ran" in opened.split("<head")[0], "were it part of the page, it would run"
        assert server.asked, "and ask"

    def test_what_a_template_forgot_to_escape_does_nothing(self, tmp_path, server):
        text = UNESCAPED.format(mark=MARK, server=server.address)
        page = page_of(tmp_path, Markup(text))
        opened = browse(page, tmp_path / "a", "--dump-dom")
        assert "data-ran" not in opened.split("<head")[0] and "onerror" in opened
        assert server.asked == []
        written = page.read_text()
        policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\".*?>", written).group()
        page.write_text(written.replace(policy, ""))
        opened = browse(page, tmp_path / "b", "--dump-dom")
        assert "data-ran" in opened.split("<head")[0], "without the policy it would run"
        assert server.asked, "and ask"

    def test_pages_of_sweeps_do_nothing_either(self, tmp_path, server):
        attack = f"<img src={server.address}/x.png onerror={MARK.replace(' ', '')}>"
        folder = tmp_path / "sweeps" / "s"
        write_outcome(folder, records(attack), attack)
        write_overview(tmp_path / "sweeps")
        for number, page in enumerate((folder / "index.html", tmp_path / "sweeps/index.html")):
            opened = browse(page, tmp_path / f"p{number}", "--dump-dom")
            assert "data-ran" not in opened.split("<head")[0] and "&lt;img" in opened
        assert server.asked == []


def records(text):
    """Two points of a sweep, one failed, with a text wherever there is one."""
    return [
        PointOutcome(
            number=number,
            overrides=[f"a.k={number}", f"b.name={text}", f"c.name={text}{number}"],
            experiment=text,
            status="finished" if number else "failed",
            message=text,
            report=f'javascript:{MARK}//"' if number else "",
            total_seconds=1,
            log_tail=text,
            metrics={"f.json:m": number, f"f.json:{text}": number},
        )
        for number in range(3)
    ]


def test_the_policy_allows_the_pages_own_style_script_and_pictures_and_nothing_else(tmp_path):
    text = page_of(tmp_path, Markup("<p>x</p>")).read_text()
    digests = [
        b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        for name in ("style", "script")
        for inside in re.findall(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
    ]
    found = re.search('<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    policy = dict(part.split(" ", 1) for part in found.group(1).replace("&#39;", "'").split("; "))
    assert policy.pop("img-src") == "data:"
    assert [policy.pop(f"{name}-src") for name in ("style", "script")] == [
        f"'sha256-{digest}'" for digest in digests
    ]
    assert policy.keys() >= {"default-src", "connect-src", "base-uri", "form-action"}
    assert set(policy.values()) == {"'none'"}
    assert text.index(found.group()) < text.index("<style>"), "it holds for all that comes after"
    assert text.count("<script") == 1 and " style=" not in text


def test_no_template_has_a_script_or_a_style_of_its_own():
    templates = list((ROOT / "src/asterism").rglob("templates/*"))
    assert {"page.html.j2", "sweep.html.j2"} <= {template.name for template in templates}
    for template in templates:
        if template.suffix in (".css", ".js"):
            continue
        text = template.read_text().replace("<script>{{ script }}</script>", "")
        assert not re.search(r"<script|\sstyle=|\son\w+=|javascript:|\|\s*safe\s*}}", text), (
            template
        )


def test_drawings_are_images_whatever_they_hold(tmp_path):
    text = DRAWING.format(mark=MARK, server="http://127.0.0.1")
    (tmp_path / "graph.svg").write_text(text)
    data = pl.DataFrame({"<x>": ['"><script>', "b"], "y": [1.23456789, 2.0]})
    made = str(svg_file(tmp_path / "graph.svg", 'a "b" <c>', '"x" <y>/z', data, "<t>"))
    found = re.match('<figure class="figure"><img alt="([^"<>]*)" src="data:([^"<>]*)">', made)
    assert not re.search("<[^/>]*<|<[cty]>", made), "names are escaped"
    table = re.search('download="([^"]*)" [^>]*href="data:text/csv;base64,([^"]*)">CSV</a>', made)
    assert table.group(1) == "-x-y-z.csv"
    assert b64decode(table.group(2)).decode() == '<x>,y\n"""><script>",1.23457\nb,2.0\n'
    kind, _, data = found.group(2).partition(";base64,")
    assert (kind, b64decode(data).decode()) == ("image/svg+xml", text)
    with pytest.raises(UserError, match="cannot read the picture"):
        svg_file(tmp_path / "none.svg", "x", "x")


FORMULAS = (
    r"$\x$",
    r"$\frac{$",
    r"a$b$c",
    r"\$5 and $6",
    "$$",
    "{",
    "^_",
)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_name_is_no_formula_in_any_figure(name, tmp_path):
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2], [1, 200], label=name)
    axes.set(xscale="log", yscale="symlog", xlabel=name, ylabel=name)
    axes.set_title(name)
    axes.text(1, 1, name)
    axes.annotate(name, (1, 1))
    axes.set_xticks([1, 2], [name, name])
    axes.legend(title=name)
    figure.suptitle(name)
    drawing = svg_text(figure)
    assert drawing.count(f">{name}<") == 10
    assert "mathdefault" not in drawing
    write_svg(tmp_path / "plot.svg", figure)
    page_of(tmp_path, svg(figure, name, name, pl.DataFrame({name: [name]})), name)


def test_characters_that_are_not_seen_are_escaped_in_drawings_and_pages(tmp_path):
    figure = Figure()
    figure.subplots().set_title("a\x00\x1b\x0b\ud800\u202eb")
    assert r">a\x00\x1b\x0b\ud800\u202eb<" in svg_text(figure)
    page = page_of(tmp_path, Markup("<p>x</p>"), "a\ud800" + HOSTILE.replace("\n", ""))
    assert r"a\ud800\x1b" in page.read_text() and tame(page.read_text())
    write_outcome(tmp_path / "s", records(HOSTILE.replace("\n", "")), "x")
    assert tame((tmp_path / "s/index.html").read_text())


def test_logarithmic_axes_have_numbers():
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 5000], [0, 5000])
    axes.set(xscale="log", yscale="symlog")
    drawing = svg_text(figure)
    assert drawing.count(">100<") >= 2 and "mathdefault" not in drawing


def test_names_with_formulas_break_no_sweep(tmp_path):
    write_outcome(tmp_path / "s", records(r"$\x$<&"), r"$\x$")
    text = (tmp_path / "s/index.html").read_text()
    assert r"<th>f.json:<wbr>$\x$&lt;&amp;</th>" in text
    assert "javascript:" not in re.findall('href="[^"]*"', text)[-1]
