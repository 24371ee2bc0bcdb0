"""The story in lines: what a moment shows that the one before did not. Pure, for the terminal and for the page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from specdec_command.story.play import Moment
from specdec_command.story.recording import Chapter, StoryRecording
from specdec_operator import __version__
from specdec_operator.display import numbers
from specdec_operator.display.describe import joined
from specdec_operator.display.untrusted import Untrusted

RECORDED: Final = "Recordings of real runs, played one after the other."
_VERDICTS: Final = {"Pass": "good", "Fail": "warn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryLine:
    """One line. at: seconds since the story began. tone: good, warn, bad, move or dim."""

    at: float
    head: str
    text: str
    tone: str

    @property
    def clock(self) -> str:
        """Minutes and seconds of the story."""
        return clock(self.at)


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds // 60):02d}:{int(seconds % 60):02d}"


def sources(recording: StoryRecording) -> Iterator[tuple[str, str]]:
    """The source of each part: what it is, and when and how it was made."""
    for each in recording.sources:
        yield each.what, joined(", ", f"recorded {each.when}", each.where, each.made_by)
    yield "decisions", f"made now, from these numbers, by the operator's own loop and guard (specdec {__version__})"


def chapters(moments: Sequence[Moment]) -> list[tuple[Chapter, list[Moment]]]:
    """The moments of each chapter."""
    return [(chapter, [*each]) for chapter, each in groupby(moments, key=lambda moment: moment.chapter)]


def lines(before: Moment | None, moment: Moment) -> Iterator[StoryLine]:
    """What is new in a moment."""
    every = (_verdict, _phase, _flag, _staged)
    for head, text, tone in (found for each in every for found in each(before, moment)):
        yield StoryLine(at=moment.at, head=head, text=text, tone=tone)


def speeds(chapter: Chapter) -> str:
    """What the clients counted in a chapter; empty where that is not recorded."""
    if (seen := chapter.clients) is None:
        return ""
    return (
        f"The clients got {seen.speculating:.0f} tokens/s with the draft and {seen.plain:.0f} without it: "
        f"{seen.speedup:.2f}x (recorded in turn, with the same traffic)"
    )


def outcome(moments: Sequence[Moment]) -> str:
    """How long the guard took from the change of the traffic to its decision, and the cluster from there."""
    decided = next(each for each in moments if each.phase == "Responding")
    changed = next(each for each in moments if each.chapter is decided.chapter)
    served = next(each for each in moments if each.phase == "RolledBack")
    return (
        f"Decided {decided.at - changed.at:.0f} s after the traffic changed; the baseline served "
        f"{served.at - decided.at:.0f} s after the decision."
    )


def _status(moment: Moment) -> Untrusted:
    return Untrusted(moment.service).of("status")


def _verdict(before: Moment | None, moment: Moment) -> Iterator[tuple[str, str, str]]:
    found, old = _status(moment).of("guard"), _status(before).of("guard") if before else Untrusted()
    word = found.of("verdict").text
    now, then = ([each.of(name).text for name in ("verdict", "reason", "message")] for each in (found, old))
    if word and now != then:
        yield word, joined(": ", *now[1:]), _VERDICTS.get(word, "dim")


def _phase(before: Moment | None, moment: Moment) -> Iterator[tuple[str, str, str]]:
    """The phase, with its message where no verdict has shown it."""
    if before is None or before.phase != moment.phase:
        status = _status(moment)
        message = status.of("message").text
        shown = message == status.of("guard", "message").text
        why = joined(": ", status.of("reason").text, "" if shown else message)
        yield moment.phase, why, numbers.STATE_TONES.get(moment.phase, "move")


def _flag(before: Moment | None, moment: Moment) -> Iterator[tuple[str, str, str]]:
    old = before.flag if before else ""
    if moment.flag != old:
        yield "InferenceService", moment.flag or f"without {old.partition('=')[0]}", "move"


def _staged(before: Moment | None, moment: Moment) -> Iterator[tuple[str, str, str]]:
    """The artifacts, once it is known where they are or what keeps them away."""
    now, old = _artifacts(moment), _artifacts(before) if before else None
    if now != old and now[0] in ("True", "False"):
        yield now[1], now[2], "good" if now[0] == "True" else "warn"


def _artifacts(moment: Moment) -> tuple[str, str, str]:
    """The condition ArtifactsStaged: status, reason and message."""
    found = (each for each in _status(moment).of("conditions").items if each.of("type").text == "ArtifactsStaged")
    staged = next(found, Untrusted())
    return staged.of("status").text, staged.of("reason").text, staged.of("message").text
