"""Read the columns and dates of Moodle's grading worksheet in common languages."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

# English names of the columns, with those of German, French, Spanish, Italian, Dutch and Portuguese
# worksheets.
COLUMNS = {
    "full name": "vollständiger name; nom complet; nombre completo; nome completo; volledige naam;"
    "nome/cognome; cognome/nome",
    "email address": "e-mail-adresse; e-mail; adresse de courriel; dirección de correo;"
    "dirección email; correo electrónico; indirizzo email; e-mailadres; endereço de email;"
    "endereço de e-mail",
    "id number": "id-nummer; matrikelnummer; numéro d'identification; número de id;"
    "codice identificativo; número de identificação",
    "status": "estado; statut; stato",
    "due date": "fälligkeitsdatum; abgabedatum; fällig am; date limite; fecha de entrega;"
    "fecha límite; data di scadenza; termine consegne; uiterste inleverdatum; einddatum;"
    "data de entrega; data limite",
    "group": "gruppe; groupe; grupo; gruppo; groep",
    "username": "anmeldename; nutzername; benutzername; nom d'utilisateur; nombre de usuario;"
    "gebruikersnaam; nome de utilizador; nome de usuário",
    "grade": "bewertung; note; calificación; valutazione; cijfer; nota",
    "maximum grade": "bestwertung; maximale bewertung; höchste bewertung; höchstbewertung;"
    "note maximale; note maximum; calificación máxima; valutazione massima; maximumcijfer;"
    "maximale cijfer; nota máxima",
    "grade can be changed": "bewertung kann geändert werden; la note peut être modifiée;"
    "la calificación puede ser cambiada; la calificación puede cambiarse;"
    "la valutazione può essere modificata; cijfer kan gewijzigd worden;"
    "cijfer kan worden gewijzigd; a nota pode ser alterada; nota pode ser alterada",
    "last modified (submission)": "zuletzt geändert (abgabe); zuletzt geändert (einreichung);"
    "dernière modification (travail remis); dernière modification (remise);"
    "última modificación (entrega); ultima modifica (consegna); laatst gewijzigd (inzending);"
    "última modificação (submissão); última modificação (envio); última modificação (trabalho)",
    "feedback comments": "feedback als kommentar; feedbackkommentare; feedback-kommentare;"
    "commentaires de feedback; feedback par commentaires; comentarios de retroalimentación;"
    "commenti di feedback; feedback commenti; commentaar als feedback; feedbackcommentaar;"
    "comentários de feedback",
}
ENGLISH = {name.strip(): english for english, names in COLUMNS.items() for name in names.split(";")}
IDENTIFIER, STATUS, DUE = "identifier", "status", "due date"
SUBMITTED_AT = "last modified (submission)"
UNNAMED = (IDENTIFIER, "identifiant", "identificador", "identificativo", "identificatie")
WORKSHEETS_OWN = {name for name in COLUMNS if "grade" in name or "(" in name or "feedback" in name}
NUMBERED = re.compile(r"(\D*[^\d\s] ?)(\d{1,18})")  # German worksheets have no space
NO = {"no", "nein", "non", "nee", "não"}
MONTHS = (
    "january januar janvier enero gennaio januari janeiro jänner",
    "february februar février febrero febbraio februari fevereiro",
    "march märz mars marzo maart março",
    "april avril abril aprile",
    "may mai mayo maggio mei maio",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august août agosto augustus",
    "september septembre septiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember décembre diciembre dicembre dezembro",
)
MONTH = {name: number for number, names in enumerate(MONTHS, 1) for name in names.split()}
WORD = rf"\b(?P<month>{'|'.join(sorted(MONTH, key=len, reverse=True))})"
TIME = (
    r"\D{1,12}(?P<hour>\d{1,2})[:h.](?P<minute>\d\d)(:(?P<second>\d\d))?"
    r"(\s*(?P<half>[ap])\.?\s?m\b)?"
)
DATES = [
    re.compile(date + TIME)
    for date in (
        r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)",
        rf"\b(?P<day>\d{{1,2}})[.ºª]?\s+(de\s+)?{WORD}\s+(de\s+)?(?P<year>\d{{4}})",
        rf"{WORD}\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}})",
    )
]
# The status of files that a learner has not submitted yet.
DRAFT = re.compile(r"(draft|entwurf|brouillon|borrador|bozza|concept|rascunho)\b", re.IGNORECASE)


def english(header: Sequence[str]) -> list[str]:
    """Return the columns' names in lower case, and those of a worksheet in English.

    Other lists have columns such as `id` and `note` too.

    >>> english(["ID", "Bewertung"]), english(["ID", "Note 1"])
    (['identifier', 'grade'], ['id', 'note 1'])
    """
    names = [name.strip().casefold() for name in header]
    known = [ENGLISH.get(name, name) for name in names]
    if names[0] in UNNAMED or (names[0] == "id" and WORKSHEETS_OWN & set(known)):
        return [IDENTIFIER, *known[1:]]
    return names


def number_of(identifier: str) -> str:
    """Return the number of a participant in any language; "" if there is none."""
    found = NUMBERED.fullmatch(identifier)
    return found[2] if found else ""


def read_date(text: str) -> datetime | None:
    """Return the local time in a worksheet's cell; None if there is none that is understood.

    Moodle writes months as words.

    >>> str(read_date("Montag, 5. Oktober 2026, 14:30"))
    '2026-10-05 14:30:00'
    >>> str(read_date("2026-10-05 2:30 PM")), read_date("10/5/2026, 2:30 PM")
    ('2026-10-05 14:30:00', None)
    """
    for date in DATES:
        if found := date.search(text.casefold()):
            hour, half = int(found["hour"]), found["half"]
            if half:
                hour = hour % 12 + (12 if half == "p" else 0)
            month = MONTH.get(found["month"]) or int(found["month"])
            with suppress(ValueError):
                day = int(found["year"]), month, int(found["day"])
                return datetime(*day, hour, int(found["minute"]), int(found["second"] or 0))
    return None
