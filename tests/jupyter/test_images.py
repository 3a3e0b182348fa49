"""Images, Binder and the devcontainer: the versions of the clone, files that exist, and a user who is not root."""

import fnmatch
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILES = ["docker/Dockerfile", "docker/cuda.Dockerfile"]


def version() -> str:
    package = (ROOT / "Cargo.toml").read_text().partition("[workspace.package]")[2]
    return re.search(r'^version = "(.+)"$', package, re.MULTILINE)[1]


def instructions(name: str) -> list[tuple[str, str]]:
    """Instruction and arguments, without comments, continued lines joined."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(word, " ".join(rest.split())) for word, _, rest in (line.partition(" ") for line in joined if line.strip())]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_dockerfile_ends_as_a_user_and_serves_jupyterlab(name):
    steps = instructions(name)
    users = [argument for word, argument in steps if word == "USER"]
    assert users == ["1000"] and any("useradd" in text and "--uid 1000" in text for word, text in steps if word == "RUN")
    # A check by the user is the last step: what root did is what the user finds.
    after = steps[steps.index(("USER", "1000")) :]
    assert ("RUN", "onrush doctor") in after
    word, command = steps[-1]
    assert word == "CMD" and json.loads(command)[:2] == ["jupyter", "lab"] and "--allow-root" not in command


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_dockerfile_copies_what_the_context_has(name):
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    kept = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    assert rules[0] == "*"
    copied = [argument.split()[-2] for word, argument in instructions(name) if word == "COPY"]
    assert copied == ["notebooks"] and all((ROOT / path).is_dir() and path in kept for path in copied)
    [mounted] = [text for word, text in instructions(name) if word == "RUN" and "--mount" in text]
    assert "source=dist,target=/dist" in mounted and "/dist/*.whl" in mounted
    assert any(fnmatch.fnmatch("dist/onrush_kernel-0.whl", rule) for rule in kept)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_dockerfile_has_the_versions_of_the_lab(name):
    """Every package is pinned, and those of the lab as there."""
    pinned = dict(re.findall(r"([a-z-]+)==([0-9.]+)", "\n".join(text for _, text in instructions(name))))
    lab = dict(re.findall(r"^([a-z-]+)==(\S+)$", (ROOT / "xtask/requirements-lab.txt").read_text(), re.MULTILINE))
    assert {"anywidget", "ipywidgets", "jupyterlab"} <= set(pinned)
    assert {name: at for name, at in pinned.items() if name in lab} == {name: lab[name] for name in pinned if name in lab}
    assert ("nvidia-cuda-nvrtc" in pinned) == ("cuda" in name)


def test_binder_installs_this_version():
    lines = [line for line in (ROOT / ".binder/requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines == [f"onrush-kernel[toolchain]=={version()}"]
    assert re.fullmatch(r"python-3\.1[0-9]\n", (ROOT / ".binder/runtime.txt").read_text())


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {version()}\n" in text and "\ncff-version: 1.2.0\n" in f"\n{text}"


def test_the_devcontainer_runs_commands_that_exist():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    port = container["forwardPorts"][0]
    assert container["postAttachCommand"].endswith(f"--port {port}") and str(port) in container["portsAttributes"]
    options = (ROOT / "xtask/src/lab.rs").read_text()
    for command in [container["updateContentCommand"], container["postAttachCommand"]]:
        assert command.startswith("cargo xtask lab ")
        for option in re.findall(r"--([a-z-]+)", command):
            assert re.search(rf"#\[arg\(long\)\]\n +{option.replace('-', '_')}:", options), option
