"""How long a sentence of the documents may be."""

import re

import pytest

from tests.architecture.test_texts import ROOT, committed_files

LONGEST_SENTENCE = 30  # words; code in backquotes is one, what stands in brackets is none
BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)|(?=^#)|^\|.*$", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+")


def sentences(block: str) -> list[str]:
    """The sentences of a paragraph, without its code and its brackets."""
    text = re.sub(r"`[^`]*`", "X", " ".join(block.split()))
    return SENTENCE_END.split(re.sub(r"\([^()]*\)", "", text))


def long_sentences(blocks: list[str]) -> list[str]:
    return [
        sentence
        for block in blocks
        for sentence in sentences(block)
        if len(re.findall(r"\w[\w'-]*", sentence)) > LONGEST_SENTENCE
    ]


def blocks_of_page(text: str) -> list[str]:
    """Paragraphs, items and cells; no headings' code, no tables."""
    blocks = BLOCK.split(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [block for block in blocks if block and not block.startswith("    ")]


def test_sentences_of_pages_are_short():
    found = {
        str(page.relative_to(ROOT)): long
        for page in committed_files("*.md")
        if page.name not in ("atomics.md", "coverage.md")
        and (long := long_sentences(blocks_of_page(page.read_text(encoding="utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [("word " * 30 + ".", 0), ("word " * 31 + ".", 1), ("word " * 20 + ". " + "word " * 20, 0)],
)
def test_a_long_sentence_is_found(text, count):
    assert len(long_sentences([text])) == count


def test_the_readme_counts_the_code_actions() -> None:
    rows = re.findall(r"^ACTION\(", (ROOT / "codeactions/actions.def").read_text(), re.MULTILINE)
    told = re.findall(r"(\d+) code actions", (ROOT / "README.md").read_text())
    assert told == [str(len(rows))]
