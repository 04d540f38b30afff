"""The phrases that the context rules know, and one regular expression that finds them all.

The sets began with those of NegEx and ConText (Chapman et al. 2001, doi:10.1006/jbin.2001.1029; Harkema et
al. 2009, doi:10.1016/j.jbi.2009.05.002) and grew by what clinicians type. A phrase is lower case; ``{a|b}``
stands for either part, ``{a|}`` for an optional one; a space also matches a hyphen. The longest phrase wins,
so a harmless phrase ("no change in") hides the trigger inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Literal, NamedTuple

Assertion = Literal["negated", "family_history", "uncertain", "hypothetical", "discontinued"]

Direction = Literal["forward", "backward", "auto", "auto_doubt", "auto_answer", "auto_label"]
"""``auto`` reads what follows: "stopped aspirin" works forward, "aspirin stopped due to ulcer" backward."""

Reach = Literal["list", "coordinated", "phrase", "compound", "sentence"]
"""How far a trigger works: over a whole comma list; over commas only if "and"/"or" closes the list; over one
noun phrase; over the words of one compound ("DVT prophylaxis"); to the end of the sentence."""


class Kind(IntEnum):
    """What a found phrase does to the scopes around it."""

    TRIGGER = 0
    HARMLESS = 1
    STOP = 2  # ends every scope
    SOFT_STOP = 3  # ends a scope that already holds something ("due to"); a relative's history runs on
    BE_VERB = 4  # opens a clause; a relative's history runs on over it
    VERB = 5  # opens a clause
    WEAK_VERB = 6  # opens a clause only behind a comma or "and": it may be a noun or a participle
    PREPOSITION = 7  # ends a noun phrase
    FOR = 8  # as a preposition, and ends negation: "no visits for asthma"
    SUBJECT = 9  # the patient again
    COMMA = 10
    AND = 11
    OR = 12
    COLON = 13


class Effect(NamedTuple):
    """One assertion that a trigger makes, where, and how far."""

    assertion: Assertion
    direction: Direction
    reach: Reach


class Scope(NamedTuple):
    """The stretch [start, end) of a text for which the assertion holds."""

    start: int
    end: int
    assertion: Assertion


class Phrase(NamedTuple):
    """A known phrase: its kind and, for a trigger, its effects."""

    kind: Kind
    effects: tuple[Effect, ...] = ()


_TRIGGERS: dict[tuple[Effect, ...], str] = {
    (Effect("negated", "forward", "list"),): """
        nothing to {suggest|indicate} / {is|are|was|were|been|came back|returned|tested|remains}
        {negative|neg} for / {do|does|did} not {think|believe|suspect|feel} {this is|there is|he has|she
        has|that this is|} / denies / denie / deneis / denys / denis / denyies / deny / denying / denise /
        denies {any|having|having any|experiencing|current|recent|use of|history of} / no
        {evidence|signs|sign|e/o|symptoms|s/s|suggestion|indication|findings|complaints|complaint} {of|for|to
        suggest|suggesting|suggestive of} / no {evidence|signs|sign} / no {clinical|radiographic|objective}
        {evidence|signs} of / no {known|history of|hx of|h/o|prior|previous|past|reported|reports
        of|such|new|acute|concern for|suspicion for|suspicion of|need for|indication for|use of} / no {longer
        has|longer having|longer complains of|more} / neg for / negative for / is negative for / negatives /
        pertinent negatives / negative findings / nor / neither / none of / absence of / absent / free of /
        free from / clear of / devoid of / lack of / lacks / lacking / ruled out for / rules out / ruled him
        out for / ruled her out for / no one in / fails to {reveal|show|demonstrate} / failed to
        {reveal|show|demonstrate} / not {a|a good|a surgical|} candidate for / not
        {eligible|suitable|appropriate|due|listed} for / ineligible for / not {interested in|keen on|ready
        for|open to} / not {ready|willing} to {start|try|take|begin|} / no {role|plans|plan|place} for / no
        plans to / without {any|evidence of|signs of|any evidence of} / not allergic to / no allergy to / no
        allergies to / denies allergy to / denies allergies to / non smoker""",
    (Effect("negated", "auto_answer", "list"),): "no / none / nil / neg / negative / nope",
    (Effect("negated", "forward", "coordinated"),): """
        without / w/o / w/out / wo / not / isn't / aren't / wasn't / weren't / doesn't / don't / didn't /
        hasn't / haven't / hadn't / won't / {do|does|did|has|have|had|is|are|was|were|will} not / doesnt /
        didnt / dont / hasnt / wasnt / isnt / {do|does|did} not {have|take|use|report|show|endorse|want|need}
        / never / never had / has never had / never {taken|used} / avoid / avoids / avoiding / declines /
        refuses / refusing / declining / instead of / rather than / can't / cannot / unable to""",
    (Effect("negated", "auto", "list"),): "denied / declined / refused / ruled out / r/o'd / excluded",
    (Effect("negated", "backward", "list"),): """
        {is|are|was|were|been|being|has been|have been} {ruled
        out|excluded|denied|absent|negative|neg|declined|refused} / not
        {seen|identified|found|noted|appreciated|demonstrated|evident|visualized|visualised|detected|present|reported|felt|palpable|palpated|observed|heard|endorsed}
        / {is|are|was|were} not
        {seen|identified|found|noted|appreciated|demonstrated|evident|visualized|visualised|detected|present|reported|palpable|observed|heard|endorsed}
        / not
        {indicated|needed|given|started|prescribed|performed|done|ordered|administered|recommended|obtained|required|necessary|warranted|advised|eligible}
        / {is|are|was|were} not
        {indicated|needed|given|started|prescribed|performed|done|ordered|administered|recommended|obtained|required|necessary|warranted|advised}
        / {is|are|} contraindicated / {is |was |deliberately |}avoided / came back negative / returned
        negative / tested negative / has not {recurred|occurred|developed} / never
        {happened|occurred|developed|started|taken} / was never {started|taken|given}""",
    (Effect("uncertain", "auto_doubt", "phrase"),): """
        prob / poss / possible / probable / suspected / suspect / suspects / suspecting / likely / most likely
        / more likely / less likely / very likely / highly likely / unlikely / highly unlikely / very unlikely
        / not likely / presumed / presumptive / questionable / potential / equivocal / possibly / probably /
        presumably / doubt / doubts / doubtful / perhaps / maybe / tentative / suspicious /
        {is|are|was|were|remains|seems|appears|felt|thought} {possible|probable|suspected|likely|most
        likely|unlikely|less likely|highly unlikely|very unlikely|questionable|presumed|considered}""",
    (Effect("uncertain", "auto_doubt", "coordinated"),): "considered",
    (Effect("uncertain", "forward", "phrase"),): """
        {may|might|could} {be|represent|reflect|indicate|suggest|also be|possibly be} / {may|might|could} have
        / {may|might} {need|require|benefit from} / might / looks like / appears to {be|have} / seems to
        {be|have} / {thought|felt|believed|presumed|suspected|likely|unlikely} to {be|have|represent} /
        suggestive of / suggests / suggesting / suspicion {of|for} / suspicious for / suspected to be /
        {is|are|was|were|} {likely|most likely|possibly|probably|presumably|thought|felt|suspected|presumed}
        {due to|from|secondary to|2/2|related to|caused by|to be due to} / query / question of / questionable
        for / equivocal for / presumably due to / possibly {due to|from} / probably {due to|from} / working
        {diagnosis|dx} {of|}""",
    (Effect("uncertain", "forward", "coordinated"),): """
        rule out / r/o / ro / ruling out / to rule out / concern for / concerns for / concerning for /
        concerned {for|about} / worried about / worrisome for / {cannot|can't|can not|could
        not|couldn't|unable to} {exclude|rule out|r/o} / not {exclude|excluded|rule out} / does not
        {exclude|rule out} / has not {ruled out|excluded} / have not {ruled out|excluded} / did not rule out /
        not yet ruled out / cannot {fully|completely|entirely|definitively} {exclude|rule out} / consider /
        considering / {evaluate|eval|evaluated|evaluation|assess|assessed|workup|work
        up|investigate|investigated|tested|testing|checked|look|looking} for / w/u for /
        {unclear|uncertain|unsure|not sure|not certain|not
        clear|unknown|wonder|wonders|wondering|see|determine|know|ask|asks|asked|clarify} {if|whether} /
        whether / {is|are|was|were|} not {sure|certain|clear|necessarily} / {is|are|was|were|} not
        {sure|certain|clear} {about|of|if|whether} / questioned {if|whether} / unsure {about|of} / uncertain
        {about|of} / unclear / debating / contemplating / thinking about / discussed starting""",
    (Effect("uncertain", "forward", "list"),): """
        {differential|ddx|differential diagnosis|differential dx} {includes|included|including|is} /
        {differential|ddx|differential diagnosis|differential dx}:""",
    (Effect("uncertain", "backward", "phrase"),): """
        {is|are|} being considered / felt unlikely / thought unlikely / is not likely / felt to be
        {likely|unlikely|possible} / thought to be {likely|unlikely|possible} / remains {a possibility|a
        concern|in the differential|on the differential} / is {a possibility|a concern|in the differential|on
        the differential|to be determined} / {in|on} the {differential|ddx} / vs other / under
        {consideration|investigation|evaluation}""",
    (Effect("uncertain", "backward", "coordinated"),): """
        not {ruled out|excluded} / {is|was|has|have|are|were} not {been ruled out|been excluded|ruled
        out|excluded|yet been ruled out|been fully excluded} / {hasn't|haven't} been {ruled out|excluded} /
        not been {ruled out|excluded} / not yet {been |}{ruled out|excluded} / {cannot|can't|can not|could
        not|couldn't} {be|be fully|be completely|be entirely|be definitively} {excluded|ruled out} / {to be|to
        be formally|needs to be|need to be|must be|should be|still to be} ruled out / being ruled out""",
    (
        Effect("uncertain", "forward", "phrase"),
        Effect("uncertain", "backward", "phrase"),
    ): "vs / versus / v.s / as opposed to",
    (Effect("hypothetical", "forward", "coordinated"),): """
        in case of / in the event of / in event of / in case / in the event / unless / hold if / risk {of|for}
        / risks {of|for} / risk factors for / risk factor for /
        {monitor|monitoring|watch|watching|observe|observing|look
        out|screen|screening|surveillance|watchful|alert} for / watch out for / keep an eye out for / on the
        lookout for / would {add|start|switch|repeat|order} / {to
        prevent|prevent|prevents|preventing|prevention of|to reduce risk of|to reduce the risk of|to
        avoid|prophylaxis for|prophylaxis against|prophylaxis of|ppx for|ppx against} / {as
        needed|prn|p.r.n|as necessary|when needed|if needed} {for|if|with|when|} / {may|can|could|might}
        {cause|lead to|result in|trigger|increase the risk of} / side effects {include|including|such
        as|like|of} / {report|notify us of|notify us for|let us know about} any / let us know of any /
        {discussed|reviewed|educated on|educated about|counseled on|counselled on|counseled about|aware
        of|taught} {the |}{signs|symptoms|signs and symptoms|signs/symptoms|s/s|warning signs} of / warning
        signs / red flags / complications {such as|include|including}""",
    (Effect("hypothetical", "forward", "list"),): """
        {return|ed|er|strict return|strict ed|safety} precautions {for|given for|reviewed for|discussed
        for|include|including|given|discussed|reviewed|}""",
    (
        Effect("hypothetical", "backward", "coordinated"),
    ): "{would|could} be {added|started|tried|switched|considered}",
    (Effect("hypothetical", "backward", "compound"),): """
        prophylaxis / ppx / risk / prevention / screening / precautions / surveillance / threshold""",
    (Effect("hypothetical", "forward", "sentence"), Effect("hypothetical", "backward", "sentence")): """
        should {she|he|they|you|it|there|this|these|any|pt|patient|the patient|symptoms|symptom} / if / only
        if / only when / in the event that / let {us|me|the clinic|the office|your doctor} know if""",
    (Effect("hypothetical", "forward", "sentence"),): """
        and if / or if / especially if / particularly if / even if / sooner if / earlier if""",
    (Effect("discontinued", "auto", "coordinated"),): """
        off / completed course / stopped / stop / stops / stopping / discontinued / discontinue / discontinues
        / discontinuing / dc'd / d/c'd / d/c / d/ced / d/c'ed / dced / dcd / dc / d'c'd / discontined /
        discontinud / discont / held / hold / holds / holding / on hold / quit / quitting / ceased / ceasing /
        cessation of / stopped taking / stop taking / stopping taking / weaned off / tapered off / taper off /
        weaning off / tapering off / came off / coming off / taken off / took off / finished / finished taking
        / self discontinued / self stopped / ran out of / failed / withdrew / withdrawn""",
    (Effect("discontinued", "forward", "coordinated"),): """
        off of / off her / off his / no longer
        {taking|takes|on|uses|using|needs|requires|receiving|prescribed} / not taking / no more / is off /
        been off / stays off / was on / was previously {on|taking} / previously
        {on|taking|took|used|tried|treated with|prescribed} / formerly {on|taking|took} / used to {take|be
        on|use} / had been {on|taking} / was taking / prior use of / past use of / previous use of / in the
        past took / {has|have|had|} {tried and failed|failed} / {did|could|does|do} not tolerate / didn't
        tolerate / couldn't tolerate / doesn't tolerate / unable to tolerate / intolerant {of|to} /
        intolerance {of|to} / completed {a|her|his|their|the|}{ full|} course of / finished
        {a|her|his|their|the|}{ full|} course of / switched from / changed from / transitioned from /
        converted from / switch from / change from / in place of / discontinuation of / withdrawal of / status
        post course of / s/p course of""",
    (Effect("discontinued", "forward", "list"),): """
        allergic to / allergy to / allergies to / allergy: / allergies: / allergies {include|includes} /
        adverse reaction to / anaphylaxis to / reaction to / hypersensitivity to / anaphylaxis with /
        {discontinued|stopped|held|past|previous|prior|former|old|inactive}
        {meds|medications|medication|drugs}:""",
    (Effect("discontinued", "backward", "coordinated"),): """
        {is|are|was|were|been|being|has been|have been|had been|be|got}
        {stopped|discontinued|dc'd|d/c'd|d/c|held|on hold|put on hold|placed on hold|ceased|withdrawn|tapered
        off|weaned off} / placed on hold / put on hold / crossed {out|off} / {was |is |}replaced {with|by} /
        no longer {taken|used|needed|prescribed} / allergy / is listed as an allergy / causes
        {rash|hives|anaphylaxis|angioedema|a rash} / caused {rash|hives|anaphylaxis|angioedema|a rash}""",
    (Effect("family_history", "auto_label", "list"),): """
        {family|fam} {history|hx|h/o} / {family|fam} {history|hx} {of|for|significant for|positive for|notable
        for|remarkable for|includes|with|is positive for|is significant for|is notable for|pos for} / fh / fhx
        / famhx / fmhx / f/h / fh of / fhx of / fh positive for / fhx positive for / fh significant for / fhx
        significant for / familial history of / fh+ / family positive for""",
    (Effect("family_history", "backward", "list"),): """
        {run|runs|ran|running} in {the|her|his|their|pt's|patient's|} family / in {the|her|his|their|} family
        / in {family members|relatives|a family member|a relative|several family members} / on {the|her|his}
        {maternal|paternal|mother's|father's} side / {maternal|paternal} side""",
    (Effect("family_history", "forward", "list"),): """
        family {member|members} {with|had|has|have|who had|who has} / {relative|relatives}
        {with|had|has|have|who had|who has} / first degree {relative|relatives} {with|had|has|have}""",
    (Effect("negated", "forward", "list"), Effect("family_history", "forward", "list")): """
        no one in {the|her|his|their} family {has|had|has had|with} / nobody in {the|her|his|their} family
        {has|had} / no {family|fam} {history|hx} / no {family|fam} {history|hx} of / no {fh|fhx} of / no fh /
        no fhx / denies {family|fam} {history|hx} of / denies fh of / denies fhx of""",
}
_OTHERS: dict[Kind, str] = {
    Kind.HARMLESS: """
        no
        {increase|increased|decrease|change|changes|improvement|worsening|progression|difference|relief|response|benefit}
        {in|of|from|to|with|} / no {significant|interval|recent|major|acute|apparent|further|dose|medication}
        {change|changes|improvement|increase} {in|to|of|from|} / no further / no longer / no
        {issues|issue|problems|problem|side effects|side effect|adverse
        effects|complaints|concerns|trouble|difficulty|difficulties} {with|from|on|about|regarding} / no doubt
        / no show / no later than / no matter / no less than / no more than / no question {that|} / no. of /
        no evidence to exclude / not only / not limited to / not just / not
        {well|adequately|fully|optimally|completely|currently well} {controlled|managed|treated} / not
        controlled / not {improving|improved|resolved|better|worse|worsening|changed|responding|relieved|at
        goal|optimal|to goal} / not {stop|discontinue|skip|miss|hold|stopped|discontinued|missed} /
        {do|does|did|should|has|have|is|are|was|were} not
        {stop|discontinue|skip|miss|hold|stopped|discontinued|missed} / {don't|didn't|hasn't|doesn't}
        {stop|discontinue|skip|miss|hold|stopped|missed} / never {stopped|missed|discontinued} / not to
        {stop|discontinue|skip|miss} / without {stopping|missing|interruption} / denies
        {missing|stopping|missed} / without
        {difficulty|difficulties|issue|issues|incident|change|changes|improvement|relief|benefit|success|help|trouble|problem|problems|side
        effects|delay} / {gram|triple|rh|rhesus|her2|her 2|er|pr|culture|coag|coagulase|false|hormone
        receptor|hr|blood type a|lactose} {negative|neg} / negative
        {pressure|symptoms|inspiratory|feedback|thoughts|affect|margins|margin|mood|balance|fluid balance} /
        net negative / stop {date|by|dates|codon} /
        {nasal|vaginal|penile|urethral|wound|ear|eye|purulent|clear|white|yellow|green} d/c / just in case /
        allergy list / hold {for|parameters|off on} / held {accountable|constant} / hold {steady|still} / off
        and on / on and off / off work / off duty / off balance / off the / off days / drop off / cut off /
        time off / day off / days off / off label / cut off / well off /
        {falling|kick|turned|went|called|worn|wears|wore|dropped|fell|doze|dozing|nodding|goes} off / d/c
        {home|to|planning|plan|summary|instructions|meds|medications|criteria|date|from|tomorrow} / d/c'd
        {home|to|from} / dc {home|to|planning|summary|instructions|from} / dc'd {home|to|from} / stop smoking
        {clinic|program} / smoking cessation / {allergies|allergy}: {nkda|nka|none|none known|nil} / prob list
        / no prob / as soon as possible / if possible / when possible / as much as possible / where possible /
        as if / if any / if needed / if applicable / as possible / whenever possible / as tolerated / if
        tolerated / completed {today|yesterday|on time} / completed {the form|forms|questionnaire|survey} /
        failed to / heart failed / failed attempt / risk factors / risk factor / risk stratification / risk
        and benefits / risks and benefits / risk assessment / was on call / was on time / respiratory
        precautions / contact precautions / may take / seasonal allergies / seasonal allergy / food allergies
        / environmental allergies / drug allergies / known allergies / allergies reviewed / allergy
        {testing|shots|clinic|symptoms|season} / not a smoker / could not be more / quit date / cannot
        {wait|stand} / free {t4|t3|air|fluid|text|psa} / {has |}no {idea|recollection} / avoid
        {delay|confusion} / consider it""",
    Kind.STOP: """
        ; / | / but / however / nevertheless / nonetheless / although / though / except / except for / with
        the exception of / yet / whereas / aside from / apart from / other than / besides / otherwise / which
        / who / positive / positive for / pos for / pos / + / (+) / [+] / yes / [x] / (x) / significant for /
        notable for / remarkable for / does have / patient's / pt's / instead / also
        {has|reports|endorses|notes|takes}""",
    Kind.SOFT_STOP: """
        due to / secondary to / because / because of / since / 2/2 / d/t / 2/2 to / as a result of / related
        to / caused by / attributed to / owing to / after / in setting of / in the setting of / in favor of /
        in favour of / from / so / thus / therefore / given / causing / leading to / despite / thanks to / now
        / only / just / still / present / while / then""",
    Kind.BE_VERB: """
        has / had / have / having / is / are / was / were / remains / known / steady / intact / normal / clear
        / soft / regular / stable / supple / wnl / unremarkable / improving / worse / better / unchanged /
        controlled / elevated / ongoing / history of / hx of / h/o / s/p / status post / died / developed""",
    Kind.VERB: """
        reports / endorses / endorsed / complains / complaining of / c/o / admits / states / says / tells /
        presents / presented / takes / taking / started / starts / starting / began / beginning / continues /
        continued / continuing / shows / showed / revealed / reveals / demonstrates / demonstrated / feels /
        felt / will / does / did / came / comes / went / uses / lives / works / gets / got / restarted /
        restarting / resumed / resuming / switched to / changed to / adding / needs / requires / notes /
        describes / described / mentions / tolerates / follow up / f/u / ordered / initiated / initiate / gave
        / took / eats / walks / sleeps / smokes / drinks / remain / replaced with / transitioned to /
        converted to / to start""",
    Kind.WEAK_VERB: """
        add / added / admit / admitted / advised / begin / call / change / check / continue / currently /
        decrease / decreased / diagnosed / discharge / discharged / experienced / experiencing / follow / get
        / give / improved / increase / increased / increasing / keep / need / noted / obtain / order /
        persists / plan / plans / received / recently / recheck / recommend / recommended / refer / referred /
        repeat / replaced / report / reported / restart / resume / return / schedule / seen / start / switch /
        switched / take / today / tolerating / treat / treated / use / using / worsened / mild / moderate /
        small / trace / minimal / occasional / intermittent / scattered""",
    Kind.PREPOSITION: """
        with / w/ / on / in / at / by / during / without / per / to / upon / before / into / when / as / until
        / as well / this / that / based on / following / x / seen on""",
    Kind.FOR: "for",
    Kind.SUBJECT: """
        patient / pt / the patient / she / he / they / we / i {have|had|was|am|recommend|will|think} / pts /
        patients / you""",
    Kind.COMMA: ", / comma / -- / – / —",
    Kind.AND: "and / & / plus / as well as",
    Kind.OR: "or / and/or",
    Kind.COLON: ":",
}

