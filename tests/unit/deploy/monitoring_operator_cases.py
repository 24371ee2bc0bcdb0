"""When the alerts about the operator fire and when they do not, and the cases of all alerts."""

from tests.unit.deploy.monitoring_cases import ABOUT_SERVICES, Twice

UP = {'specdec_build_info{version="1"}': "1x60"}
ABOUT_THE_OPERATOR = (
    Twice(
        alert="SpecdecOperatorDown",
        minutes=10,
        labels={},
        fires={'specdec_build_info{version="1"}': "1x4 stale"},
        others={"it is up": UP, "it began anew": {'specdec_build_info{version="1"}': "1x4 stale _x3 1x60"}},
    ),
    Twice(
        alert="SpecdecOperatorNotReconciling",
        minutes=40,
        tight=False,
        labels={},
        fires=UP | {"specdec_loops": "3x60", "specdec_turn_seconds_count": "0+4x10 40x60"},
        value="3",
        others={
            "they turn": UP | {"specdec_loops": "3x60", "specdec_turn_seconds_count": "0+1x60"},
            "they rest for five minutes each": UP
            | {"specdec_loops": "1x60", "specdec_turn_seconds_count": "0x4 1x4 2x4 3x4 4x4 5x4 6x4 7x4 8x20"},
            "there are none": UP | {"specdec_loops": "0x60", "specdec_turn_seconds_count": "7x60"},
        },
    ),
    Twice(
        alert="SpecdecOperatorTurnsFail",
        minutes=31,
        tight=False,
        labels={"reason": "ApiServerUnavailable"},
        fires={
            'specdec_turn_failures_total{reason="ApiServerUnavailable"}': "0+3x60",
            'specdec_turn_failures_total{reason="KServeMissing"}': "0+1x60",
            "specdec_turn_seconds_count": "0+10x60",
        },
        value="30%",
        others={
            "few fail": {
                'specdec_turn_failures_total{reason="KServeMissing"}': "0+1x60",
                "specdec_turn_seconds_count": "0+10x60",
            }
        },
    ),
    Twice(
        alert="SpecdecOperatorNoLeader",
        minutes=5,
        labels={},
        fires={'specdec_leader{pod="a"}': "0x10", 'specdec_leader{pod="b"}': "0x10"},
        others={
            "one does": {'specdec_leader{pod="a"}': "0x10", 'specdec_leader{pod="b"}': "1x10"},
            "the lease changes hands": {'specdec_leader{pod="a"}': "0x10", 'specdec_leader{pod="b"}': "0x2 1x10"},
        },
    ),
)
CASES = tuple(case for each in (*ABOUT_SERVICES, *ABOUT_THE_OPERATOR) for case in each.cases())
