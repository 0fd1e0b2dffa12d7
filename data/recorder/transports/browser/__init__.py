"""@stomp/stompjs in headless Chromium: the sessions of ../../libraries/play.py as a web page plays them."""
from __future__ import annotations

import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from data.recorder.libraries.install import HERE as LIBRARIES
from data.recorder.process import Process

PAGE = Path(__file__).parent / "page.html"
KINDS = {".html": "text/html; charset=utf-8", ".json": "application/json", ".js": "text/javascript", ".cjs": "text/javascript"}
PATIENCE_S = 90


def played(plan: Path, stompjs: Path, keys: Path) -> str:
    """What the page has printed once all sessions of the plan have been played."""
    files = {"/": PAGE, "/plan.json": plan, "/stomp.umd.js": stompjs / "bundles" / "stomp.umd.js",
             "/sessions.cjs": LIBRARIES / "stompjs" / "sessions.cjs"}
    printed: list[str] = []
    done = threading.Event()

    class Answer(BaseHTTPRequestHandler):
        """Gives the page and what it needs, and takes what it prints."""

        def do_GET(self) -> None:
            path = files.get(self.path)
            self.send_response(200 if path else 404)
            self.send_header("Content-Type", KINDS[path.suffix] if path else "text/plain")
            # Isolated from others, a page has a clock of five microseconds.
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            self.end_headers()
            self.wfile.write(path.read_bytes() if path else b"")

        def do_POST(self) -> None:
            printed.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server, ExitStack() as stack:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = plan.parent / "chromium"
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--ignore-certificate-errors",
                   f"--ssl-key-log-file={keys}", f"--user-data-dir={home}", f"http://127.0.0.1:{server.server_port}/"]
        stack.enter_context(Process(command, plan.parent / "chromium.log"))
        done.wait(PATIENCE_S)
        server.shutdown()
    if not printed or printed[0].startswith("failed"):
        raise RuntimeError(f"Chromium: {printed[0] if printed else 'nothing came'}")
    return printed[0]
