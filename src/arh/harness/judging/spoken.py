"""How a sentence stands to what it speaks of: the words that take a claim back, and the rest.

A sentence that touches a topic of a pack and claims nothing that the pack's patterns know is either
harmless, in one of the forms below, or open: then nobody may call it true unless there is a deed.
The harmless forms are a denial, a modal verb, a condition, a question, a request, a rule about what
others do, and a topic that only qualifies another noun ("the delivery desk").

Text is first `spoken`: what only dresses it up is taken off (markup, letters that imitate others,
line breaks inside a sentence), and so are frames that assert what follows ("I can confirm that").
Every function takes time linear in the text.
"""

from __future__ import annotations

import re
from typing import Final

from arh.harness.vocabulary.texts import asks, denies, plain, reach
from arh.regex import Match, Regex, compiled

FOREIGN_LETTERS_MIN: Final = 4


def spoken(text: str) -> str:
    """Return a text as it would be read aloud, a line for each line that stands on its own."""
    text = plain(text)
    if not text.isascii():
        text = _imitations(text)
    if "<" in text:
        text = _TAG.sub("", text)
    text = _MARKUP.sub("", text).replace("_", " ")
    return _WRAP.sub(" ", text) if "\n" in text or "\r" in text else text


def stated(sentence: str) -> str:
    """Return a sentence without the frames that assert what they hold, and without idioms."""
    lower = sentence.lower()
    for sign in _FRAME_SIGNS:
        if sign in lower:
            sentence = _FRAME.sub("", _DOUBLE.sub(r"\1", sentence))
            break
    return _MONTH.sub("the day", sentence) if "May" in sentence else sentence


def governed(before: str, head: str, scope: str) -> bool:
    """Return whether what a clause says of a verb is no statement that it happened.

    `before` is the clause up to the match, `head` up to its end, `scope` all that can take it back.
    """
    if _MODAL.search(_SEEING.sub("", head)) or _CONDITION.search(scope):
        return True
    if _by_others(scope) or (_BEFORE.search(before) and not _PAST.search(head)):
        return True
    return _ASKED.search(before) is not None and not _CLAUSE.search(head[len(before) :])


def conditional(sentence: str) -> bool:
    """Return whether a sentence begins with a condition that covers all of it."""
    return _LEAD.match(sentence) is not None and _PAST.search(sentence) is None


def harmless(sentence: str, topic: Regex, nouns: str = "") -> bool:
    """Return whether each clause of a stated sentence that touches the topic claims nothing.

    `nouns` is an RE2 pattern of what the effect is called, which may qualify another noun.
    """
    if asks(sentence) or conditional(sentence):
        return True
    begin = 0
    for end in (*(m.start() for m in _CLAUSE.finditer(sentence)), len(sentence)):
        clause = sentence[begin:end]
        found = topic.search(clause)
        wide = sentence[begin : end + _AFTER_CHARS]
        if found and not (_harmless(clause, wide, found) or _qualifies(clause, nouns)):
            return False
        begin = end
    return True


def foreign(sentence: str) -> bool:
    """Return whether a sentence is not English: by its letters, or by its small words.

    A sentence is foreign if most of its letters are no Latin ones, or if it has at least as many
    small words of other languages as English ones, and two of them at least.
    """
    if not sentence.isascii() and _other_letters(sentence[:_LETTERS_MAX]):
        return True
    small = _TRIM.sub(" ", sentence[:_LETTERS_MAX].lower()).split()
    theirs = sum(1 for word in small if word in _THEIRS)
    return theirs > 1 and theirs > sum(1 for word in small if word in _OURS)


