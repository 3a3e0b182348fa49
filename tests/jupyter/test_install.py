"""What `onrush install` writes beside the kernel: files that draw controls, by a pip that is made up."""

import subprocess

from driver import PATIENCE

NAME = "share/jupyter/labextensions/@jupyter-widgets/jupyterlab-manager"
PYTHON = f"""#!/bin/sh
[ "$3" = --version ] && exit 0
while [ "$1" != --target ]; do shift; done
[ "$3" = jupyterlab_widgets ] || exit 1
mkdir -p "$2/{NAME}" && echo '{{}}' > "$2/{NAME}/package.json"
"""


def test_what_draws_controls_is_fetched_where_it_is_missing(onrush_bin, tmp_path):
    python = tmp_path / "bin/python3"
    python.parent.mkdir()
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "VIRTUAL_ENV": str(tmp_path)}

    def onrush(*arguments: str) -> str:
        ran = subprocess.run([onrush_bin, *arguments], env=environment, check=True, timeout=PATIENCE, capture_output=True, text=True)
        return ran.stdout

    python.write_text("#!/bin/sh\n[ \"$3\" = --version ] && exit 0\necho 'no such host' >&2; exit 1\n")
    python.chmod(0o755)
    said = onrush("install")
    assert "could not be fetched: pip failed: no such host" in said and "pip install jupyterlab_widgets" in said
    python.write_text(PYTHON)
    onrush("install", "--no-widgets")
    assert not (tmp_path / NAME).exists()
    assert str(tmp_path / NAME) in onrush("install")
    assert (tmp_path / NAME / "package.json").is_file()
    assert not list((tmp_path / "share/jupyter").glob(".onrush*"))
    onrush("uninstall")
    assert not (tmp_path / NAME).exists()
    # Those of others stay.
    (tmp_path / NAME).mkdir(parents=True)
    (tmp_path / NAME / "package.json").write_text("{}")
    assert "files of ipywidgets" not in onrush("install")
    onrush("uninstall")
    assert (tmp_path / NAME / "package.json").is_file()
