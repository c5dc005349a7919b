"""Figures as text: the same content, the same bytes."""

from matplotlib.figure import Figure

from asterism.core.drawing.svg import svg_text, write_svg


def figure(height):
    made = Figure(figsize=(2, 1))
    axes = made.subplots()
    axes.plot([0, 1], [0, height])
    axes.set_title("a & b")
    return made


def test_a_figure_s_file_holds_its_text_and_is_the_same_every_time(tmp_path):
    write_svg(tmp_path / "f.svg", figure(3))
    text = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert text == svg_text(figure(3)) != svg_text(figure(4))
    assert "<svg" in text and "a &amp; b" in text
    assert [path.name for path in tmp_path.iterdir()] == ["f.svg"]
