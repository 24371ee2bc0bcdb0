"""What is seen while the demo runs: plain lines, and the parts of the live view."""

import io

import pytest
from hack.demo import screen
from hack.demo.screen import LiveScreen, Panel, Screen
from hack.demo.steps import Steps
from rich.console import Console

PANEL = Panel(
    phase="Watching",
    topic="code",
    clients=1,
    speeds=(0.0, 450.0, 900.0),
    acceptance=0.73,
    answered=12,
    failed=1,
    last_event="RolledBack: serving without speculation",
)


def _printed(make: type[Screen]) -> tuple[Screen, io.StringIO]:
    out = io.StringIO()
    return make(Console(file=out, width=100, force_terminal=make is LiveScreen)), out


def test_steps_that_overlap_are_each_timed_and_so_is_everything_together() -> None:
    """From nothing, the cluster is built while the images are."""
    steps = Steps(began=100)
    cluster, images = steps.begin("cluster", 100), steps.begin("images", 101)
    cluster.ended, images.ended = 130, 125
    assert steps.seconds(140) == {"cluster": 30, "images": 24, "together": 40}


def test_plain_lines_say_what_a_step_said_and_how_long_it_took() -> None:
    """In a pipe nothing is drawn over: each line stays."""
    view, out = _printed(Screen)
    with view, view.step("tiny models") as note:
        note("step 50 of 100")
    lines = out.getvalue().splitlines()
    assert lines[0] == "… tiny models"
    assert lines[1] == "    tiny models: step 50 of 100"
    assert lines[2].startswith("✓ tiny models")


def test_a_step_that_fails_is_marked_and_its_error_goes_on() -> None:
    """The error itself is told once, at the end."""
    view, out = _printed(Screen)
    with pytest.raises(ValueError, match="no"), view, view.step("images"):
        raise ValueError("no")
    assert "✗ images" in out.getvalue()


def test_traffic_is_a_line_now_and_then_and_not_at_each_look() -> None:
    """The story looks four times a second; a log wants less."""
    view, out = _printed(Screen)
    for _ in range(5):
        view.show(PANEL)
    assert out.getvalue().splitlines() == [
        "    Watching · code · acceptance 0.73 · 900 tokens/s · 12 answered, 1 failed"
    ]


def test_the_live_view_draws_steps_and_the_service() -> None:
    """Running steps show what they said last; the service its phase, speed, requests and last Event."""
    view, out = _printed(LiveScreen)
    assert isinstance(view, LiveScreen)
    with view.step("speculation measured") as note:
        note("first window")
        view.show(PANEL)
        view.console.print(view)
    drawn = out.getvalue()
    for words in ("speculation measured", "first window", "Watching", "12 answered, 1 failed", "RolledBack: serving"):
        assert words in drawn


def test_the_course_of_speeds_is_a_row_of_bars() -> None:
    """From zero to the highest; nothing at all is no row."""
    assert screen.sparkline((0.0, 450.0, 900.0)) == "▁▅█"
    assert screen.sparkline((0.0, 0.0)) == ""
    assert screen.sparkline(()) == ""


def test_a_person_gets_the_live_view_and_a_pipe_gets_lines() -> None:
    """What the console is decides."""
    assert isinstance(screen.choose(Console(force_terminal=True)), LiveScreen)
    assert type(screen.choose(Console(file=io.StringIO()))) is Screen
