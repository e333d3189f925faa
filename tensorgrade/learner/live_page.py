"""`tensorgrade read --live`: serve the lessons' page, and check and reload it after each save."""

import time
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import typer

from ..attempts.results import Results
from ..views.lessons import lessons_page
from .checker import Checker

TICK = 0.1  # seconds between two looks at the files


class LivePage:
    """The page that is served. Its version grows with each check."""

    html, version = "", 0

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
    page, results, server = LivePage(), Results(), None
    try:
        with Checker(tests, folder) as checker:  # before the server's threads: it forks
            while True:
                saved = checker.changed()
                for chapter in saved:
                    results |= checker.check(chapter)
                if saved or server is None:
                    version = page.version + 1
                    root = tests.parent
                    page.html = lessons_page(checker.course, root, results, folder, version)
                    page.version = version
                if server is None:
                    server = page.serve()
                    address = f"http://127.0.0.1:{server.server_port}/"
                    typer.echo(f"{address} reloads on each save. Press Ctrl-C to end.")
                    if show:
                        webbrowser.open(address)
                time.sleep(TICK)
    except KeyboardInterrupt:
        pass
