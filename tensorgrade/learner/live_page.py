"""`tensorgrade read --live`: serve the lessons' page, and check and reload it after each save."""

import webbrowser
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import typer
from watchfiles import watch as changes_in

from ..attempts.results import Results
from ..views.lessons import lessons_page
from .watch.checker import Checker


class LivePage:
    """The page that is served. Its version grows with each check."""

    def __init__(self, tests: Path, folder: Path):
        self.root, self.folder = tests.parent, folder
        self.checker = Checker(tests, folder)  # before the server's threads: it forks
        self.results, self.version, self.html = Results(), 0, ""
        self.check(chapter.name for chapter in self.checker.course.chapters)

    def check(self, chapters: Iterable[str]) -> None:
        """Check the chapters that have a file, and write the page again."""
        for name in chapters:
            if self.checker.path(name).exists():
                self.results |= self.checker.check(name)[0]
        version = self.version + 1
        course = self.checker.course
        self.html = lessons_page(course, self.root, self.results, self.folder, version)
        self.version = version

    def serve(self) -> ThreadingHTTPServer:
        """Start to serve the page to this machine only, and return the server."""
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                # A page of another site must not read this one through a name of its own.
                own = self.headers["Host"] == f"127.0.0.1:{server.server_port}"
                content = {"/": page.html, "/version": str(page.version)}.get(self.path)
                if content is None or not own:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, *_: object) -> None:
                """Keep the terminal quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        return server


def read_live(tests: Path, folder: Path, show: bool) -> None:
    """Serve the page and check each saved file, until Ctrl-C is pressed."""
    page = LivePage(tests, folder)
    server = page.serve()
    address = f"http://127.0.0.1:{server.server_port}/"
    typer.echo(f"{address} reloads on each save. Press Ctrl-C to end.")
    if show:
        webbrowser.open(address)
    try:
        for changes in changes_in(folder, watch_filter=None, recursive=False):
            saved = {Path(path).stem for _, path in changes if path.endswith(".py")}
            page.check(c.name for c in page.checker.course.chapters if c.name in saved)
    except KeyboardInterrupt:
        pass
    finally:
        server.shutdown()
        page.checker.close()