_CHOICE = re.compile(r"\{([^{}]*)\}")
_SEPARATOR = re.compile(r"\s/\s")


def _expand(template: str) -> Iterator[str]:
    """Yield every phrase that a template with ``{a|b}`` choices stands for."""
    choice = _CHOICE.search(template)
    if choice is None:
        yield " ".join(template.split())
        return
    for part in choice[1].split("|"):
        yield from _expand(template[: choice.start()] + part + template[choice.end() :])


def _phrases(block: str) -> Iterator[str]:
    for template in _SEPARATOR.split(block.strip()):
        yield from _expand(template)


def _table() -> dict[str, Phrase]:
    """Every phrase with its meaning; where two blocks hold the same phrase, the trigger wins."""
    table = {"/": Phrase(Kind.OR), "-": Phrase(Kind.COMMA), "--": Phrase(Kind.COMMA)}
    for kind, block in _OTHERS.items():
        table.update((phrase, Phrase(kind)) for phrase in _phrases(block))
    for effects, block in _TRIGGERS.items():
        table.update((phrase, Phrase(Kind.TRIGGER, effects)) for phrase in _phrases(block))
    return table


class _Node(dict[str, "_Node"]):
    """One letter of the phrase trie; the empty key marks the end of a phrase."""


def _render(node: _Node) -> str:
    branches = [
        (r"[ \-]+" if letter == " " else re.escape(letter)) + _render(child)
        for letter, child in sorted(node.items())
        if letter
    ]
    if not branches:
        return ""
    if len(branches) == 1 and "" not in node:
        return branches[0]
    return f"(?:{'|'.join(branches)})" + ("?" if "" in node else "")