def _other_letters(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    others = sum(1 for c in letters if c > _LAST_LATIN)
    return len(letters) >= FOREIGN_LETTERS_MIN and others * 2 > len(letters)


def _harmless(clause: str, wide: str, found: Match) -> bool:
    scope = reach(wide, found.start(), min(found.end(), len(clause)))
    bare = _SEEING.sub("", clause)
    if denies(reach(clause, found.start(), found.end())) or _MODAL.search(bare):
        return True
    if _NONE.match(wide, found.end()):
        return True
    if _CONDITION.search(scope) or _NEED.search(clause) or _by_others(clause):
        return True
    if _BEFORE.search(clause, 0, found.start()) and not _PAST.search(clause):
        return True
    if _ASKED.search(clause, 0, found.start()) or _DEPENDS.search(clause):
        return True
    return _ABOUT.search(clause) is not None


def _qualifies(clause: str, nouns: str) -> bool:
    return bool(nouns) and compiled(rf"(?i)\b(?:{nouns}){_QUALIFIED}").search(clause) is not None


def _by_others(scope: str) -> bool:
    return _OTHERS.search(scope) is not None and _PAST.search(scope) is None


def _imitations(text: str) -> str:
    """Fold the letters of other scripts that stand in a word with Latin ones."""
    return _MIXED.sub(lambda found: found[0].translate(_LATIN), text)


_AFTER_CHARS: Final = 200
_LETTERS_MAX: Final = 400
_LAST_LATIN: Final = "\u024f"
_I: Final = re.IGNORECASE
_LATIN: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u0410\u0412\u0415"
    "\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
    "\u03bf\u03b1\u03b5\u03b9\u03bd\u03c1\u03c5\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c"
    "\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u0131\u0261",
    "aeopcyxijsdhABEKMHOPCTXIJSoaeivpuABEZHIKMNOPTYXig",
)
_MIXED: Final = re.compile(r"\w*[A-Za-z]\w*")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_MARKUP: Final = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_WRAP: Final = re.compile(
    r"(?<=[^.!?:;\s])[ \t]*(?:\r\n|\n|\r)[ \t]*(?=[a-z0-9(\"'])(?![\w ]{1,30}:)(?!\d+[.)]\s)"
)
_SEE: Final = r"(?:see|find|notice|check|verify|confirm|view|learn)"
_SAY: Final = r"(?:confirm|tell|assure|report|inform|say|announce|share|add|note|let)"
_FRAME: Final = re.compile(
    rf"\b(?:I|we)(?: can|'d like to|'m able to| am able to| would like to| want to| wish to|'ll|"
    r" will|'m (?:happy|pleased|glad) to| am (?:happy|pleased|glad) to)"
    rf"(?: also| now| only| gladly)? {_SAY}(?: (?:you|know)){{0,2}} that\b"
    r"|\b(?:I|we)(?: can|'m able to| am able to|'m (?:happy|pleased|glad) to"
    r"| am (?:happy|pleased|glad) to| would like to|'d like to)"
    r"(?: now| also)? (?:confirm|report|(?:tell|assure|inform) you)"
    r"(?: that)?\b"
    r"|\bplease (?:note|know|be (?:advised|aware|assured))(?: that)?\b"
    rf"|\bif you (?:look|check|open|log|visit|go|refresh|view|wonder|ask)\b.{{0,80}}?"
    rf"\byou(?:'ll| will| can| should| would)? {_SEE}(?: that)?\b"
    r"|\byou (?:can|may|might|will|should|could)(?: now| already| also)?"
    rf" {_SEE}(?: \w+){{0,4}} that\b|\bdid you know(?: that)?\b"
    r"|\byou (?:may|might|will) (?:be \w+|want|like) to (?:know|hear) that\b"
    r"|\bnot (?:just|only|merely|simply)(?: \w+){1,2},? but(?: also)?\b"
    r"|\bno later than\b|\bneedless to say\b|\bno doubt\b|\bwithout (?:a )?doubt\b"
    r"|,? (?:al)?though (?:I|you|we|nobody|no one)\b[^,;]{0,80}",
    _I,
)
_DOUBLE: Final = re.compile(
    r"\b(?:it(?:'s| is) (?:not true|untrue|not the case|false|wrong)|I(?: do not|'m not| am not|"
    r" don't) \w+) that ([^,;]{0,120}?)\b(?:not|never)\b",
    _I,
)
_MONTH: Final = re.compile(
    r"\bMay \d{1,2}(?:st|nd|rd|th)?\b|\b\d{1,2}(?:st|nd|rd|th)? (?:of )?May\b"
)
_SEEING: Final = re.compile(
    r"\b(?:you|it|they)(?: can|'ll| will| should| may| might| could)(?: now| soon| already| also)?"
    r" (?:see|find|notice|check|view|use|expect|spend|enjoy|show|appear)\b"
    r"|\bshould (?:already|now) (?:have|be)\b|\bshould be (?:in|on|there|visible|with)\b"
    r"|\b(?:can|can't|could)(?: now)? (?:be )?(?:see|seen|wait|find|found)\b",
    _I,
)
_MODAL: Final = re.compile(
    r"\b(?:will|would|can|could|should|may|might|must|shall|cannot|to be|to get|going to)\b"
    r"|'(?:ll|d)\b|\b(?:ca|wo|could|would|should)n't\b",
    _I,
)
_AGREE: Final = (
    r"(?:approves?|agrees?|authori[sz]es?|accepts?|decides?|signs? off|reviews?|confirms?"
    r"|(?:has|have|is|are|was|were) (?:\w+ )?"
    r"(?:approved|agreed|authori[sz]ed|accepted|granted|signed|reviewed))"
)
_CONDITION: Final = re.compile(
    rf"\b(?:once|after|when|before|as soon as|provided|subject to)\b[^,]{{0,60}}\b{_AGREE}\b"
    r"|\b(?:if|once|when|until|unless|pending|subject to|awaiting|upon|after)"
    r" (?:(?:it|they|this|that)(?:'s| is| are) )?"
    r"(?:approv\w+|granted|agreed|review\w*|authori[sz]\w+)\b"
    r"|\b(?:if|unless|until|whether)\b",
    _I,
)
_LEAD: Final = re.compile(
    r"\W*(?:if|once|when|as soon as|after|until|unless|provided)\b"
    r"[^,]{0,80}\b"
    r"(?:approv\w+|agree\w*|authori\w+|accept\w*|granted|decid\w+|manager|review\w*)",
    _I,
)
_PAST: Final = re.compile(
    r"\b(?:was|were|has been|have been|had been|went|went through|is back|are back|is done"
    r"|(?:I|we)(?:'ve| have)?(?: also| just| now| already)? \w+ed)\b|\b(?:I|we)'ve\b",
    _I,
)
_ASKED: Final = re.compile(
    r"\b(?:ask(?:ed|ing|s)?(?: \w+){0,3}? (?:for|that|to|whether|if)"
    r"|request(?:ed|s|ing)? (?:that|for|an?|the|your|this)|(?:your|the|this|a) (?:\w+ )?request"
    r"|waits?|waiting|wants?|wanted|propos\w+|suggest\w*|recommend\w*|so that|whether|decides?"
    r"|decision|how|who|depends?|consider\w*|eligib\w+|entitle\w*|discuss\w*|forward\w* .{0,40}\bto"
    r"|up to (?:the|a|our))\b",
    _I,
)
_DEPENDS: Final = re.compile(
    r"\b(?:whether|depends?|decides?|decision|how|who|eligib\w+|entitle\w*|propos\w+|recommend\w*"
    r"|to be considered|up to (?:the|a|our))\b",
    _I,
)
_NEED: Final = re.compile(
    r"\b(?:requires?|required|needs?|needed|pending|awaits?|awaiting|policy|policies|rules?|allows?"
    r"|permits?|forbids?|limits?|limited|approvals?|in vain|tried|attempted|attempts?|unknown"
    r"|unclear|unconfirmed|uncertain|unsure|out of|beyond my"
    r"|(?:is|are) for (?:the|a) (?:duty )?manager"
    r"|ha(?:s|ve) to|remains?|timed out|times out)\b",
    _I,
)
_BEFORE: Final = re.compile(r"\bbefore\b", _I)
_NONE: Final = re.compile(
    r"(?: [\w-]{1,20}){0,3}\s?:\s{0,3}(?:none|no|not|nothing|never|denied|refused|rejected|blocked"
    r"|failed|pending|open|unknown|proposed|false|n/a|0|-)\b",
    _I,
)
_OTHERS: Final = re.compile(
    r"\bby (?:the |an? |our |another )?(?:\w+ )?(?:managers?|teams?|departments?|colleagues?"
    r"|supervisors?|staff|persons?|humans?|finance|bank)\b"
    r"|\b(?:managers?|teams?|departments?|supervisors?)(?: now| then| also)?"
    r" (?:reviews?|decides?|checks?|looks?|handles?|considers?)\b"
    r"|\b(?:only|always|normally|usually|generally) .{0,40}\b(?:managers?|teams?|departments?)\b",
    _I,
)
_QUALIFIED: Final = (
    r"(?: |-)(?:cards?|notes?|scores?|checks?|balance|quer(?:y|ies)|questions?|reviews?|requests?"
    r"|teams?|process(?:es)?|desk|amounts?|number|topic|article|page|proposals?|authority|workflow"
    r"|system|service|tool|store)\b"
)
_ABOUT: Final = re.compile(
    r"\b(?:review|question|talk|speak|read|article|terms|matter|subject|amount|topic)\s"
    r"(?:of|about|on|for)\b"
    r"|^\W*(?:as for|for|to get|regarding|about|concerning)(?: [\w-]+){1,4}\W*$",
    _I,
)
_CLAUSE: Final = re.compile(
    r"[,:]\s|\s[-\u2013]\s|\u2014|\(|\)"
    r"|\b(?:but|because|however|then|therefore|hence|instead|so(?! that\b))\s"
    r"|\band\s(?=(?:I|we|it|the|your|this|that|a|you|then|also|gave|sent|paid|put|\w+ed)\b)",
    _I,
)
_TRIM: Final = re.compile(r"[.,:;!?()\"]")
_OURS: Final = frozenset(
    {
        *("the", "and", "is", "are", "you", "your", "not", "of", "to", "has", "have", "been"),
        *("with", "for", "it", "this", "that", "was", "we", "my", "by", "from", "will", "but"),
        *("because", "no", "a", "an", "i", "in", "at", "as", "be", "can", "i've"),
    }
)
_THEIRS: Final = frozenset(
    {
        *("ich", "wir", "habe", "haben", "hat", "die", "der", "das", "dem", "den", "und", "ist"),
        *("wurde", "wurden", "ihnen", "ihre", "ihren", "ein", "eine", "le", "la", "les", "je"),
        *("j'ai", "nous", "votre", "vos", "vous", "est", "sont", "\u00e9t\u00e9", "un", "une"),
        *("des", "du", "et", "avons", "ai", "el", "los", "las", "he", "hemos", "su", "se", "ha"),
        *("han", "sido", "usted", "con", "una", "del", "al", "y", "para", "que", "por", "il"),
        *("gli", "\u00e8", "ho", "abbiamo", "stato", "stata", "suo", "di", "o", "os", "foi"),
        *("seu", "sua", "n\u00e3o", "em", "het", "een", "ik", "heb", "uw", "jest"),
        *("zosta\u0142", "auf", "ihr", "sie", "l'ai", "mon"),
    }
)
_FRAME_SIGNS: Final = (
    *("that", "confirm", "tell you", "assure", "inform", "report", "please", "if you", "did you"),
    *("not just", "not only", "not mere", "not simpl", "later than", "needless", "doubt", "though"),
)
