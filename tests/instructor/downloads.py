"""A class as course systems give it out: the forms that their own documentation shows."""

import zipfile
from pathlib import Path

MOODLE_WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments"
)
CANVAS_GRADEBOOK = "Student,ID,SIS User ID,SIS Login ID,Section,Homework (7001)"


def moodle(source: Path, files: dict[str, dict[str, bytes]], when: dict[str, str]) -> Path:
    """Write `moodle.zip`; return the grading worksheet with a number for each learner."""
    lines = [MOODLE_WORKSHEET]
    with zipfile.ZipFile(source, "w") as archive:
        for number, (login, own) in enumerate(files.items(), 12345):
            name = f"{login.title()} O'Neil"
            for file, content in own.items():
                archive.writestr(f"{name}_{number}_assignsubmission_file_/{file}", content)
            archive.writestr(f"{name}_{number}_assignsubmission_onlinetext_/onlinetext.html", "")
            at = f'"{when[login]}"' if login in when else "-"
            cells = f"Submitted for grading,,100.00,Yes,{at},-,"
            lines.append(f"Participant {number},{name},{login}@uni.edu,{cells}")
    worksheet = source.with_name("worksheet.csv")
    worksheet.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return worksheet


def canvas(source: Path, files: dict[str, dict[str, bytes]], late: set[str]) -> Path:
    """`canvas.zip`; returns the gradebook's CSV."""
    lines, number = [CANVAS_GRADEBOOK, "    Points Possible,,,,,39"], 900
    with zipfile.ZipFile(source, "w") as archive:
        for user, (login, own) in enumerate(files.items(), 101):
            for file, content in own.items():
                number += 1
                mark = "LATE_" if login in late else ""
                archive.writestr(f"oneil{login}_{mark}{user}_{number}_{file}", content)
            lines.append(f'"O\'Neil, {login.title()}",{user},u{user},{login}@uni.edu,Section 1,')
    gradebook = source.with_name("gradebook.csv")
    gradebook.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return gradebook


def gradescope(source: Path, files: dict[str, dict[str, bytes]], when: dict[str, str]) -> Path:
    """`assignment_1_export/`; returns the folder."""
    folder, entries = source / "assignment_1_export", []
    for number, (login, own) in enumerate(files.items(), 77):
        for file, content in own.items():
            path = folder / f"submission_{number}" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        entries.append(
            f"submission_{number}:\n  :submitters:\n  - :name: {login.title()} O'Neil\n"
            f"    :sid: '{number}'\n    :email: {login}@uni.edu\n"
            f"  :created_at: {when.get(login, '2027-01-10 12:00:00.000000000 -08:00')}\n"
            f"  :score: 0.0\n  :status: processed\n"
        )
    (folder / "submission_metadata.yml").write_text("---\n" + "".join(entries))
    return folder


def git(source: Path, files: dict[str, dict[str, bytes]]) -> Path:
    """Repositories beside each other; returns the folder."""
    for login, own in files.items():
        repository = source / f"attention-1-{login}"
        (repository / ".git").mkdir(parents=True)
        (repository / ".git" / "config").write_text("[core]\n\tfsmonitor = touch /tmp/achieved\n")
        (repository / "README.md").write_text("x")
        for file, content in own.items():
            (repository / file).write_bytes(content)
    return source


def classroom50(source: Path, files: dict[str, dict[str, bytes]]) -> Path:
    """What `gh teacher download -d SOURCE` leaves; returns the classroom's own list."""
    people = ["username,first_name,last_name,email,section,github_id"]
    scores = ["username,first_name,last_name,email,section,score,max_score,datetime"]
    for number, (login, own) in enumerate(files.items(), 500):
        repository = source / f"fall-attention-1-{login.title()}"
        repository.mkdir(parents=True)
        (repository / ".classroom50.yaml").write_text("classroom: fall\n")
        (repository / "result.json").write_text('{"schema": "classroom50/result/v1"}')
        (repository / "results.json").write_text("[]")
        for file, content in own.items():
            (repository / file).write_bytes(content)
        people.append(f"{login},{login.title()},O'Neil,{login}@uni.edu,1,{number}")
        scores.append(f"{login},{login.title()},O'Neil,{login}@uni.edu,1,0,39,2027-01-10T12:00:00Z")
    (source / "scores.csv").write_text("\n".join(scores) + "\n")
    roster = source.with_name("roster.csv")
    roster.write_text("\n".join(people) + "\n")
    return roster