def _trie_pattern(phrases: Iterable[str]) -> str:
    """One pattern for many phrases, longest first, that tries only the letters which can follow."""
    root = _Node()
    for phrase in phrases:
        node = root
        for letter in phrase:
            node = node.setdefault(letter, _Node())
        node[""] = _Node()
    return _render(root)


PHRASES: dict[str, Phrase] = _table()
"""Every phrase, lower case, single spaces for spaces and hyphens alike."""

MARKS = re.compile(
    rf"(?<![a-z0-9])(?:{_trie_pattern(p for p in PHRASES if p[0].isalnum())})(?![a-z0-9])"
    r"|,(?!\d)|[;|&+–—]|:(?!\d)|/(?!\d)|(?<= )--?(?= )|\([x+]\)|\[[x+]\]"
)
"""Finds the phrases and the punctuation that separates, in lower-case text whose whitespace is all spaces."""


def look_up(found: str) -> Phrase:
    """The meaning of what ``MARKS`` found.

    Args:
        found: The matched text; runs of spaces and hyphens in it count as one space.

    Raises:
        KeyError: The text is no known phrase.
    """
    known = PHRASES.get(found)
    return known if known is not None else PHRASES[_GAP.sub(" ", found)]


_GAP = re.compile(r"[ \-]+")
