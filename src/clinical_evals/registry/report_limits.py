"""What the figures of a report do not mean."""

from collections.abc import Iterator, Sequence

from clinical_evals.registry.judges import remark
from clinical_evals.registry.markup import Markup, element
from clinical_evals.registry.report import Section
from clinical_evals.registry.report_tables import counted, named

_FEW = 30


def limits(sections: Sequence[Section]) -> Markup:
    """Write the section, with the runs and data of the report that a point is about."""
    points = [
        (
            "Not a licence for use.",
            "They say how these models did on these samples under these rules. They were not measured on "
            "your patients, and no clinician read the answers for this report.",
        ),
        (
            "Faithful is not correct.",
            "An answer that agrees with its source repeats the errors of the source, and may leave out what "
            "mattered most.",
        ),
        (
            "The rules read words.",
            "Values come from fixed rules over words, numbers and codes that know no medicine. They miss "
            "what is put in words they do not know, and right words in a wrong place can satisfy them.",
        ),
        (
            "A judged score is worth what its judge is worth.",
            "Where one model rates another's work, the score can be believed only as far as that judge was "
            "found to agree with human ratings.",
        ),
        ("Grading oneself flatters.", _self_graded(sections)),
        (
            "Intervals are about samples only.",
            "They say how the mean might move with other samples of the same kind, not with other data, "
            "another prompt or another day of a hosted model. With few samples they are themselves uncertain."
            + _few(sections),
        ),
        (
            "A rank is no distance, and not told apart is not equal.",
            "Neighbours may differ by chance. That one run may replace another is shown only against a "
            "margin: clinical-evals gate.",
        ),
        (
            "A failure is not always the model's.",
            "What the model did not answer counts as the lowest value, 0 or 1 as the scale begins. What a "
            "grader, a judge or an endpoint failed at is unscored and in no mean: read the worst and the "
            "best case beside it.",
        ),
        *_agreement(sections),
        *_synthetic(sections),
    ]
    items = [element("li", element("strong", title), " ", text) for title, text in points]
    return element(
        "section",
        element("h2", "What these figures do not mean", id="heading-limits"),
        element("ul", *items, class_="limits"),
        id="limits",
        aria_labelledby="heading-limits",
    )


def _self_graded(sections: Sequence[Section]) -> str:
    runs = [entry.run for section in sections for entry in section.all]
    own = list(dict.fromkeys(run.model for run in runs if remark(run)))
    if not own:
        return "No run here is known to be graded by the model under test or by one of the same maker."
    return (
        f"Graded by themselves or by a model of their own maker: {named(own)}. Another grader would be a "
        "better witness."
    )


def _few(sections: Sequence[Section]) -> str:
    sizes = [entry.run.figure(section.board.headline).n for section in sections for entry in section.entries]
    fewest = min((size for size in sizes if size), default=_FEW)
    return f" The fewest here are {counted(fewest, 'sample')}." if fewest < _FEW else ""


def _agreement(sections: Sequence[Section]) -> list[tuple[str, str]]:
    tasks = dict.fromkeys(section.board.task for section in sections if any(_compares_raters(section)))
    if not tasks:
        return []
    said = (
        f"In {named(list(tasks))} it is with the people who rated, on these samples, and says nothing of who "
        "was right. Kappa is low where nearly all ratings are alike, whatever the raters' skill."
    )
    return [("Agreement is not truth.", said)]


def _compares_raters(section: Section) -> Iterator[bool]:
    return (facts.statistic == "quadratic_weighted_kappa" for facts in section.newest.facts.values())


def _synthetic(sections: Sequence[Section]) -> list[tuple[str, str]]:
    datasets = [section.newest.dataset for section in sections]
    names = list(dict.fromkeys(one.name for one in datasets if one.access == "synthetic"))
    if not names:
        return []
    said = f"Written for testing: {named(names)}. Real text is longer, messier and full of copies."
    return [("Synthetic data are tidier than clinics.", said)]
