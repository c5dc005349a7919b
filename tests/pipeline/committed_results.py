"""Projects whose commits and experiments hold results, without any run."""

import hashlib
import json
from pathlib import Path

import yaml

from asterism.dvc_hydra.experiments import experiment_reference
from asterism.sweep.workspace import git

NOBODY = ("-c", "user.name=test", "-c", "user.email=test@localhost")


class Recorded:
    """A git and DVC repository, the results of whose commits are written by hand."""

    def __init__(self, root):
        self.root = root
        self.cache = root / ".dvc/cache"
        (root / ".dvc").mkdir(parents=True)
        (root / ".dvc/config").write_text("[core]\n    analytics = false\n")
        (root / ".gitignore").write_text("/.dvc/cache\n/.dvc/tmp\n/metrics\n/plots\n/artifacts\n")
        (root / "dvc.yaml").write_text("stages: {}\n")
        git(root, "init", "--quiet", "-b", "main")

    def _cached(self, content):
        digest = hashlib.md5(content).hexdigest()
        self._put(digest, content)
        return digest

    def _put(self, digest, content):
        path = self.cache / "files/md5" / digest[:2] / digest[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def _output(self, path, content):
        """The entry of a file, or of a folder of files by name."""
        if isinstance(content, dict):
            listed = [{"md5": self._cached(c), "relpath": n} for n, c in sorted(content.items())]
            text = json.dumps(listed).encode()
            digest = hashlib.md5(text).hexdigest() + ".dir"
            self._put(digest, text)
        else:
            digest = self._cached(content)
        return {"path": path, "hash": "md5", "md5": digest}

    def commit(self, parameters, results):
        """Commit results: bytes, folders of bytes by name, or what becomes JSON, by path."""
        (self.root / "params.yaml").write_text(yaml.safe_dump(parameters))
        outs = []
        for path, content in results.items():
            plain = isinstance(content, bytes) or (
                isinstance(content, dict) and all(isinstance(c, bytes) for c in content.values())
            )
            outs.append(self._output(path, content if plain else json.dumps(content).encode()))
        stages = {f"s{n}": {"cmd": "x", "outs": [out]} for n, out in enumerate(outs)}
        body = yaml.safe_dump({"stages": stages}, sort_keys=False)
        (self.root / "dvc.lock").write_text("schema: '2.0'\n" + body)
        git(self.root, "add", "--all")
        git(self.root, *NOBODY, "commit", "--quiet", "--allow-empty", "-m", "results")
        return git(self.root, "rev-parse", "HEAD")

    def experiment(self, name, parameters, results):
        """The same as an experiment that starts from the current commit."""
        head = git(self.root, "rev-parse", "HEAD")
        commit = self.commit(parameters, results)
        git(self.root, "update-ref", experiment_reference(head, name), commit)
        git(self.root, "reset", "--quiet", "--hard", head)
        return commit

    def put(self, results):
        """Write results into the workspace."""
        for path, content in results.items():
            file = Path(self.root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(
                content if isinstance(content, bytes) else json.dumps(content).encode()
            )


def forget(recorded, content):
    """Remove a content from the cache."""
    digest = hashlib.md5(content).hexdigest()
    (recorded.cache / "files/md5" / digest[:2] / digest[2:]).unlink()
