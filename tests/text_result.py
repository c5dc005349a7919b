"""A work unit's result that is a text."""


class Text:
    def __init__(self, text):
        self.text = text

    def save(self, folder):
        (folder / "text").write_text(self.text)

    @classmethod
    def load(cls, folder):
        return cls((folder / "text").read_text())
