"""What is known of findings: links to issues and documented limits, by a part of the signature."""

import pytest

from asterism.core.messages.errors import UserError
from asterism.differential.report.known_issues import KnownIssue, issue_of, read_known_issues
from places import ROOT


def test_known_issues_are_a_mapping(tmp_path):
    file = tmp_path / "issues.yaml"
    file.write_text("values differ | jax: https://example.org/1\n7: 8\n")
    assert read_known_issues(str(file)) == {
        "values differ | jax": KnownIssue("https://example.org/1"),
        "7": KnownIssue("8"),
    }
    assert read_known_issues("conf/no_file") == {}
    file.write_text("")
    assert read_known_issues(str(file)) == {}
    wrong = {
        "- a": "must map",
        "a: [": "is not YAML",
        "a: {limit: b}": "'a': 'link'",
        "a: {link: b, more: c}": "'a': 'more'",
        "a: {link: b, inputs: odd}": "there are no inputs 'odd'",
    }
    for text, message in wrong.items():
        file.write_text(text)
        with pytest.raises(UserError, match=message):
            read_known_issues(str(file))
    with pytest.raises(UserError, match="cannot read"):
        read_known_issues(str(tmp_path / "none.yaml"))


def test_a_known_issue_is_that_of_a_signature_and_of_its_inputs():
    known = {"a |": KnownIssue("1", "no large numbers", "largest"), "a": KnownIssue("2")}
    assert issue_of(known, "a | b", ["largest"]) == known["a |"]
    assert issue_of(known, "a | b", ["normal"]) == known["a"]
    assert issue_of(known, "c", ["normal"]) is None


def test_the_table_of_this_project_names_links_only():
    known = read_known_issues(str(ROOT / "conf/known_issues.yaml"))
    assert all(issue.link.startswith("https://") for issue in known.values())
    assert any(issue.limit for issue in known.values())
