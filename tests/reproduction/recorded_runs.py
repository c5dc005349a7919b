"""Recorded runs, as experiments leave them."""

from asterism.reproduction.records import RecordedPoint, RecordedRun


def recorded_point(metrics, values, **changes):
    """A finished point, but for what is changed."""
    facts = {
        "status": "finished",
        "seconds": 1.0,
        "memory_mb": None,
        "date": "2026-01-02",
        "commit": "abc",
    }
    return RecordedPoint(**facts | changes, metrics=metrics, values=values)


def recorded_run(points, experiment="one", scale="small"):
    """A run of an experiment beside other work."""
    return RecordedRun(
        experiment=experiment,
        scale=scale,
        beside_other_work=True,
        machine={"cores": "2"},
        versions={"python": "3.11"},
        points=points,
    )
