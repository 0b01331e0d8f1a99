"""Serve the app on this machine only, until interrupted."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from planner.trace.errors import InputError

ADDRESS = "127.0.0.1"


def app_script() -> Path:
    """The script that streamlit runs: `app.py` of a checkout, or its copy in an installed package."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "app.py"
    return checkout if (package.parent / "pyproject.toml").is_file() else package / "_app.py"


def serve(*, port: int) -> int:
    """Run streamlit with the configuration beside the script, on this machine's own address.

    The address is said here too: a variable of the environment would win against the configuration.

    Returns:
        The exit code of streamlit; 0 after Ctrl-C.

    Raises:
        InputError: another program listens at this port.
    """
    with socket.socket() as asking:
        if asking.connect_ex((ADDRESS, port)) == 0:
            raise InputError(f"port {port} is in use: end what listens there, or name another by --port")
    print(f"everfleet is at http://{ADDRESS}:{port} (Ctrl-C ends it)", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "streamlit", "run", str(app_script()), f"--server.port={port}"]
    command.append(f"--server.address={ADDRESS}")
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 0
