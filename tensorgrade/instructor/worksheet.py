"""Read the columns and dates of Moodle's grading worksheet in common languages."""

import re
from datetime import datetime

# English names of the columns, with those of German, French, Spanish, Italian, Dutch and Portuguese
# worksheets. The column of identifiers is found by its content.
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
    "last modified (grade)": "zuletzt geändert (bewertung); dernière modification (note);"
    "última modificación (calificación); ultima modifica (valutazione);"
    "laatst gewijzigd (cijfer); última modificação (nota)",
    "feedback comments": "feedback als kommentar; feedbackkommentare; feedback-kommentare;"
    "commentaires de feedback; feedback par commentaires; comentarios de retroalimentación;"
    "commenti di feedback; feedback commenti; commentaar als feedback; feedbackcommentaar;"
    "comentários de feedback",
}
ENGLISH = {name.strip(): english for english, names in COLUMNS.items() for name in names.split(";")}
IDENTIFIER = "identifier"
UNNAMED = ("id", IDENTIFIER, "identifiant", "identificador", "identificativo", "identificatie")
WORKSHEETS_OWN = {name for name in COLUMNS if "grade" in name or "(" in name or "feedback" in name}
NUMBERED = re.compile(r"(\D*[^\d\s])( ?)(\d{1,18})")  # German worksheets have no space
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
TIME = re.compile(r"\b(\d{1,2})[:h.](\d\d)(?::(\d\d))?\s*([ap])?\.?\s*m?\b", re.IGNORECASE)
ISO = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
# The status of files that a learner has not submitted yet.
DRAFT = re.compile(r"(draft|entwurf|brouillon|borrador|bozza|concept|rascunho)\b", re.IGNORECASE)


def english(header: list[str], lines: list[list[str]]) -> list[str]:
    """Return the columns' names in lower case, and those of a worksheet in English.

    >>> english(["ID", "Bewertung"], [["Teilnehmer/in 12", "-"], ["Teilnehmer/in 13", "-"]])
    ['identifier', 'grade']
    """
    names = [name.strip().casefold() for name in header]
    cells = [line[0].strip() for line in lines if line and line[0].strip()]
    if not has_identifiers(names, cells):
        return names  # other lists have columns such as `note` too
    if IDENTIFIER not in names:
        names[0] = IDENTIFIER
    return [ENGLISH.get(name, name) for name in names]


def has_identifiers(names: list[str], cells: list[str]) -> bool:
    """Return True if the first column holds Moodle's identifiers of participants.

    Logins such as `s123` look like identifiers without a space. So these count only below an
    unknown title, in a list with a column that only worksheets have.

    >>> has_identifiers(["id", "bewertung"], ["Teilnehmer/in12", "Teilnehmer/in13"])
    True
    >>> has_identifiers(["username", "grade"], ["s12", "s13"])
    False
    """
    found = [NUMBERED.fullmatch(cell) for cell in cells]
    words = {one[1] + one[2] if one else "" for one in found}
    if len(words) != 1 or "" in words:
        return False
    known = {ENGLISH.get(name, name) for name in names[1:]} & WORKSHEETS_OWN
    return words.pop().endswith(" ") or (names[0] in UNNAMED and bool(known))


def number_of(identifier: str) -> str:
    """Return the number of a participant in any language; "" if there is none."""
    found = NUMBERED.fullmatch(identifier)
    return found[3] if found else ""


def read_date(text: str) -> datetime | None:
    """Return the local time in a worksheet's cell; None if there is none that is understood.

    Moodle writes months as words.

    >>> str(read_date("Montag, 5. Oktober 2026, 14:30"))
    '2026-10-05 14:30:00'
    >>> str(read_date("2026-10-05 2:30 PM")), read_date("10/5/2026, 2:30 PM")
    ('2026-10-05 14:30:00', None)
    """
    day = day_in(text)
    time = next(iter(reversed([*TIME.finditer(ISO.sub(" ", text))])), None)
    if day is None or time is None:
        return None
    hour, minute, second = int(time[1]), int(time[2]), int(time[3] or 0)
    if time[4]:
        hour = hour % 12 + (12 if time[4].lower() == "p" else 0)
    try:
        return datetime(*day, hour, minute, second)
    except ValueError:
        return None


def day_in(text: str) -> tuple[int, int, int] | None:
    """Return year, month and day; None if they are not found."""
    if found := ISO.search(text):
        return int(found[1]), int(found[2]), int(found[3])
    plain = text.casefold()
    months = [word for word in re.findall(r"[^\W\d]+", plain) if word in MONTH]
    if len(months) != 1:
        return None
    before, _, after = plain.partition(months[0])
    ahead = re.search(r"(?<!\d)(\d{1,2})[.ºª]?\s+(?:de\s+)?$", before)
    named_day = ahead or re.match(r"\s+(\d{1,2})(?![\d:])", after)
    named_year = re.search(r"(?<!\d)\d{4}(?!\d)", after)
    if named_day is None or named_year is None:
        return None
    return int(named_year[0]), MONTH[months[0]], int(named_day[1])
