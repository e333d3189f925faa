"""`tensorgrade read --live`: serve the lessons' page, and check and reload it after each save."""

import time
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread

import typer

from ..attempts.results import Results
from ..views.lessons import lessons_page
from .checker import TICK, Checker
from .kit import Kit


def serve(pages: dict[str, str]) -> ThreadingHTTPServer:
    """Start to serve pages by their paths to this machine only, and return the server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A page of another site must not read this one through a name of its own.
            own = self.headers["Host"] == f"127.0.0.1:{server.server_port}"
            if self.path not in pages or not own:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(pages[self.path].encode())

        def log_message(self, *_: object) -> None:
            """Keep the terminal quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


def read_live(kit: Kit, show: bool) -> None:
    """Serve the page and check each saved file, until Ctrl-C is pressed."""
    pages: dict[str, str] = {}
    results, server = Results(), None
    try:
        with Checker(kit) as checker:
            for version in count(1):
                results |= checker.check_changed()
                page = lessons_page(checker.course, kit.root, results, kit.scripts, version)
                pages |= {"/": page, "/version": str(version)}
                if server is None:
                    server = serve(pages)
                    address = f"http://127.0.0.1:{server.server_port}/"
                    typer.echo(f"{address} reloads on each save. Press Ctrl-C to end.")
                    if show:
                        webbrowser.open(address)
                while not checker.changed():
                    time.sleep(TICK)
    except KeyboardInterrupt:
        pass
