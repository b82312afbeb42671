"""Differences: what counts as the same, the alignment, and both renderings."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import persistent, unrolled

from mxfp4kernels.isa import Program, Region, diff, parse, render_html, render_text
from mxfp4kernels.isa.diff import common_subsequence


def rename(text: str) -> str:
    """The same program with every vector register moved up by 32 and every SGPR by 8."""

    def move(match: re.Match[str]) -> str:
        file, first, last = match.groups()
        by = 8 if file == "s" else 32
        if last is None:
            return f"{file}{int(first) + by}"
        return f"{file}[{int(first) + by}:{int(last) + by}]"

    return re.sub(r"\b([vs])\[?(\d+)(?::(\d+)\])?", move, text)


def changes(left: str, right: str) -> list[tuple[str | None, str | None]]:
    found = diff(parse(left), parse(right))
    return [
        (row.left and row.left.text, row.right and row.right.text)
        for section in found.sections
        for row in section.rows
        if not row.same
    ]


@pytest.mark.parametrize("text", [unrolled(3, 2), persistent()])
def test_renamed_registers_make_no_difference(text):
    assert rename(text) != text
    found = diff(parse(text), parse(rename(text)))
    assert not found.differs
    assert sum(len(section.rows) for section in found.sections) == len(parse(text))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("v_add_u32_e32 v0, v1, v2", "v_add_u32_e64 v9, s1, v2".replace("s1", "v7")),
        ("v_cmp_lt_u32_e32 vcc, v0, v1", "v_cmp_lt_u32_e64 s[4:5], v3, v4"),
        ("a:\ns_branch a", "b:\ns_branch b"),
        ("v_mov_b32_e32 v0, -|v1|", "v_mov_b32_e32 v2, -|v3|"),
    ],
)
def test_same(left, right):
    assert changes(left, right) == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("v_mov_b32_e32 v0, 1", "v_mov_b32_e32 v0, 2"),
        ("v_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, s1"),
        ("v_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, a1"),
        ("ds_read_b32 v0, v1", "ds_read_b32 v0, v1 offset:4"),
        ("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(1)"),
        ("s_mov_b32 m0, s1", "s_mov_b32 s0, s1"),
        ("v_mov_b32_e32 v0, -v1", "v_mov_b32_e32 v0, v1"),
    ],
)
def test_one_opcode_with_other_operands_is_one_changed_row(left, right):
    assert changes(left, right) == [(left, right)]


def test_insertion_and_deletion():
    base = ["s_nop 0", "v_mov_b32_e32 v0, 1", "s_endpgm"]
    assert changes("\n".join(base), "\n".join([*base[:1], "s_barrier", *base[1:]])) == [
        (None, "s_barrier")
    ]
    assert changes("\n".join(base), "\n".join(base[1:])) == [("s_nop 0", None)]


def test_sections_follow_the_regions_and_carry_counts():
    found = diff(parse(unrolled(3, 2)), parse(unrolled(4, 2)), "three", "four")
    assert [section.region for section in found.sections] == list(Region)
    kloop = found.sections[1]
    assert (kloop.left["MFMA"], kloop.right["MFMA"]) == (3, 4)
    assert [section.differs for section in found.sections] == [False, True, False, False]


def test_tile_loop_has_sections_of_its_own():
    titles = [section.title for section in diff(parse(persistent()), parse(persistent())).sections]
    assert titles == [
        "prologue", "drain", "epilogue",
        "prologue (tile loop)", "drain (tile loop)", "epilogue (tile loop)",
    ]  # fmt: skip


def test_region_that_only_one_side_has():
    found = diff(parse(unrolled(0, 2)), parse(unrolled(2, 2)))
    kloop = found.sections[1]
    assert kloop.region is Region.KLOOP
    assert all(row.left is None and not row.same for row in kloop.rows)


def test_text():
    text = render_text(
        diff(parse("s_nop 0\ns_nop 1\ns_endpgm"), parse("s_nop 0\nv_nop\ns_endpgm"), "a", "b"), 1
    )
    assert text.split("\n") == [
        "--- a",
        "+++ b",
        "== kernel: 3->3 instructions",
        "== prologue: 3->3 instructions",
        "@@ -1,3 +1,3 @@",
        "  s_nop 0",
        "- s_nop 1",
        "+ v_nop",
        "  s_endpgm",
        "",
    ]


def test_text_of_equal_programs_has_no_hunk():
    program = parse(unrolled(2, 2))
    assert "@@" not in render_text(diff(program, program))


def test_text_context_joins_and_parts_hunks():
    left = [f"s_nop {number % 8}" for number in range(20)]
    right = [*left]
    right[2] = right[12] = "v_nop"
    found = diff(parse("\n".join(left)), parse("\n".join(right)))
    assert render_text(found, context=1).count("@@ -") == 2
    assert render_text(found, context=5).count("@@ -") == 1
    assert render_text(found, context=0).count("  s_nop") == 0
    with pytest.raises(ValueError, match="context must be at least 0, got -1"):
        render_text(found, context=-1)


def test_hunks_that_touch_are_one():
    left = [f"s_nop {number % 8}" for number in range(10)]
    right = [*left]
    right[2] = right[5] = "v_nop"
    found = diff(parse("\n".join(left)), parse("\n".join(right)))
    assert render_text(found, context=1).count("@@ -") == 1
    assert render_text(found, context=0).count("@@ -") == 2


def test_colours_are_optional_and_change_nothing_else():
    found = diff(parse("s_nop 0"), parse("s_nop 1"))
    coloured = render_text(found, colour=True)
    assert "\033[" in coloured
    assert re.sub(r"\033\[\d+m", "", coloured) == render_text(found)


class Page(HTMLParser):
    """Collects what matters of a page, and holds tags to nest."""

    VOID = ("meta",)

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def page_of(left: Program, right: Program, *names: str) -> tuple[str, Page]:
    page = render_html(diff(left, right, *names))
    return page, Page(page)


def test_page_is_well_formed_and_self_contained():
    page, parsed = page_of(parse(unrolled(3, 2)), parse(persistent()), "none", "all")
    assert parsed.open == []
    assert not {tag for tag, _, _ in parsed.attributes} & {"link", "script", "img", "iframe"}
    links = [value for _, name, value in parsed.attributes if name in ("href", "src")]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "url(" not in page
    assert "@import" not in page
    assert "http" not in page
    assert "prefers-color-scheme:dark" in page


def test_page_escapes_everything():
    hostile = '<script>alert("1")</script>'
    program = parse('ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,"<b>&")')
    page, parsed = page_of(program, parse("s_nop 0"), hostile, "b&b")
    assert "<script" not in page
    assert "<b>" not in page
    assert any(hostile in text for text in parsed.texts)
    assert any('"<b>&"' in text for text in parsed.texts)


def test_page_shows_each_instruction_headings_and_counts():
    left, right = parse(unrolled(20, 2)), parse(unrolled(21, 2))
    page, parsed = page_of(left, right, "none", "all")
    shown = [text for text in parsed.texts if text.startswith("v_mfma")]
    assert len(shown) == 22 + 23
    for title in ("prologue", "kloop", "drain", "epilogue"):
        assert any(text.startswith(title) for text in parsed.texts)
    assert "<td>20</td><td>21</td><td>+1</td>" in page
    assert "unchanged instructions" in page
    assert "c-MFMA" in page


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_common_subsequence_is_common_and_longest(left, right):
    pairs = common_subsequence(left, right)
    assert all(left[i] == right[j] for i, j in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(pairs))
    assert len(pairs) == _longest(left, right)


def _longest(left, right):
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            best = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else best
    return table[-1][-1]
