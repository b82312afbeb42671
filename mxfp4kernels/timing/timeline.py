"""What each wave of a recorded workgroup does over time, as segments and as an interactive page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..isa import Program
from .engine import Cause
from .unit import UnitRun
from .work import Work

ORDER = (
    Cause.DEPENDENCY, Cause.VMCNT, Cause.LGKMCNT, Cause.FRONT_END, Cause.MFMA, Cause.ISSUE,
    Cause.NOP, Cause.BARRIER,
)  # fmt: skip
"""The order in which an instruction's clocks are drawn: what held it back, itself, what follows."""

COLOURS = {
    Cause.ISSUE: "#0072b2",
    Cause.MFMA: "#009e73",
    Cause.DEPENDENCY: "#f0e442",
    Cause.VMCNT: "#d55e00",
    Cause.LGKMCNT: "#e69f00",
    Cause.FRONT_END: "#cc79a7",
    Cause.BARRIER: "#7a7a7a",
    Cause.NOP: "#56b4e9",
    Cause.IDLE: "#dddddd",
}


@dataclass(frozen=True)
class Segment:
    """Clocks ``start`` to ``end`` of a wave, spent on one cause at one instruction."""

    wave: int
    start: int
    end: int
    cause: Cause
    instruction: int


def segments_of(work: Work, run: UnitRun) -> list[Segment]:
    """The first workgroup's clocks in order; those of a wave touch and cover its span.

    Raises:
        ValueError: the run recorded no workgroup.
    """
    if len(run.spent) == 0:
        raise ValueError("simulate with record=0 to have a timeline of the first workgroup")
    made = []
    for wave in range(work.waves):
        now = int(run.span[wave, 0])
        for position in range(work.start[wave], work.start[wave + 1]):
            spent = run.spent[position]
            for cause in ORDER:
                if spent[cause]:
                    end = now + int(spent[cause])
                    made.append(Segment(wave, now, end, cause, int(work.step[position, 0])))
                    now = end
    return made


@dataclass(frozen=True)
class Bin:
    """The cause that takes most of clocks ``start`` to ``end`` of a wave."""

    wave: int
    start: int
    end: int
    cause: Cause


def binned(segments: Iterable[Segment], width: int) -> list[Bin]:
    """Bins of ``width`` clocks by their main cause, equal neighbours joined."""
    by_wave: dict[int, dict[int, np.ndarray]] = {}
    for segment in segments:
        rows = by_wave.setdefault(segment.wave, {})
        for number in range(segment.start // width, -(-segment.end // width)):
            clocks = min(segment.end, (number + 1) * width) - max(segment.start, number * width)
            rows.setdefault(number, np.zeros(len(Cause), np.int64))[segment.cause] += clocks
    made: list[Bin] = []
    for wave, rows in sorted(by_wave.items()):
        for number, spent in sorted(rows.items()):
            cause, start = Cause(int(spent.argmax())), number * width
            last = made[-1] if made else None
            if last and (last.wave, last.cause, last.end) == (wave, cause, start):
                made[-1] = Bin(wave, last.start, start + width, cause)
            else:
                made.append(Bin(wave, start, start + width, cause))
    return made


def page(title: str, program: Program, work: Work, run: UnitRun, about: str = "") -> str:
    """A self-contained page: drag to move, wheel to zoom, point to read the instruction.

    Args:
        about: what the run stands for; a sentence without its full stop.
    """
    segments = segments_of(work, run)
    flat = [[s.wave, s.start, s.end - s.start, int(s.cause), s.instruction] for s in segments]
    data = {
        "segments": flat,
        "causes": [cause.name.lower().replace("_", " ") for cause in Cause],
        "colours": [COLOURS[cause] for cause in Cause],
        "text": [f"line {i.line}: {i.text}" for i in program.instructions],
        "waves": work.waves,
    }
    totals = _totals(segments)
    return (
        _PAGE.replace("@TITLE@", html.escape(title))
        .replace("@TOTALS@", html.escape(totals))
        .replace("@ABOUT@", html.escape(f" {about}." if about else ""))
        .replace("@DATA@", json.dumps(data, separators=(",", ":")).replace("</", "<\\/"))
    )


def _totals(segments: Sequence[Segment]) -> str:
    clocks = np.zeros(len(Cause), np.int64)
    for segment in segments:
        clocks[segment.cause] += segment.end - segment.start
    parts = [
        f"{cause.name.lower().replace('_', ' ')} {100 * clocks[cause] / clocks.sum():.1f} %"
        for cause in sorted(Cause, key=lambda cause: -int(clocks[cause]))
        if clocks[cause]
    ]
    return f"{int(clocks.sum())} wave clocks: " + ", ".join(parts)


_PAGE = """<!doctype html><meta charset="utf-8"><title>@TITLE@</title>
<style>body{font:14px sans-serif;margin:16px;color:#1b1f24;background:#fff}
canvas{width:100%;border:1px solid #d8dee4;cursor:grab}#at{min-height:3em;font-family:monospace}
.key span{display:inline-block;width:.9em;height:.9em;margin:0 .3em 0 1em}</style>
<h1>@TITLE@</h1><p>Modelled, not measured.@ABOUT@ @TOTALS@.</p><p class="key" id="key"></p>
<canvas id="view" height="320"></canvas><p id="at">Drag to move, wheel to zoom.</p>
<script>
const d=@DATA@,c=document.getElementById("view"),g=c.getContext("2d");
const end=Math.max(...d.segments.map(s=>s[1]+s[2])),start=Math.min(...d.segments.map(s=>s[1]));
let from=start,to=end;const rows=Array.from({length:d.waves},()=>[]);
d.segments.forEach(s=>rows[s[0]].push(s));
document.getElementById("key").innerHTML=d.causes.map((n,i)=>
 `<span style="background:${d.colours[i]}"></span>${n}`).join("");
function draw(){c.width=c.clientWidth;const h=c.height/d.waves,k=c.width/(to-from);
 g.clearRect(0,0,c.width,c.height);rows.forEach((row,w)=>{row.forEach(s=>{
 if(s[1]+s[2]<from||s[1]>to)return;g.fillStyle=d.colours[s[3]];
 g.fillRect((s[1]-from)*k,w*h+14,Math.max(s[2]*k,.4),h-18);});
 g.fillStyle="#57606a";g.fillText(`wave ${w}`,4,w*h+11);});
 g.fillText(`${Math.round(from)} .. ${Math.round(to)} clocks`,c.width-170,11);}
function clock(e){return from+(e.offsetX/c.clientWidth)*(to-from);}
c.onwheel=e=>{e.preventDefault();const t=clock(e),z=e.deltaY>0?1.25:.8;
 from=Math.max(start,t-(t-from)*z);to=Math.min(end,t+(to-t)*z);draw();};
let drag=null;c.onmousedown=e=>drag=clock(e);window.onmouseup=()=>drag=null;
c.onmousemove=e=>{if(drag!==null){let m=drag-clock(e);m=Math.max(start-from,Math.min(end-to,m));
 from+=m;to+=m;draw();}
 const t=clock(e),w=Math.floor(e.offsetY/c.clientHeight*d.waves);
 const s=(rows[w]||[]).find(s=>s[1]<=t&&t<s[1]+s[2]);
 document.getElementById("at").textContent=s?
 `wave ${w}, clock ${s[1]}: ${s[2]} on ${d.causes[s[3]]} at ${d.text[s[4]]}`:"";};
window.onresize=draw;draw();
</script>
"""
