"""JupyterLab with our kernel, and a browser in front of it."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time

import pytest
from playwright.sync_api import sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def lab(jupyter_prefix, notebooks_copy, tmp_path_factory):
    """JupyterLab's address. It knows our kernel, and nothing of this user's settings."""
    home = tmp_path_factory.mktemp("jupyter")
    token = secrets.token_hex(16)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "JUPYTER_TOKEN": token,
        "JUPYTER_PATH": str(jupyter_prefix / "share/jupyter"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }
    # The question whether to fetch news would lie over what is tested.
    settings = home / "settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    log = (home / "log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
        + ["--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True", "--log-level=WARN"]
        # Threads that ask the network for extensions and news, and node whether to build anew: it would not end before they do.
        + ["--LabApp.extension_manager=readonly", "--LabApp.news_url=None"]
        + ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
        + ["--ServerApp.tornado_settings={'page_config_data': {'buildCheck': False, 'buildAvailable': False}}"],
        cwd=notebooks_copy,
        env=environment,
        stdout=log,
        stderr=log,
    )
    for _ in range(600):
        assert server.poll() is None, (home / "log").read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}", token
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        # How long it takes to end is not what is tested.
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def page(lab):
    chromium = os.environ.get("ONRUSH_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.fail("no Chromium: apt install chromium, or set ONRUSH_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(60_000)
        yield page
        browser.close()
