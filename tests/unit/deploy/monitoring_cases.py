"""When the alerts about services fire and when they do not: series in promtool's notation, a value a minute."""

from dataclasses import dataclass, field

LLAMA = {"namespace": "team-a", "name": "llama"}
ON = 'namespace="team-a",name="llama",instance="operator"'
"""Labels of a series as it is scraped, with the operator's own pod."""
OTHER_POD = ON.replace("operator", "its successor")
_VERDICT = f"specdec_verdict{{{ON},outcome="
_INFO = f'specdec_service_info{{{ON},mode="Enforce",accelerator="nvidia",method='


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An alert some minutes after the beginning. labels: of the alert that fires, except its severity; None: the alert
    does not fire. value: how its texts show its value.
    """

    alert: str
    when: str
    series: dict[str, str]
    minutes: int
    labels: dict[str, str] | None = None
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Twice:
    """An alert that fires with some series and does not with others.

    others: what is different, and the series then. tight: whether a minute earlier is too early.
    """

    alert: str
    minutes: int
    fires: dict[str, str]
    others: dict[str, dict[str, str]]
    value: str = ""
    labels: dict[str, str] = field(default_factory=lambda: LLAMA)
    tight: bool = True

    def cases(self) -> tuple[Case, ...]:
        """The case that fires, the same too early, and those that do not."""
        fires = Case(
            alert=self.alert,
            when="it fires",
            series=self.fires,
            minutes=self.minutes,
            labels=self.labels,
            value=self.value,
        )
        others = (
            Case(alert=self.alert, when=when, series=series, minutes=self.minutes)
            for when, series in self.others.items()
        )
        early = Case(alert=self.alert, when="too early", series=self.fires, minutes=self.minutes - 1)
        return (fires, *([early] if self.tight else []), *others)


def _acceptance(rate: float, method: str, least: float) -> dict[str, str]:
    return {
        f"specdec_acceptance_rate{{{ON}}}": f"{rate}x60",
        f"specdec_acceptance_rate_threshold{{{ON}}}": f"{least}x60",
        f'{_INFO}"{method}"}}': "1x60",
    }


ABOUT_SERVICES = (
    Twice(
        alert="SpecdecAcceptanceLow",
        minutes=30,
        fires=_acceptance(0.45, "eagle3", 0.4),
        value="45%",
        others={
            "it is as usual": _acceptance(0.6, "eagle3", 0.4),
            "a look-up lives there": _acceptance(0.45, "ngram", 0.2),
            "it was low for a while": _acceptance(0.6, "eagle3", 0.4)
            | {f"specdec_acceptance_rate{{{ON}}}": "0.3x20 0.6x40"},
            "it was low for half an hour less a minute": _acceptance(0.45, "eagle3", 0.4)
            | {f"specdec_acceptance_rate{{{ON}}}": "0.6 0.3x60"},
        },
    ),
    Twice(
        alert="SpecdecAcceptanceLow",
        minutes=30,
        fires=_acceptance(0.15, "ngram", 0.2),
        value="15%",
        others={},
    ),
    Twice(
        alert="SpecdecAcceptanceTooHigh",
        minutes=60,
        fires={f"specdec_acceptance_rate{{{ON}}}": "1x70"},
        value="100%",
        others={"a very good draft": {f"specdec_acceptance_rate{{{ON}}}": "0.97x70"}},
    ),
    Twice(
        alert="SpecdecRolledBack",
        minutes=1,
        tight=False,
        fires={f'specdec_rolled_back{{{ON},reason="AcceptanceRateLow",to="Baseline"}}': "1x5"},
        labels=LLAMA | {"reason": "AcceptanceRateLow", "to": "Baseline"},
        others={
            "the user asked for it": {f'specdec_rolled_back{{{ON},reason="Requested",to="Baseline"}}': "1x5"},
            "it was taken back": {f'specdec_rolled_back{{{ON},reason="TooSlow",to="Baseline"}}': "1 stale"},
        },
    ),
    Twice(
        alert="SpecdecPodsFail",
        minutes=1,
        tight=False,
        fires={f"specdec_pod_failures{{{ON}}}": "1x5"},
        value="1",
        others={"none does": {f"specdec_pod_failures{{{ON}}}": "0x5"}},
    ),
    Twice(
        alert="SpecdecStalled",
        minutes=10,
        fires={f"specdec_stalled{{{ON}}}": "1x5 stale", f"specdec_stalled{{{OTHER_POD}}}": "_x5 1x10"},
        others={"it goes on": {f"specdec_stalled{{{ON}}}": "1x8 0x10"}},
    ),
    Twice(
        alert="SpecdecNotDrafting",
        minutes=5,
        fires={f'{_VERDICT}"Fail",reason="NotDrafting"}}': "1x10"},
        others={"it drafts badly": {f'{_VERDICT}"Fail",reason="AcceptanceRateLow"}}': "1x10"}},
    ),
    Twice(
        alert="SpecdecInconclusive",
        minutes=120,
        fires={
            f'{_VERDICT}"Inconclusive",reason="NotSignificant"}}': "1x60 stale",
            f'{_VERDICT}"Inconclusive",reason="ScrapeFailed"}}': "_x60 1x80",
        },
        value="ScrapeFailed",
        others={
            "nobody asks it anything": {f'{_VERDICT}"Inconclusive",reason="NoTraffic"}}': "1x130"},
            "a window passed": {
                f'{_VERDICT}"Inconclusive",reason="NotSignificant"}}': "1x60 stale _x3 1x60",
                f'{_VERDICT}"Pass",reason="Accepted"}}': "_x60 1x3 stale",
            },
        },
    ),
    Twice(
        alert="SpecdecWithoutTraffic",
        minutes=24 * 60,
        fires={f'{_VERDICT}"Inconclusive",reason="NoTraffic"}}': "1x1500"},
        value="NoTraffic",
        others={"there is traffic": {f'{_VERDICT}"Inconclusive",reason="NotSignificant"}}': "1x1500"}},
    ),
    Twice(
        alert="SpecdecPodsWithoutMetrics",
        minutes=15,
        fires={f"specdec_pods_without_metrics{{{ON}}}": "2x20"},
        value="2",
        others={"all answer": {f"specdec_pods_without_metrics{{{ON}}}": "2x10 0x10"}},
    ),
    Twice(
        alert="SpecdecSlowerThanPlain",
        minutes=15,
        fires={f"specdec_speedup_high{{{ON}}}": "0.87x20", f"specdec_speculating{{{ON}}}": "1x20"},
        value="0.87",
        others={
            "it may be faster": {
                f"specdec_speedup{{{ON}}}": "0.95x20",
                f"specdec_speedup_high{{{ON}}}": "1.02x20",
                f"specdec_speculating{{{ON}}}": "1x20",
            },
            "it no longer speculates": {
                f"specdec_speedup_high{{{ON}}}": "0.87x20",
                f"specdec_speculating{{{ON}}}": "1x5 0x20",
            },
        },
    ),
    Twice(
        alert="SpecdecCollateral",
        minutes=5,
        fires={f"specdec_collateral{{{ON}}}": "2x10"},
        value="2",
        others={"it was taken out": {f"specdec_collateral{{{ON}}}": "2x4 0x10"}},
    ),
    Twice(
        alert="SpecdecWouldAct",
        minutes=15,
        fires={f"specdec_would_act{{{ON}}}": "1x20"},
        others={"it would not": {f"specdec_would_act{{{ON}}}": "0x20"}},
    ),
)
